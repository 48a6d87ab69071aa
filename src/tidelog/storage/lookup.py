"""Kernel: the posting of one key."""

import numpy as np

from tidelog.storage.hashing import mix
from tidelog.storage.kernel import CodeArray, Int32s, Int64s, Integer, Slots, inlined, kernel
from tidelog.storage.slots import LOW, after, home, number_at


@kernel
def find_key(slots: Slots, rows: CodeArray, columns: Int32s, wanted: Int64s) -> int:
    """Return the number of the row that has the wanted codes in these columns, or -1.

    Requires slots by the hash of these columns, as `number_groups` and `insert_rows` fill them.
    """
    state = np.uint64(wanted.shape[0])
    for position in range(wanted.shape[0]):
        state = mix(state ^ np.uint64(wanted[position]))
    digest = state & LOW
    place = home(slots, digest)
    while True:
        row = number_at(slots, place)
        if row < 0 or _holds(rows, row, columns, wanted):
            return int(row)
        place = after(slots, digest, place)


@inlined
def _holds(rows: CodeArray, row: Integer, columns: Int32s, wanted: Int64s) -> bool:
    for position in range(wanted.shape[0]):
        if rows[row, columns[position]] != wanted[position]:
            return False
    return True
