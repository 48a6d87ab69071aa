"""An index that leads from a key straight to rows, for keys that few facts share.

Most links of a tree are functions: a node has one parent, one name, one next sibling. A posting with one
entry says nothing there that the row does not say. A direct index has one number for each code of its key
column: that of the newest row with this code, plus one, or 0. Each row that shares its key with older ones
has the number of the one before it, again plus one. Where no two rows do, these are pages that were never
written and take no memory.

A link that changes has two rows until the epoch ends, and its dead row stays until rows are moved together.
So rows may share a key, but few do; an index in which many do is replaced by postings.
"""

import numpy as np

from tidelog.kernels.fetch import fetch
from tidelog.storage.join import code_of, passes
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Integer, inlined, kernel
from tidelog.storage.postings import code_range
from tidelog.storage.slots import AHEAD
from tidelog.values.memory import enlarged, enlarged_sparse, roomy

_SMALLEST = 64
# The codes of a key column are few enough if there are no more than this many per row.
_CODES_PER_ROW = 12
_CODES_FLOOR = 1 << 16
# Rows share keys too often for a direct index if there are so many per key.
_ROWS_PER_KEY = 2
_FEW_ROWS = 8


class DirectIndex:
    """Rows by the code in one column; `key` is that column, `rest` are the others.

    `newest` has the row by code and `earlier` the row before a row, both plus one; the arrays are replaced
    as they grow. It fits as long as codes are dense; what does not is not entered.
    """

    def __init__(self, column: int, arity: int) -> None:
        self.column = column
        self.key = (column,)
        self.rest = tuple(other for other in range(arity) if other != column)
        self.key_columns: Int32s = np.array(self.key, np.int32)
        self.rest_columns: Int32s = np.array(self.rest, np.int32)
        self.newest: Int32s = np.zeros(_SMALLEST, np.int32)
        self.earlier: Int32s = np.zeros(_SMALLEST, np.int32)
        self.rows_indexed = 0
        # How many keys there are.
        self.group_count = 0
        self._fits = True

    @property
    def is_useful(self) -> bool:
        """Say whether codes are dense, and few rows share one."""
        is_crowded = self.rows_indexed > max(_FEW_ROWS, _ROWS_PER_KEY * self.group_count)
        return self._fits and not is_crowded

    @property
    def nbytes(self) -> int:
        """Return how many bytes the arrays take."""
        return self.newest.nbytes + self.earlier.nbytes

    def add_rows(self, rows: CodeArray, count: int) -> None:
        """Enter the rows numbered from those already indexed up to `count`, if their codes are dense."""
        first = self.rows_indexed
        if first >= count or not self._fits:
            return
        smallest, largest = code_range(rows, self.column, first, count)
        # There are no more keys than codes, so that many more rows than codes need not be counted.
        keys = max(int(largest) + 1, len(self.newest))
        if smallest < 0 or largest >= _dense_codes(count) or count > max(_FEW_ROWS, _ROWS_PER_KEY * keys):
            self._fits = False
            return
        self._make_room(int(largest), count)
        self.group_count += int(enter_rows(self.newest, self.earlier, rows, self.column, first, count))
        self.rows_indexed = count

    def reserve(self, extra: int) -> None:
        """Make room for `extra` more rows."""
        self._make_room(0, self.rows_indexed + extra)

    def admit(self, code: int, rows: int) -> None:
        """Make room for a key, in a relation of this many rows."""
        if 0 <= code < _dense_codes(rows):
            self._make_room(code, 0)
        else:
            self._fits = False

    def rows_of(self, code: int) -> Int64s:
        """Return the numbers of the rows with this code, in ascending order."""
        found = []
        place = int(self.newest[code]) if 0 <= code < len(self.newest) else 0
        while place:
            found.append(place - 1)
            place = int(self.earlier[place - 1])
        return np.array(found[::-1], np.int64)

    def _make_room(self, code: int, rows: int) -> None:
        if code >= len(self.newest):
            capacity = roomy(code + 1, len(self.newest), self.newest.itemsize)
            self.newest = enlarged(self.newest, capacity, len(self.newest))
        if rows > len(self.earlier):
            capacity = roomy(rows, len(self.earlier), self.earlier.itemsize)
            self.earlier = enlarged_sparse(self.earlier, capacity, len(self.earlier))


def direct_index(column: int, rows: CodeArray, count: int) -> DirectIndex | None:
    """Return the direct index of rows by a column, None if it would not be useful."""
    index = DirectIndex(column, rows.shape[1])
    index.add_rows(rows, count)
    return index if index.is_useful else None


