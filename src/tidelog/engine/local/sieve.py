"""The last join of a recursive rule, which drops matches that are known to be facts."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from tidelog.engine.local.emit import EmitStep, SharedEmitStep
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.lookups import JoinStep, groups_of, names_of_entry
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import Sources, Step, first_buffer, next_buffer
from tidelog.plan.operators import Join, Layout, Operator, Scan
from tidelog.storage import Index, StoredRelation
from tidelog.storage.kernel import CodeArray, Int64s, Slots
from tidelog.storage.sieve import HEAD, MATCHES, NO_GROUP, ROW, STATES, join_unknown

# How many words are known at a time: they take a quarter of a mebibyte, a part of the processor's cache.
_PLACES: Final = 1 << 15


def is_sieved(operators: Sequence[Operator]) -> bool:
    """Say whether a chain ends with a join whose candidates come together if they share a key."""
    scan, join = operators[0], operators[-1]
    if not isinstance(scan, Scan) or not scan.key or not isinstance(join, Join) or join.ordered is not None:
        return False
    others = {*join.outputs} - {name for _, name in join.binds}
    return bool(join.key) and others <= {name for _, name in scan.binds}


class SieveStep(Step):
    """Extends bindings through an index, and passes on what is not known to be a fact of the head."""

    def __init__(
        self,
        join: Join,
        layout: Layout,
        state: LocalState,
        expressions: Expressions,
        end: EmitStep | SharedEmitStep,
    ) -> None:
        self._state = state
        self._join = join
        self._joining = JoinStep(join, layout, state, expressions)
        self._joining.next = self._end = end
        self._relation, self._visible = state.relations[join.relation], state.visible[join.relation]
        sources = Sources(layout, names_of_entry(join, self._relation.arity), state, expressions)
        self._key = sources.numbers(join.operands)
        self._filters = sources.filters(join.filters)
        self._sources = sources.numbers(join.outputs)
        self._head_key = tuple(int(column) for column in np.flatnonzero(self._sources < len(layout)))
        self._head_operands = self._sources[list(self._head_key)]
        self._constants = sources.constants()
        self._progress = np.zeros(STATES, np.int64)
        self._known: Slots = np.zeros(0, np.uint64)
        # What the words of known facts depend on.
        self._words: tuple[int, Int64s] | None = None
        self._out = first_buffer(len(join.outputs), state.dtype)

    def run(self, batch: CodeArray) -> None:
        """Push one row per binding and matching fact, without most of those that are facts of the head."""
        head = self._end.relation
        widths = None
        if isinstance(head, StoredRelation) and self._head_key in head.indexes:
            widths = head.word_widths
        if widths is None or self._relation.alive.size:
            self._joining.run(batch)
            return
        assert isinstance(head, StoredRelation)
        view = self._visible.rows(self._join.view)
        if view[0] < view[1]:
            self._forget(head.version, widths)
            self._sieve(batch, view, head.indexes[self._head_key], widths)

    def _sieve(self, batch: CodeArray, view: tuple[int, int], facts: Index, widths: Int64s) -> None:
        """Push what is not known of the matches in view."""
        index = self._relation.indexes[self._join.key]
        found = groups_of(batch, self._constants, self._key, index)
        heads = groups_of(batch, self._constants, self._head_operands, facts)
        in_view = *view, index.boundary_between(*view)
        join = partial(
            join_unknown, batch, self._constants, found, index.groups, index.arena, in_view, self._filters
        )
        known = heads, facts.groups, facts.arena, widths, self._known
        progress = self._progress
        progress[ROW], progress[HEAD] = 0, NO_GROUP
        while progress[ROW] < len(batch):
            progress[MATCHES] = 0
            written = join(self._sources, *known, progress, self._out)
            matches = int(progress[MATCHES])
            self._state.count_bindings(matches)
            self._end.derivations += matches - written
            if written:
                self._end.run(self._out[:written])
            self._out = next_buffer(self._out, written)

    def _forget(self, version: int, widths: Int64s) -> None:
        """Forget all words if they are not those of the present facts."""
        if self._words is None or self._words[0] != version or self._words[1] is not widths:
            self._words = version, widths
            self._known = np.zeros(_PLACES, np.uint64)
