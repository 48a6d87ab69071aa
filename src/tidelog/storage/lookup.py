"""Kernel: the posting of one key."""

import numpy as np

from tidelog.storage.hashing import mix
from tidelog.storage.kernel import CodeArray, Int64s, Integer, Slots, inlined, kernel
from tidelog.storage.slots import LOW, after, home, number_at


@kernel
def find_key(slots: Slots, keys: CodeArray, wanted: Int64s) -> int:
    """Return the number of the row of `keys` that equals the wanted codes, or -1.

    Requires slots as `number_groups` and `insert_rows` fill them.
    """
    state = np.uint64(wanted.shape[0])
    for position in range(wanted.shape[0]):
        state = mix(state ^ np.uint64(wanted[position]))
    digest = state & LOW
    place = home(slots, digest)
    while True:
        row = number_at(slots, place)
        if row < 0 or _holds(keys, row, wanted):
            return int(row)
        place = after(slots, digest, place)


@inlined
def _holds(keys: CodeArray, row: Integer, wanted: Int64s) -> bool:
    for position in range(wanted.shape[0]):
        if keys[row, position] != wanted[position]:
            return False
    return True
