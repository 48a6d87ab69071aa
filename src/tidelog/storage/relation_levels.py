"""The levels of a relation's rows, now and before the epoch in progress."""

import numpy as np

from tidelog.storage.kernel import Int32s, Int64s
from tidelog.values.memory import zeros

# A table of fewer bytes is cleared row by row, and so is one of which an epoch touched a smaller share.
_BYTES_TO_REPLACE = 1 << 22
_SHARE_TO_REPLACE = 1 << 8


class RelationLevels:
    """Levels by row number; the rows are those of the relation that inherits from this.

    `before` has the complement of the level that a row had when the epoch in progress touched it, and 0 for
    all other rows: a complement is never 0. Few rows are touched at a time, and pages of the others take no
    memory.
    """

    count: int
    levels: Int32s
    before: Int32s

    def keep_levels(self, rows: Int64s) -> None:
        """Remember the present levels of rows, which the epoch now touches for the first time."""
        self.before[rows] = ~self.levels[rows]

    def levels_before(self, rows: Int32s | Int64s | None = None) -> Int32s:
        """Return the levels that rows, or all, had before the epoch in progress."""
        before = self.before[: self.count] if rows is None else self.before[rows]
        levels = self.levels[: self.count] if rows is None else self.levels[rows]
        return np.where(before == 0, levels, ~before)

    def exchange_levels(self, rows: Int64s) -> None:
        """Give touched rows the levels they had before, and remember those of now; twice changes nothing."""
        self.levels[rows], self.before[rows] = ~self.before[rows], ~self.levels[rows]

    def restore_levels(self, rows: Int64s) -> None:
        """Give rows the levels that they had before the epoch in progress, which is undone."""
        self.levels[rows] = self.levels_before(rows)

    def forget_before(self, rows: Int64s) -> None:
        """Forget the earlier levels of rows, all that the epoch touched: it has ended."""
        if self.before.nbytes >= _BYTES_TO_REPLACE and rows.size * _SHARE_TO_REPLACE >= self.count:
            # The pages that it wrote to are released, too.
            self.before = zeros(self.before.shape, self.before.dtype, is_sparse=True)
        else:
            self.before[rows] = 0
