"""Records and the dense codes that stand for them."""

from collections.abc import Sequence
from threading import RLock
from typing import Final

import numpy as np

from tidelog.values import row_kernels as kernels
from tidelog.values.codes import Codes

NIL: Final = 0

# Entries of a hash table for each row it has room for; it is never fuller than a half.
_ENTRIES_PER_ROW: Final = 2


class Records:
    """Rows of codes to one code and back; nil is code 0.

    Equal rows of one width have one code, whatever the types of their fields: `[0, "c"]` and
    `[0, [0, nil]]` may be one row. So a code is a value only together with a type, and the code
    of a record may be less than that of a record inside it. A value of an algebraic type is the
    row (position of its branch, fields ...). Threads may share it.

        records.intern([[1, 2], [3, 4], [1, 2]])  ->  [1, 2, 1]
    """

    def __init__(self) -> None:
        self._count = 1
        self._widths: Codes = np.full(16, -1, dtype=np.int64)
        self._places: Codes = np.zeros(16, dtype=np.int64)
        self._shelves: dict[int, _Shelf] = {}
        self._lock = RLock()

    def __len__(self) -> int:
        """Return the number of codes, nil included."""
        return self._count

    def intern(self, rows: Codes) -> Codes:
        """Return the code of every row of a two-dimensional array."""
        width = rows.shape[1]
        with self._lock:
            shelf = self._shelves.get(width)
            if shelf is None:
                shelf = self._shelves[width] = _Shelf(width)
            before = shelf.count
            places = shelf.intern(np.ascontiguousarray(rows, dtype=np.int64))
            self._give_codes(shelf, before)
            return shelf.codes[places]

    def find(self, rows: Codes) -> Codes:
        """Return the code of every row of a two-dimensional array, -1 for those that have none."""
        with self._lock:
            shelf = self._shelves.get(rows.shape[1])
            if shelf is None:
                return np.full(len(rows), -1, dtype=np.int64)
            return shelf.find(np.ascontiguousarray(rows, dtype=np.int64))

    def expect(self, codes: Codes) -> None:
        """Prepare for being asked for these and what is inside them, one by one."""

    def code_of(self, row: Sequence[int]) -> int:
        """Return the code of one row."""
        return int(self.intern(np.array([row], dtype=np.int64).reshape(1, len(row)))[0])

    def row(self, code: int) -> list[int]:
        """Return the row of one code that is not nil."""
        assert 0 < code < self._count, "a code of other records, or nil"
        shelf = self._shelves[int(self._widths[code])]
        fields: list[int] = shelf.contents[self._places[code]].tolist()
        return fields

    def unpack(self, codes: Codes, width: int) -> Codes:
        """Return the rows that codes stand for; all must be records of this width."""
        if codes.size == 0 or width == 0:
            return np.empty((codes.size, width), dtype=np.int64)
        assert (self._widths[codes] == width).all(), "a code of another width"
        return self._shelves[width].contents[self._places[codes]]

    def widths(self, codes: Codes) -> Codes:
        """Return the width of the row of every code, -1 for nil."""
        return self._widths[codes]

    def branches(self, codes: Codes) -> Codes:
        """Return the first field of every code's row, for algebraic types the branch position.

        No code may be nil or of width 0.
        """
        first = np.empty(codes.size, dtype=np.int64)
        widths = self._widths[codes]
        for width in np.unique(widths).tolist():
            rows = np.flatnonzero(widths == width)
            first[rows] = self._shelves[width].contents[self._places[codes[rows]], 0]
        return first

    def rows_from(self, first: int) -> tuple[Codes, Codes]:
        """Return the widths of all rows from a code on, and their fields one after another."""
        with self._lock:
            codes = np.arange(max(first, NIL + 1), self._count)
            if not codes.size:
                return codes, codes
            widths = self._widths[codes]
            fields = np.empty(int(widths.sum()), dtype=np.int64)
            starts = np.cumsum(widths) - widths
            for width in np.unique(widths).tolist():
                rows = np.flatnonzero(widths == width)
                fields[starts[rows, None] + np.arange(width)] = self.unpack(codes[rows], width)
            return widths, fields

    def append(self, widths: Codes, fields: Codes) -> None:
        """Give the next codes to rows that `rows_from` returned, in their order.

        None of the rows may have a code yet.
        """
        with self._lock:
            starts = np.cumsum(widths) - widths
            first, self._count = self._count, self._count + widths.size
            if self._count > self._widths.size:
                self._widths = _longer(self._widths, self._count)
                self._places = _longer(self._places, self._count)
            self._widths[first : self._count] = widths
            for width in np.unique(widths).tolist():
                rows = np.flatnonzero(widths == width)
                shelf = self._shelves.setdefault(width, _Shelf(width))
                before = shelf.count
                shelf.intern(fields[starts[rows, None] + np.arange(width)])
                assert shelf.count == before + rows.size, "a row that has a code"
                self._places[first + rows] = np.arange(before, shelf.count)
                shelf.codes[before : shelf.count] = first + rows

    def forget(self, first: int) -> None:
        """Forget the rows with codes from `first` on; others may get these codes later."""
        with self._lock:
            self._count = min(self._count, first)
            for shelf in self._shelves.values():
                shelf.forget(first)

    def _give_codes(self, shelf: "_Shelf", before: int) -> None:
        """Give codes to the rows that a shelf took up since it held `before`."""
        added = shelf.count - before
        if not added:
            return
        count = self._count + added
        if count > self._widths.size:
            self._widths = _longer(self._widths, count)
            self._places = _longer(self._places, count)
        self._widths[self._count : count] = shelf.width
        self._places[self._count : count] = np.arange(before, shelf.count)
        shelf.codes[before : shelf.count] = np.arange(self._count, count)
        self._count = count


