"""Kernel: the posting of one key."""

import numpy as np

from tidelog.storage.hashing import mix
from tidelog.storage.kernel import CodeArray, Int64s, Slots, kernel

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_EMPTY = np.uint64(0)
_ONE = np.uint64(1)


@kernel
def find_key(slots: Slots, keys: CodeArray, wanted: Int64s) -> int:
    """Return the number of the row of `keys` that equals the wanted codes, or -1.

    Requires slots as `number_groups` and `insert_rows` fill them.
    """
    state = np.uint64(wanted.shape[0])
    for position in range(wanted.shape[0]):
        state = mix(state ^ np.uint64(wanted[position]))
    digest = state & _LOW
    mask = np.uint64(slots.shape[0] - 1)
    place = digest & mask
    while True:
        word = slots[place]
        if word == _EMPTY:
            return -1
        if word >> _HALF == digest:
            row = np.int64(word & _LOW) - 1
            same = True
            for position in range(wanted.shape[0]):
                if keys[row, position] != wanted[position]:
                    same = False
                    break
            if same:
                return int(row)
        place = (place + _ONE) & mask
