"""The rows of one relation while an elastic update goes through the iterations."""

import numpy as np

from tidelog.maintain.epoch_marks import EpochMarks
from tidelog.maintain.row_delta import NO_ROWS, RowDelta
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT, UNCOUNTED
from tidelog.storage.kernel import Int64s


class ElasticRows:
    """Which rows are deleted and inserted up to the iteration that was corrected last, and rows by level.

    `levels` of the relation are final up to that iteration; beyond it they are still those of the old epoch.
    An eager one has in `deleted` and `inserted` exactly those rows, a lazy one all that lost or gained a
    derivation.
    """

    def __init__(self, relation: StoredRelation, marks: EpochMarks, *, is_eager: bool) -> None:
        self._relation, self._marks, self._is_eager = relation, marks, is_eager
        previous = relation.levels_before()
        present = np.flatnonzero(previous != ABSENT)
        # Rows of the old epoch in the order of their levels, sorted when first asked for.
        self._present, self._order, self._starts = present, NO_ROWS, NO_ROWS
        self.last_level = int(previous[present].max()) if present.size else 0
        self._entered: dict[int, Int64s] = {}
        self.deleted = self.inserted = NO_ROWS
        self._lost = self._gained = NO_ROWS

    @property
    def changed(self) -> int:
        """Return how many rows lost or gained a derivation in the last iteration."""
        return self._lost.size + self._gained.size

    def is_entered(self, level: int) -> bool:
        """Say whether rows have a level that they did not have in the old epoch."""
        return level in self._entered and self._entered[level].size > 0

    def at(self, level: int, *, was: bool = False) -> Int64s:
        """Return the rows that have a level now, or had it in the old epoch."""
        old = self._old_at(level)
        if was:
            return old
        kept = old[self._relation.levels[old] == level]
        entered = self._entered.get(level)
        return kept if entered is None else np.concatenate([kept, entered])

    def _old_at(self, level: int) -> Int64s:
        if not self._present.size or level > self.last_level:
            return NO_ROWS
        if not self._starts.size:
            levels = self._relation.levels_before(self._present)
            self._order = self._present[np.argsort(levels, kind="stable")]
            self._starts = np.searchsorted(np.sort(levels), np.arange(self.last_level + 2))
        rows: Int64s = self._order[self._starts[level] : self._starts[level + 1]]
        return rows

    def change_inputs(self, change: RowDelta) -> None:
        """Let rows stop and start being input facts: iteration 0."""
        relation = self._relation
        for rows, level, count in ((change.deleted, ABSENT, 0), (change.inserted, 0, 1)):
            self._marks.touch(rows)
            relation.levels[rows] = level
            relation.counts[rows] = count
        relation.show_rows(change.inserted)
        self._entered[0] = change.inserted
        self._lost, self._gained = change.deleted, change.inserted
        self.end(0)

    def take(self, iteration: int, lost: Int64s, gained: Int64s) -> Int64s:
        """Take derivations from rows of an iteration and give rows others there, one for each number.

        Returns rows with a loss whose derivations were never counted: the caller counts those they have now.
        """
        relation, marks = self._relation, self._marks
        self._lost, losses = np.unique(lost, return_counts=True)
        self._gained, gains = np.unique(gained, return_counts=True)
        marks.touch(self._lost)
        marks.touch(self._gained)
        is_counted = relation.counts[self._lost] != UNCOUNTED
        stays = relation.levels[self._gained] == iteration
        is_known = stays & (relation.counts[self._gained] != UNCOUNTED)
        relation.counts[self._lost[is_counted]] -= losses[is_counted].astype(np.int32)
        relation.counts[self._gained[is_known]] += gains[is_known].astype(np.int32)
        entered = self._gained[~stays]
        relation.levels[entered] = iteration
        relation.counts[entered] = gains[~stays]
        relation.show_rows(entered)
        self._entered[iteration] = entered
        uncounted: Int64s = self._lost[~is_counted]
        return uncounted

    def end(self, iteration: int) -> None:
        """Remove rows without derivations from an iteration, and note what is deleted and inserted now."""
        relation = self._relation
        if iteration:
            relation.levels[self._lost[relation.counts[self._lost] == 0]] = ABSENT
        deleted = np.concatenate([self.deleted, self._lost])
        inserted = np.concatenate([self.inserted, self._gained])
        if self._is_eager:
            was, now = relation.levels_before, relation.levels
            deleted = deleted[(was(deleted) <= iteration) & (now[deleted] > iteration)]
            inserted = inserted[(now[inserted] <= iteration) & (was(inserted) > iteration)]
        self.deleted, self.inserted = deleted, inserted
        self._lost = self._gained = NO_ROWS
