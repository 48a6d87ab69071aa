"""The step that sends every binding where it matches the fewest facts."""

from collections.abc import Sequence

import numpy as np

from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.lookups import build_index, groups_of, index_of, newest_rows
from tidelog.engine.local.marked import MarkedJoinStep
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import ChainStep, MeterStep, Sources
from tidelog.plan.operators import Choose, IndexJoin, Layout
from tidelog.storage.choose import NO_ALTERNATIVE, note_shorter
from tidelog.storage.direct import count_rows
from tidelog.storage.join import select_rows
from tidelog.storage.kernel import CodeArray, Int32s, Int64s
from tidelog.storage.postings import LENGTH, NUMBERED
from tidelog.storage.relation import StoredRelation

# What an entry costs that is searched for in a table, where one that is marked costs 1.
_SEARCH_COST = 8
# Fewer bindings than this go by the alternative expected to be best: to look costs more than to err.
LEAST_ROWS = 64
# Rows of a key are counted up to so many in a direct index, where few have more than one.
_MOST_ROWS = 1 << 10


class ChooseStep(ChainStep):
    """Splits a batch among alternatives, by the lengths of the postings that their first joins find.

    The first alternative is the one expected to be best.
    """

    def __init__(
        self,
        choose: Choose,
        layout: Layout,
        state: LocalState,
        expressions: Expressions,
        firsts: Sequence[ChainStep],
    ) -> None:
        self._firsts = firsts
        # What counts bindings stands before the joins.
        self._joins = [first.next if isinstance(first, MeterStep) else first for first in firsts]
        sources = Sources(layout, (), state, expressions)
        self._lookups = []
        for alternative in choose.alternatives:
            join = alternative[0]
            assert isinstance(join, IndexJoin)
            relation = state.relations[join.relation]
            build_index(join, relation, state.visible[join.relation].delta)
            self._lookups.append((relation, join, sources.numbers(join.operands)))
        self._constants = sources.constants()
        self._columns = np.arange(len(layout), dtype=np.int32)
        self._part: CodeArray = np.empty((0, len(layout)), state.dtype)

    def run(self, batch: CodeArray) -> None:
        """Push each binding to the alternative with the shortest posting; drop it if that is empty."""
        if batch.shape[0] < LEAST_ROWS:
            self._firsts[0].run(batch)
            return
        chosen = np.full(batch.shape[0], NO_ALTERNATIVE, np.int32)
        shortest = np.full(batch.shape[0], np.iinfo(np.int64).max)
        left = np.arange(batch.shape[0])
        # The smallest relation comes first: what matches none of its facts is not looked up in larger ones.
        for number in sorted(range(len(self._lookups)), key=lambda number: len(self._lookups[number][0])):
            relation, join, operands = self._lookups[number]
            bindings = batch[left] if len(left) < len(batch) else batch
            found, groups = self._postings(relation, join, bindings, operands)
            step = self._joins[number]
            is_marked = isinstance(step, MarkedJoinStep) and step.shares_key(batch)
            cost = 1 if is_marked else _SEARCH_COST
            left = left[: note_shorter(left, found, groups, cost, number, shortest, chosen)]
        if len(batch) > len(self._part):
            self._part = np.empty_like(batch)
        for number, first in enumerate(self._firsts):
            keep = (chosen == number).view(np.uint8)
            taken = select_rows(batch, keep, self._columns, self._constants, self._part)
            if taken:
                first.run(self._part[:taken])

    def _postings(
        self, relation: StoredRelation, join: IndexJoin, batch: CodeArray, operands: Int32s
    ) -> tuple[Int64s, CodeArray]:
        """Return the group of each binding in an index, -1 if there is none, and the groups.

        A direct index has none, so every binding gets one with as many entries as there are rows.
        """
        direct = None if join.ordered is not None or join.over else relation.direct.get(join.index)
        if direct is None:
            index = index_of(join, relation)
            return groups_of(batch, self._constants, operands, index), index.groups
        groups = np.zeros((batch.shape[0], NUMBERED), np.int64)
        counts = np.empty(batch.shape[0], np.int64)
        found = newest_rows(batch, self._constants, operands, direct, relation)
        count_rows(found, direct.earlier, _MOST_ROWS, counts)
        groups[:, LENGTH] = counts
        return np.arange(batch.shape[0]), groups
