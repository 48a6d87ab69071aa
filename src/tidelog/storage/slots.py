"""Slots: an open-addressing table from content to a number.

A slot is one word of 32 bits. Its lower bits have the number plus one, as many bits as the number of slots
takes; the bits above are a tag, which comes from the digest, the 32-bit hash of what the slot stands for.
Zero is empty. The upper bits of a digest decide the home slot, and its lower ones are compared with the tag
before anything else is read, so a probe that ends in an empty slot costs one cache miss. A table may have any
number of slots; homes ascend with digests, so growing it writes from the beginning to the end.
"""

import numpy as np

from tidelog.kernels.bits import leading_zeros
from tidelog.kernels.fetch import fetch
from tidelog.storage.hashing import hash_columns
from tidelog.storage.kernel import CodeArray, Int32s, Integer, Slots, Words, inlined, kernel

HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
EMPTY = np.uint64(0)
ONE = np.uint64(1)
_WORD = np.uint64(64)
# A table grows when more than this share of its slots would be full.
FULLEST = 0.7
# Look-ups go in blocks of this many: while one block is looked up, the homes of the next one are fetched.
AHEAD = 16


def slots_for(count: int, present: int = 0) -> int:
    """Return how many slots a table needs that has `present` of them and shall take `count` numbers."""
    return max(int(count / FULLEST) + 1, present + present // 2)


def slots_built_for(count: int) -> int:
    """Return how many slots a table needs that is built for so many numbers and few more."""
    return slots_for(count + count // 16)


@inlined
def first_place(digest: np.uint64, size: Integer) -> np.uint64:
    """Return the home of a digest among so many slots."""
    return (digest * np.uint64(size)) >> HALF


@inlined
def next_place(place: np.uint64, size: Integer) -> np.uint64:
    """Return the place behind another one; the first follows the last."""
    following = place + ONE
    return following if following < np.uint64(size) else np.uint64(0)


@inlined
def number_bits(size: Integer) -> np.uint64:
    """Return how many bits of a word are its number's, in a table of so many slots."""
    return _WORD - leading_zeros(np.uint64(size))


@inlined
def tag_of(digest: np.uint64, bits: np.uint64) -> np.uint64:
    """Return what is above the number in the word of a digest."""
    return digest & (LOW >> bits)


@inlined
def number_in(word: np.uint64, bits: np.uint64) -> np.int64:
    """Return the number in a word, or -1 if it is empty."""
    return np.int64(word & ((ONE << bits) - ONE)) - 1


@inlined
def word_of(digest: np.uint64, number: Integer, bits: np.uint64) -> np.uint64:
    """Return the word of a digest and a number."""
    return (tag_of(digest, bits) << bits) | np.uint64(number + 1)


@inlined
def home(slots: Slots, digest: np.uint64) -> np.uint64:
    """Return the first place at which a digest may be, or the empty slot where it would be."""
    return _search(slots, digest, first_place(digest, slots.shape[0]))


@inlined
def after(slots: Slots, digest: np.uint64, place: np.uint64) -> np.uint64:
    """Return the next such place after one at which other content has the same tag."""
    return _search(slots, digest, next_place(place, slots.shape[0]))


@inlined
def _search(slots: Slots, digest: np.uint64, place: np.uint64) -> np.uint64:
    bits = number_bits(slots.shape[0])
    tag = tag_of(digest, bits)
    word = np.uint64(slots[place])
    while word != EMPTY and word >> bits != tag:
        place = next_place(place, slots.shape[0])
        word = np.uint64(slots[place])
    return place


@inlined
def free_place(slots: Slots, digest: np.uint64) -> np.uint64:
    """Return the empty slot for content that is not in the table."""
    place = first_place(digest, slots.shape[0])
    while slots[place] != 0:
        place = next_place(place, slots.shape[0])
    return place


@inlined
def fetch_home(slots: Slots, digest: np.uint64) -> np.uint64:
    """Fetch the home slot of a digest, and return the digest."""
    fetch(slots, first_place(digest, slots.shape[0]))
    return digest


@inlined
def fetch_contents(slots: Slots, digests: Words, count: Integer, contents: CodeArray) -> None:
    """Fetch the contents that the home slots of digests lead to, where they have these digests."""
    bits = number_bits(slots.shape[0])
    for offset in range(count):
        word = np.uint64(slots[first_place(digests[offset], slots.shape[0])])
        if word >> bits == tag_of(digests[offset], bits) and word != EMPTY:
            fetch(contents, number_in(word, bits))


@inlined
def number_at(slots: Slots, place: np.uint64) -> np.int64:
    """Return the number in a slot, or -1 if it is empty."""
    return number_in(np.uint64(slots[place]), number_bits(slots.shape[0]))


@inlined
def filled(slots: Slots, digest: np.uint64, number: Integer) -> np.uint64:
    """Return the word of a slot."""
    return word_of(digest, number, number_bits(slots.shape[0]))


@inlined
def _next_numbers(old: Slots, place: Integer, numbers: Words, contents: CodeArray) -> tuple[Integer, Integer]:
    """Write the numbers in the next full slots from `place` on and fetch their contents.

    Return how many there are, and the place behind them.
    """
    bits, count = number_bits(old.shape[0]), 0
    while count < AHEAD and place < old.shape[0]:
        if old[place] != 0:
            number = number_in(np.uint64(old[place]), bits)
            fetch(contents, number)
            numbers[count] = number
            count += 1
        place += 1
    return count, place


@kernel
def grow_slots(old: Slots, new: Slots, contents: CodeArray, columns: Int32s) -> None:
    """Enter every number of `old` into the empty, larger table `new`, by these columns of `contents`."""
    numbers, later = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64)
    waiting, place = _next_numbers(old, 0, later, contents)
    while waiting > 0:
        count = waiting
        numbers, later = later, numbers
        waiting, place = _next_numbers(old, place, later, contents)
        for offset in range(count):
            number = np.int64(numbers[offset])
            digest = hash_columns(contents, number, columns)
            new[free_place(new, digest)] = filled(new, digest, number)
