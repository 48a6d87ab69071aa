"""Records and the dense codes that stand for them."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from tidelog.values.codes import Codes

NIL: Final = 0


class Records:
    """Rows of codes to one code and back; nil is code 0.

    Equal rows of one width have one code. A row is interned after the rows its fields stand
    for, so the code of a record is greater than those of the records inside it. A value of an
    algebraic type is the row (position of its branch, fields ...).

        records.intern([[1, 2], [3, 4], [1, 2]])  ->  [1, 2, 1]
    """

    def __init__(self) -> None:
        self._codes: dict[tuple[int, bytes], int] = {}
        self._count = 1
        self._widths = np.full(16, -1, dtype=np.int64)
        self._places = np.zeros(16, dtype=np.int64)
        self._contents: dict[int, Codes] = {}
        self._sizes: dict[int, int] = {}

    def __len__(self) -> int:
        """Return the number of codes, nil included."""
        return self._count

    def intern(self, rows: Codes) -> Codes:
        """Return the code of every row of a two-dimensional array."""
        count, width = rows.shape
        if width == 0:
            return np.full(count, self._code_of(np.empty(0, dtype=np.int64)), dtype=np.int64)
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        codes = np.fromiter(map(self._code_of, distinct), dtype=np.int64, count=len(distinct))
        return codes[inverse.reshape(-1)]

    def code_of(self, row: Sequence[int]) -> int:
        """Return the code of one row."""
        return self._code_of(np.array(row, dtype=np.int64))

    def row(self, code: int) -> list[int]:
        """Return the row of one code that is not nil."""
        width = int(self._widths[code])
        fields: list[int] = self._contents[width][self._places[code]].tolist()
        return fields

    def unpack(self, codes: Codes, width: int) -> Codes:
        """Return the rows that codes stand for; all must be records of this width."""
        if codes.size == 0 or width == 0:
            return np.empty((codes.size, width), dtype=np.int64)
        assert (self._widths[codes] == width).all(), "a code of another width"
        return self._contents[width][self._places[codes]]

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
            first[rows] = self._contents[width][self._places[codes[rows]], 0]
        return first

    def _code_of(self, row: Codes) -> int:
        key = (row.size, row.tobytes())
        code = self._codes.get(key)
        if code is None:
            code = self._count
            self._codes[key] = code
            self._append(row, code)
        return code

    def _append(self, row: Codes, code: int) -> None:
        width = row.size
        if code == self._widths.size:
            self._widths = np.resize(self._widths, 2 * code)
            self._places = np.resize(self._places, 2 * code)
        place = self._sizes.get(width, 0)
        contents = self._contents.get(width)
        if contents is None:
            contents = np.empty((16, width), dtype=np.int64)
        elif place == len(contents):
            contents = np.resize(contents, (2 * place, width))
        contents[place] = row
        self._contents[width] = contents
        self._sizes[width] = place + 1
        self._widths[code] = width
        self._places[code] = place
        self._count += 1
