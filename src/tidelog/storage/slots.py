"""Slots: an open-addressing table from content to a number.

A slot is one word: a 32-bit hash above, the digest of what it stands for; the number plus one below; zero is
empty. The digest decides the home slot and is compared before anything else is read, so a probe that ends
in an empty slot costs one cache miss, and growing the table reads no content at all.
"""

import numpy as np

from tidelog.kernels.fetch import fetch
from tidelog.storage.kernel import CodeArray, Integer, Slots, inlined, kernel

HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
EMPTY = np.uint64(0)
ONE = np.uint64(1)
# Slots are doubled when more than this share of them would be full.
FULLEST = 0.7
# Look-ups go in blocks of this many: while one block is looked up, the homes of the next one are fetched.
AHEAD = 16


@inlined
def home(slots: Slots, digest: np.uint64) -> np.uint64:
    """Return the first place at which a digest may be, or the empty slot where it would be."""
    return _search(slots, digest, digest & np.uint64(slots.shape[0] - 1))


@inlined
def after(slots: Slots, digest: np.uint64, place: np.uint64) -> np.uint64:
    """Return the next such place after one at which other content has the same digest."""
    return _search(slots, digest, (place + ONE) & np.uint64(slots.shape[0] - 1))


@inlined
def _search(slots: Slots, digest: np.uint64, place: np.uint64) -> np.uint64:
    mask = np.uint64(slots.shape[0] - 1)
    while slots[place] != EMPTY and slots[place] >> HALF != digest:
        place = (place + ONE) & mask
    return place


@inlined
def fetch_home(slots: Slots, digest: np.uint64) -> np.uint64:
    """Fetch the home slot of a digest, and return the digest."""
    fetch(slots, digest & np.uint64(slots.shape[0] - 1))
    return digest


@inlined
def fetch_contents(slots: Slots, digests: Slots, count: Integer, contents: CodeArray) -> None:
    """Fetch the contents that the home slots of digests lead to, where they have these digests."""
    for offset in range(count):
        word = slots[digests[offset] & np.uint64(slots.shape[0] - 1)]
        if word >> HALF == digests[offset] and word != EMPTY:
            fetch(contents, np.int64(word & LOW) - 1)


@inlined
def number_at(slots: Slots, place: np.uint64) -> np.int64:
    """Return the number in a slot, or -1 if it is empty."""
    return np.int64(slots[place] & LOW) - 1


@inlined
def filled(digest: np.uint64, number: Integer) -> np.uint64:
    """Return the word of a slot."""
    return (digest << HALF) | np.uint64(number + 1)


@kernel
def grow_slots(old: Slots, new: Slots) -> None:
    """Move every slot of `old` into the empty, larger table `new`."""
    mask = np.uint64(new.shape[0] - 1)
    for slot in range(old.shape[0]):
        word = old[slot]
        if word != EMPTY:
            place = (word >> HALF) & mask
            while new[place] != EMPTY:
                place = (place + ONE) & mask
            new[place] = word
