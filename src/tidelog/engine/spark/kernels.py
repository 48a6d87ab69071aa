"""Kernels that say which partner a row belongs to."""

import numpy as np

from tidelog.storage.hashing import hash_row, mix
from tidelog.storage.kernel import CodeArray, Int32s, Int64s, Integer, inlined, kernel

_HIGH = np.uint64(32)
# In place of a column: the whole row decides.
WHOLE_ROW = -1


@inlined
def _owner(rows: CodeArray, row: Integer, column: int, partners: int) -> Integer:
    """Return the partner of a row, from other bits of the hash than membership uses, to keep that even."""
    if column < 0:  # noqa: SIM108 - the compiler wants one type on each side
        digest = mix(hash_row(rows, row))
    else:
        digest = mix(mix(np.uint64(rows[row, column])))
    return np.int64((digest >> _HIGH) % np.uint64(partners))


@inlined
def _copy_row(rows: CodeArray, row: Integer, copies: CodeArray, place: Integer) -> None:
    """Copy a row to a place among other rows."""
    for column in range(rows.shape[1]):
        copies[place, column] = rows[row, column]


@kernel
def owners(rows: CodeArray, column: int, partners: int, found: Int32s) -> None:
    """Write the partner of each row, decided by one column or by `WHOLE_ROW`."""
    for row in range(rows.shape[0]):
        found[row] = _owner(rows, row, column, partners)


@kernel
def take_own(rows: CodeArray, column: int, partners: int, partner: int, taken: CodeArray) -> int:
    """Copy the rows of one partner to `taken`, which has room for all; return how many."""
    count = 0
    for row in range(rows.shape[0]):
        if _owner(rows, row, column, partners) == partner:
            _copy_row(rows, row, taken, count)
            count += 1
    return count


@kernel
def split_own(  # noqa: PLR0913, PLR0917 - kernels take arrays, not objects
    rows: CodeArray, column: int, partners: int, partner: int, own: CodeArray, others: CodeArray
) -> int:
    """Copy the rows of one partner to `own` and the rest to `others`; return how many are its own.

    Requires room for all rows in each.
    """
    count = 0
    for row in range(rows.shape[0]):
        if _owner(rows, row, column, partners) == partner:
            _copy_row(rows, row, own, count)
            count += 1
        else:
            _copy_row(rows, row, others, row - count)
    return count


@kernel
def sort_by_owner(rows: CodeArray, column: int, partners: int, order: Int64s, ends: Int64s) -> None:
    """Write the row numbers partner by partner into `order`, and where each partner's part ends."""
    for partner in range(partners):
        ends[partner] = 0
    for row in range(rows.shape[0]):
        ends[_owner(rows, row, column, partners)] += 1
    position = 0
    for partner in range(partners):
        count = ends[partner]
        ends[partner] = position
        position += count
    for row in range(rows.shape[0]):
        owner = _owner(rows, row, column, partners)
        order[ends[owner]] = row
        ends[owner] += 1
