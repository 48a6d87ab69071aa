"""What an epoch in progress knows about the rows of one relation."""

from collections.abc import Iterable, Mapping

import numpy as np

from tidelog.maintain.row_delta import RowDelta
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import (
    ABSENT,
    STATUS,
    TENTATIVE,
    TENTATIVE_COUNT,
    first_touched,
    lose_derivations,
    relax,
    take_offers,
)
from tidelog.storage.judge_row import CURRENT, IMPROVED
from tidelog.storage.kernel import Bools, Int32s, Int64s
from tidelog.values.memory import zeros


class EpochMarks:
    """Marks and offers beside a relation's annotations; only epochs at large keep offers here.

    The arrays live as long as the relation and are cleared row by row after each epoch, so that
    a small epoch does not pay for a large relation. Counts are remembered before they change, so
    that the epoch can be undone; levels are restored from those that the relation has kept.
    """

    def __init__(self, relation: StoredRelation) -> None:
        self.relation = relation
        self._journal: list[tuple[Int64s, Int32s]] = []
        self._use(np.zeros(0, np.uint8), np.zeros((0, 2), np.int32))

    def _use(self, marks: Bools, offers: Int32s) -> None:
        """Take the marks and the offers of all rows; the other arrays are columns of these."""
        self.marks, self._offers = marks, offers
        self.tentative: Int32s = offers[:, TENTATIVE]
        self.tentative_counts: Int32s = offers[:, TENTATIVE_COUNT]

    def ensure_room(self) -> None:
        """Make the arrays as long as the relation's; new places are zero."""
        capacity = self.relation.rows.shape[0]
        if len(self.marks) < capacity:
            marks = zeros((capacity,), self.marks.dtype)
            offers = zeros((capacity, 2), self._offers.dtype, is_sparse=True)
            # Rows without marks have nothing else.
            touched = np.flatnonzero(self.marks[: self.relation.count])
            marks[touched] = self.marks[touched]
            offers[touched] = self._offers[touched]
            self._use(marks, offers)

    def status(self, numbers: Int64s) -> Bools:
        """Return the status of rows."""
        return self.marks[numbers] & np.uint8(STATUS)

    def set_status(self, numbers: Int64s, status: Int64s | int) -> None:
        """Give rows a status; their flags stay."""
        self.marks[numbers] = (self.marks[numbers] & ~np.uint8(STATUS)) | np.asarray(status, np.uint8)

    def touch(self, numbers: Int64s) -> None:
        """Remember the rows that were not touched yet, with their counts and levels before they change."""
        fresh = np.empty(numbers.size, np.int64)
        found = first_touched(self.marks, numbers, fresh)
        if found:
            rows = fresh[:found]
            self._journal.append((rows, self.relation.counts[rows]))
            self.relation.keep_levels(rows)

    def lose(self, numbers: Int64s) -> Int64s:
        """Take one derivation from each row; return those that have none left, or were not counted yet."""
        self.touch(numbers)
        waiting = np.empty(numbers.size, np.int64)
        found = lose_derivations(self.relation.counts, self.relation.levels, numbers, waiting)
        return waiting[:found]

    def offer(self, numbers: Int64s, levels: Int32s) -> Int64s:
        """Offer levels to rows; return the rows whose tentative level became smaller."""
        self.ensure_room()
        self.touch(numbers)
        improved = np.empty(numbers.size, np.int64)
        relation = self.relation
        found = relax(relation.levels, relation.counts, self._offers, numbers, levels, improved)
        return improved[:found]

    def take(self, numbers: Int64s, level: int) -> Int64s:
        """Return the rows that still have this tentative level, each once, to be settled."""
        taken = np.empty(numbers.size, np.int64)
        found = take_offers(self._offers, numbers, level + 1, taken)
        return taken[:found]

    def settle(self, numbers: Int64s) -> None:
        """Give taken rows their tentative level; while they are current, marks say whether they had one."""
        relation = self.relation
        self.touch(numbers)
        self.set_status(numbers, np.where(relation.levels[numbers] == ABSENT, CURRENT, IMPROVED))
        relation.levels[numbers] = -self.tentative[numbers] - 1
        relation.counts[numbers] = self.tentative_counts[numbers]
        self.tentative[numbers] = 0
        relation.show_rows(numbers)

    def settle_copies(self, numbers: Int64s, level: int) -> None:
        """Give copies of rows the level that their owner settled."""
        self.touch(numbers)
        # As if the level had been taken from an offer.
        self.tentative[numbers] = -(level + 1)
        self.tentative_counts[numbers] = 1
        self.settle(numbers)

    def drop(self, numbers: Int64s) -> None:
        """Remove the level of affected rows."""
        self.relation.levels[numbers] = ABSENT

    def touched(self) -> Int64s:
        """Return every row that may have changed, once."""
        if not self._journal:
            return np.empty(0, np.int64)
        return np.concatenate([rows for rows, _ in self._journal])

    def commit(self) -> Int64s:
        """Forget the levels of the old epoch; return the rows that were touched."""
        rows = self.touched()
        if rows.size:
            self.relation.hide_absent_rows(rows)
            self.forget()
        return rows

    def undo(self) -> None:
        """Restore all annotations to what they were before the epoch."""
        relation = self.relation
        for numbers, counts in self._journal:
            relation.counts[numbers] = counts
        rows = self.touched()
        relation.restore_levels(rows)
        relation.hide_absent_rows(rows)
        self.forget()

    def forget(self) -> None:
        """Clear marks and tentative levels; the epoch is committed or undone."""
        if not self._journal:
            return
        rows = self.touched()
        self.relation.forget_before(rows)
        self.marks[rows] = 0
        self.tentative[rows] = 0
        self._journal = []


def row_deltas(marks: Mapping[str, EpochMarks]) -> dict[str, RowDelta]:
    """Return the rows of each relation that became facts or stopped being facts in this epoch."""
    changes = {}
    for name, of_relation in marks.items():
        rows = of_relation.touched()
        was = of_relation.relation.levels_before(rows) != ABSENT
        now = of_relation.relation.levels[rows] != ABSENT
        if (was != now).any():
            changes[name] = RowDelta(rows[now & ~was], rows[was & ~now])
    return changes


def rows_by_level(levels: Int32s, numbers: Int64s) -> Iterable[tuple[int, Int64s]]:
    """Yield the rows of each level."""
    if not numbers.size:
        return
    of_rows = levels[numbers]
    lowest, highest = int(of_rows.min()), int(of_rows.max())
    if lowest == highest:
        yield lowest, numbers
        return
    order = np.argsort(of_rows, kind="stable")
    of_rows, numbers = of_rows[order], numbers[order]
    starts = np.flatnonzero(np.diff(of_rows, prepend=of_rows[0] - 1))
    for start, end in zip(starts, (*starts[1:], of_rows.size), strict=True):
        yield int(of_rows[start]), numbers[start:end]