def _dense_codes(rows: int) -> int:
    """Return how many codes the key column of so many rows may have."""
    return max(_CODES_PER_ROW * rows, _CODES_FLOOR)


@kernel
def enter_rows(newest: Int32s, earlier: Int32s, rows: CodeArray, column: int, first: int, last: int) -> int:
    """Enter rows `first` to `last - 1` in this order; return how many keys were new.

    Requires room for their codes in `newest` and for their numbers in `earlier`.
    """
    added = 0
    for row in range(first, last):
        if row + AHEAD < last:
            fetch(newest, rows[row + AHEAD, column])
        added += enter_row(newest, earlier, np.int64(rows[row, column]), row)
    return added


@inlined
def enter_row(newest: Int32s, earlier: Int32s, code: Integer, row: Integer) -> int:
    """Enter a row, the newest of all, under its code; return 1 if it is the first one there.

    A row that is there already changes nothing: two names of one index enter the same rows.
    """
    before = newest[code]
    if before > row:
        return 0
    newest[code] = row + 1
    if before != 0:
        earlier[row] = before
        return 0
    return 1


@kernel
def join_direct(
    batch: CodeArray, key: int, constants: Int64s, newest: Int32s, earlier: Int32s, rows: CodeArray,
    alive: Bools, lowest: int, highest: int, filters: Int32s, sources: Int32s, state: Int64s, out: CodeArray,
) -> int:  # fmt: skip
    """Write one row per binding and matching row into `out`; return how many.

    As `join_postings`, but sources of the batch's width and above are columns of the row, and the one after
    the last column is its number. `state` is the next binding and, plus one, the next row for it.
    """
    written = 0
    width, arity = batch.shape[1], rows.shape[1]
    binding = state[0]
    place = state[1]
    while binding < batch.shape[0]:
        if binding + AHEAD < batch.shape[0]:
            later = code_of(batch, binding + AHEAD, constants, key)
            if 0 <= later < newest.shape[0]:
                fetch(newest, later)
            middle = code_of(batch, binding + AHEAD // 2, constants, key)
            if 0 <= middle < newest.shape[0]:
                fetch(rows, np.int64(newest[middle]) - 1)
        if place == 0:
            code = code_of(batch, binding, constants, key)
            place = np.int64(newest[code]) if 0 <= code < newest.shape[0] else np.int64(0)
        while place > lowest:
            row = place - 1
            is_seen = row < highest and (alive.shape[0] == 0 or alive[row] != 0)
            if is_seen and passes(batch, binding, rows, row, constants, filters):
                if written == out.shape[0]:
                    state[0] = binding
                    state[1] = place
                    return written
                for column in range(sources.shape[0]):
                    source = sources[column]
                    if source < 0:
                        out[written, column] = constants[-1 - source]
                    elif source < width:
                        out[written, column] = batch[binding, source]
                    elif source < width + arity:
                        out[written, column] = rows[row, source - width]
                    else:
                        out[written, column] = row
                written += 1
            place = np.int64(earlier[row])
        place = np.int64(0)
        binding += 1
    state[0] = binding
    state[1] = 0
    return written


@kernel
def has_row(
    batch: CodeArray, key: int, constants: Int64s, newest: Int32s, earlier: Int32s, alive: Bools,
    lowest: int, highest: int, result: Bools,
) -> None:  # fmt: skip
    """Write whether there is a row numbered `lowest` to `highest - 1` with each binding's key."""
    for binding in range(batch.shape[0]):
        code = code_of(batch, binding, constants, key)
        place = np.int64(newest[code]) if 0 <= code < newest.shape[0] else np.int64(0)
        present = np.uint8(0)
        while place > lowest and present == 0:
            row = place - 1
            if row < highest and (alive.shape[0] == 0 or alive[row] != 0):
                present = np.uint8(1)
            place = np.int64(earlier[row])
        result[binding] = present


@kernel
def count_rows(
    batch: CodeArray, key: int, constants: Int64s, newest: Int32s, earlier: Int32s, most: int, counts: Int64s
) -> None:
    """Write how many rows have each binding's key, dead ones too, and `most` where there are more."""
    for binding in range(batch.shape[0]):
        code = code_of(batch, binding, constants, key)
        place = np.int64(newest[code]) if 0 <= code < newest.shape[0] else np.int64(0)
        count = np.int64(0)
        while place > 0 and count < most:
            count += 1
            place = np.int64(earlier[place - 1])
        counts[binding] = count
