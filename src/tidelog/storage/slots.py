"""Slots: an open-addressing table from content to a number.

A slot is one word: a 32-bit hash above, the digest of what it stands for; the number plus one below; zero is
empty. The digest decides the home slot and is compared before anything else is read, so a probe that ends
in an empty slot costs one cache miss, and growing the table reads no content at all.
"""

import numpy as np

from tidelog.storage.kernel import Integer, Slots, inlined, kernel

HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
EMPTY = np.uint64(0)
ONE = np.uint64(1)
# This many probes are begun together, so that their cache misses overlap.
BLOCK = 64


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
def touch_homes(slots: Slots, hashes: Slots, count: Integer) -> np.uint64:
    """Touch the home slots of a block of digests; return what keeps that from being optimised away."""
    mask = np.uint64(slots.shape[0] - 1)
    touched = EMPTY
    for offset in range(count):
        touched |= slots[hashes[offset] & mask]
    return touched


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
