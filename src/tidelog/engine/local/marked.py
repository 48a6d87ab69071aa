"""The step that joins and checks at once, by marks where that is cheaper than searches."""

from typing import Final

import numpy as np

from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.lookups import CheckStep, JoinStep, groups_of, names_of_entry
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import ChainStep, SinkStep, Sources, first_buffer, next_buffer
from tidelog.plan.operators import Check, IndexJoin, Layout
from tidelog.storage import StoredRelation
from tidelog.storage.join import select_rows
from tidelog.storage.kernel import Bools, CodeArray
from tidelog.storage.marked import (
    MARKED,
    MARKING,
    NO_GROUP,
    ROW,
    STATES,
    TRIED,
    join_marked,
    split_by_marking,
)

# Fewer bindings than this are searched for: they share too little.
_LEAST_ROWS = 64
# In this share of the bindings the key of a marked posting must be that of the binding before.
_SHARED = 0.75
# Every step has a mark for each code up to the largest of a column, if there are no more than these.
_MOST_MARKS: Final = 1 << 20


def marked_column(join: IndexJoin, check: Check, arity: int) -> int | None:
    """Return the column of a check that alone depends on the join before it, None if it is not like that."""
    is_whole = len(check.key) == arity and not check.is_negated
    if not is_whole or arity < 2 or not join.key or join.ordered is not None or join.group:
        return None
    bound = {name for _, name in join.binds}
    depending = [column for column, x in zip(check.key, check.operands, strict=True) if x in bound]
    return depending[0] if len(depending) == 1 else None


class MarkedJoinStep(ChainStep):
    """Extends bindings through an index and keeps those for which another fact exists.

    Where marking does not pay, two steps do that one after the other.
    """

    def __init__(
        self, join: IndexJoin, check: Check, layout: Layout, state: LocalState, expressions: Expressions
    ) -> None:
        self._state = state
        self._join, self._check = join, check
        self._searching = JoinStep(join, layout, state, expressions)
        self._searching.next = CheckStep(check, join.outputs, state, expressions)
        end = self._searching.next.next = SinkStep()
        end.sink = self._push
        bound = names_of_entry(join, state.relations[join.relation].arity)
        sources = Sources(layout, bound, state, expressions)
        operands = dict(zip(check.key, check.operands, strict=True))
        column = marked_column(join, check, len(check.key))
        assert column is not None
        self._column = column
        self._marked_key = tuple(other for other in check.key if other != column)
        self._key = sources.numbers(join.operands)
        self._marked_operands = sources.numbers([operands[other] for other in self._marked_key])
        self._places = [int(place) for place in self._marked_operands if place >= 0]
        self._filters = sources.filters(join.filters)
        self._sources = sources.numbers(check.outputs)
        self._constants = sources.constants()
        # An entry of the marked index has the code first: it is the only column that is not in the key.
        self._columns = (bound.index(str(operands[column])), 0)
        state.relations[check.relation].restore_rows()
        self._highest = _HighestCode(state.relations[check.relation], column)
        self._all = np.arange(len(layout), dtype=np.int32)
        self._progress = np.zeros(STATES, np.int64)
        self._marks = np.zeros(0, np.int32)
        self._part: CodeArray = np.empty((0, len(layout)), state.dtype)
        self._out = first_buffer(len(check.outputs), state.dtype)
        self._tried = 0

    @property
    def rows(self) -> int:
        """Return how many matches of the join were checked."""
        return self._tried + self._searching.matches

    def run(self, batch: CodeArray) -> None:
        """Push one row per binding and matching fact for which the other fact is there."""
        relations = self._state.relations
        relation, checked = relations[self._join.relation], relations[self._check.relation]
        index, others = relation.indexes.get(self._join.key), checked.indexes.get(self._marked_key)
        is_marked = len(batch) >= _LEAST_ROWS and self.shares_key(batch) and self._highest.fits()
        is_hidden = bool(relation.alive.size or checked.alive.size)
        if index is None or others is None or not is_marked or is_hidden:
            self._searching.run(batch)
            return
        view = self._state.visible[self._join.relation].rows(self._join.view)
        marked_view = self._state.visible[self._check.relation].rows(self._check.view)
        if view[0] == view[1] or marked_view[0] == marked_view[1]:
            return
        found = groups_of(batch, self._constants, self._key, index)
        marked = groups_of(batch, self._constants, self._marked_operands, others)
        searched = np.empty(len(batch), np.uint8)
        count = split_by_marking(found, index.groups, marked, others.groups, searched)
        if count:
            self._search(batch, searched)
        if len(self._marks) <= self._highest.code:
            self._marks = np.zeros(self._highest.code + 1, np.int32)
            self._progress[MARKING] = 0
        progress = self._progress
        progress[ROW], progress[MARKED] = 0, NO_GROUP
        in_view = *view, index.boundary_between(*view)
        left = (batch, self._constants, found, index.groups, index.arena, in_view)
        in_view = *marked_view, others.boundary_between(*marked_view)
        right = (marked, others.groups, others.arena, in_view, self._columns, self._marks)
        while progress[ROW] < len(batch):
            written = join_marked(*left, *right, self._filters, self._sources, progress, self._out)
            tried = int(progress[TRIED])
            self._tried += tried
            self._state.count_bindings(tried)
            progress[TRIED] = 0
            if written:
                self.next.run(self._out[:written])
            self._out = next_buffer(self._out, written)

    def shares_key(self, batch: CodeArray) -> bool:
        """Say whether enough of the bindings would mark what the binding before has marked."""
        if not self._places:
            return True
        is_same = np.logical_and.reduce([batch[1:, place] == batch[:-1, place] for place in self._places])
        return bool(np.count_nonzero(is_same) >= _SHARED * (len(batch) - 1))

    def _push(self, batch: CodeArray) -> None:
        self.next.run(batch)

    def _search(self, batch: CodeArray, searched: Bools) -> None:
        """Send some bindings on by searches."""
        if len(self._part) < len(batch):
            self._part = np.empty_like(batch)
        count = select_rows(batch, searched, self._all, self._constants, self._part)
        self._searching.run(self._part[:count])


class _HighestCode:
    """The largest code in a column of a relation that only grows, and whether all can be marked."""

    def __init__(self, relation: StoredRelation, column: int) -> None:
        self._relation = relation
        self._column = column
        self._seen = (relation.version, 0)
        self.code = 0
        self._lowest = 0

    def fits(self) -> bool:
        """Say whether there is a place for every code among the marks."""
        relation = self._relation
        version, seen = self._seen
        if version != relation.version:
            seen = self.code = self._lowest = 0
        if seen < relation.count:
            codes = relation.rows[seen : relation.count, self._column]
            self.code, self._lowest = max(self.code, int(codes.max())), min(self._lowest, int(codes.min()))
            self._seen = relation.version, relation.count
        return self._lowest >= 0 and self.code < _MOST_MARKS
