"""The trie of an atom whose join is traced, from epoch to epoch.

In an epoch the changed rows become *surgeries*: branches of the trie that appear, on every level, and
leaves that stop being facts or become facts again. Rows of deleted facts stay until there are as many of
them as facts; then they are dropped, and their branches are *cleared*. That changes no binding, but the
steps of a join depend on all branches it met.
"""

from collections.abc import Mapping

import numpy as np

from tidelog.plan.leapfrog_trace import TraceAtom
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.intervals import sorted_once
from tidelog.storage.kernel import Bools, Int32s, Int64s
from tidelog.storage.leapfrog_join import JoinShape, make_join, with_tries
from tidelog.storage.leapfrog_trace import branch_levels
from tidelog.storage.trie import TrieBatch, append_batch, sort_numbers
from tidelog.values.memory import enlarged

_NO_ROWS: Int64s = np.empty(0, np.int64)


class TraceTrie:
    """The facts of a relation that an atom's constants and repeated variables allow, as a trie.

    `batches` are the trie of the old epoch. From `look` to `advance` `following` are that of the new one;
    `surgeries` and `cleared` have for each level the branches that changed, as the values from the first
    level down to it. The level of a row in an epoch says whether it is a fact of that epoch.
    """

    def __init__(self, atom: TraceAtom, relation: StoredRelation, codes: Mapping[int, int]) -> None:
        self.name = atom.relation
        self.relation = relation
        self.columns: Int32s = np.array(atom.columns, np.int32)
        self._codes = codes
        self._equal = atom.equal
        self.batches: list[TrieBatch] = []
        self.following: list[TrieBatch] = []
        self.surgeries: list[Int64s] = []
        self.cleared: list[Int64s] = []
        # For each row of the relation, whether the trie has it; and how many of these are not facts.
        self._has_row: Bools = np.zeros(0, np.uint8)
        self._fresh = self._dropped = _NO_ROWS
        self._dead = self._dead_after = 0

    def load(self) -> None:
        """Load the facts of the old epoch."""
        relation = self.relation
        numbers = self._matching(np.flatnonzero(relation.levels_before() != ABSENT))
        self.batches = self._batches(numbers)
        self._has_row = np.zeros(relation.rows.shape[0], np.uint8)
        self._has_row[numbers] = 1
        self._dead = 0

    def look(self, changed: Int64s) -> None:
        """Make the trie of the new epoch from the rows that became facts or are no longer facts."""
        relation = self.relation
        if self._has_row.shape[0] < relation.rows.shape[0]:
            self._has_row = enlarged(self._has_row, relation.rows.shape[0], self._has_row.shape[0])
        changed = self._matching(changed)
        is_known, is_fact = self._has_row[changed] != 0, relation.levels[changed] != ABSENT
        known, self._fresh = changed[is_known], changed[~is_known & is_fact]
        was_fact, is_fact = relation.levels_before(known) != ABSENT, is_fact[is_known]
        self._dead_after = self._dead - int((is_fact & ~was_fact).sum())
        self._dropped, self.following = _NO_ROWS, list(self.batches)
        if self._dead_after and 2 * self._dead_after >= sum(map(len, self.batches)):
            self._drop_dead_rows()
        self._dead_after += int((was_fact & ~is_fact).sum())
        self.following += self._batches(self._fresh)
        self.surgeries = self._branches(self._fresh, self.batches)
        self.surgeries[-1] = sorted_once(np.concatenate([self.surgeries[-1], self._values(known)]))
        self.cleared = self._branches(self._dropped, self.following)

    def advance(self) -> None:
        """Make the trie of the new epoch that of the old one."""
        self._has_row[self._dropped] = 0
        self._has_row[self._fresh] = 1
        self._dead = self._dead_after
        self.batches, self.following = self.following, []
        if self._fresh.size:
            append_batch(self.batches, self.batches.pop(), self.relation.rows, self.columns)

    def _matching(self, numbers: Int64s) -> Int64s:
        """Return those of the rows that the atom allows."""
        rows = self.relation.rows
        for column, code in self._codes.items():
            numbers = numbers[rows[numbers, column] == code]
        for one, other in self._equal:
            numbers = numbers[rows[numbers, one] == rows[numbers, other]]
        return numbers

    def _batches(self, numbers: Int64s) -> list[TrieBatch]:
        """Return rows as one batch, or no batch without rows."""
        rows = self.relation.rows
        if not numbers.size:
            return []
        return [self._batch(sort_numbers(rows, numbers.astype(np.int32), self.columns))]

    def _batch(self, numbers: Int32s) -> TrieBatch:
        return TrieBatch(self.relation.rows, numbers, self.columns, 0, self.relation.count)

    def _drop_dead_rows(self) -> None:
        """Leave the rows that are facts of neither epoch out of the new trie."""
        dropped, self.following = [_NO_ROWS], []
        for batch in self.batches:
            is_dead = self.relation.levels[batch.numbers] == ABSENT
            is_dead &= self.relation.levels_before(batch.numbers) == ABSENT
            dropped.append(batch.numbers[is_dead].astype(np.int64))
            if not is_dead.all():
                self.following.append(self._batch(batch.numbers[~is_dead]))
        self._dropped = np.concatenate(dropped)
        self._dead_after = 0

    def _values(self, numbers: Int64s) -> Int64s:
        """Return the values of rows on each level."""
        values: Int64s = self.relation.rows[numbers][:, self.columns].astype(np.int64)
        return values

    def _branches(self, numbers: Int64s, batches: list[TrieBatch]) -> list[Int64s]:
        """Return the branches to rows that a trie does not have, on each level; on the last level all."""
        rows, depth = self.relation.rows, self.columns.shape[0]
        missing = np.zeros(numbers.shape[0], np.int64)
        if batches and numbers.size:
            join = make_join(JoinShape(outer=depth, variables=0, atoms=[range(depth)]), rows)
            tries = with_tries(join, [batches])
            branch_levels(rows, numbers.astype(np.int32), self.columns, tries, missing)
        values = self._values(numbers)
        return [sorted_once(values[missing <= level, : level + 1]) for level in range(depth)]