class _Shelf:
    """The rows of one width, in the order in which they came."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.count = 0
        self.contents: Codes = np.empty((16, width), dtype=np.int64)
        self.codes: Codes = np.empty(16, dtype=np.int64)
        self._hashes = np.empty(16, dtype=np.uint32)
        self._table = np.full(16 * _ENTRIES_PER_ROW, kernels.FREE, dtype=np.int32)

    def intern(self, rows: Codes) -> Codes:
        """Return the place of every row; new rows take the places from `count` on."""
        self._reserve(self.count + len(rows))
        places = np.empty(len(rows), dtype=np.int64)
        self.count = kernels.intern_rows(rows, self._table, self._hashes, self.contents, self.count, places)
        return places

    def find(self, rows: Codes) -> Codes:
        """Return the code of every row, -1 for those that are not kept."""
        before = self.count
        places = self.intern(rows)
        codes = np.where(places < before, self.codes[places], -1)
        self._keep(before)
        return codes

    def forget(self, code: int) -> None:
        """Forget the rows with codes from this one on."""
        self._keep(int(np.searchsorted(self.codes[: self.count], code)))

    def _keep(self, count: int) -> None:
        """Keep only the first rows."""
        if count < self.count:
            self.count = count
            self._table[:] = kernels.FREE
            kernels.fill_row_table(self._table, self._hashes, count)

    def _reserve(self, wanted: int) -> None:
        if wanted > self.codes.size:
            self.contents = _longer(self.contents, wanted)
            self.codes = _longer(self.codes, wanted)
            self._hashes = _longer(self._hashes, wanted)
        if wanted * _ENTRIES_PER_ROW > self._table.size:
            entries = 1 << (wanted * _ENTRIES_PER_ROW - 1).bit_length()
            self._table = np.full(entries, kernels.FREE, dtype=np.int32)
            kernels.fill_row_table(self._table, self._hashes, self.count)


def _longer(array: np.ndarray, wanted: int) -> np.ndarray:
    """Return a longer copy; what it has beyond the old content is not set."""
    size = max(wanted, len(array) + len(array) // 2)
    longer = np.empty((size, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer
