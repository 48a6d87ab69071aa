"""The last join of a recursive rule, which drops matches that are known to be facts."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.emit import EmitStep, SharedEmitStep
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.lookups import (
    JoinStep,
    groups_joined,
    groups_of,
    index_of,
    key_of,
    names_of_entry,
)
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import ChainStep, Sources, first_buffer, next_buffer
from tidelog.plan.operators import IndexJoin, Operator, ScanView
from tidelog.storage import Index, StoredRelation
from tidelog.storage.kernel import CodeArray, Int64s, Words
from tidelog.storage.sieve import HEAD, MATCHES, NO_GROUP, ROW, STATES, join_unknown

# How many words are known at a time: they take a quarter of a mebibyte, a part of the processor's cache.
_PLACES: Final = 1 << 15


def is_sieved(operators: Sequence[Operator]) -> bool:
    """Say whether a chain ends with a join whose candidates come together if they share a key."""
    scan, join = operators[0], operators[-1]
    if (
        not isinstance(scan, ScanView)
        or not scan.key
        or not isinstance(join, IndexJoin)
        or join.ordered is not None
    ):
        return False
    passed = (name for x in operators if isinstance(x, IndexJoin) and x.over for _, name in x.binds)
    others = {*join.outputs} - {name for _, name in join.binds}
    return bool(join.key) and not join.over and others <= {*passed, *(name for _, name in scan.binds)}


@dataclass(frozen=True, slots=True)
class _KnownFacts:
    """Leads from a key to facts: through an index, or through a level above it."""

    index: Index
    level: Index | None
    key: Int64s
    free: Int64s

    @property
    def by_key(self) -> Index:
        """Return what leads from a key to groups."""
        return self.index if self.level is None else self.level

    def arguments(self) -> tuple[Any, ...]:
        """Return what the kernel reads."""
        level, index = self.by_key, self.index
        postings = (level.groups, level.arena), (index.groups, index.arena)
        return *postings, self.level is not None, self.key, self.free


class SieveStep(ChainStep):
    """Extends bindings through an index, and passes on what is not known to be a fact of the head."""

    def __init__(
        self,
        operators: Sequence[Operator],
        state: LocalState,
        expressions: Expressions,
        end: EmitStep | SharedEmitStep,
    ) -> None:
        scan, *_, before, join = operators
        assert isinstance(scan, ScanView)
        assert isinstance(join, IndexJoin)
        layout = before.outputs
        self._state = state
        self._join = join
        self._joining = JoinStep(join, layout, state, expressions)
        self._joining.next = self._end = end
        self._relation, self._visible = state.relations[join.relation], state.visible[join.relation]
        sources = Sources(layout, names_of_entry(join, self._relation.arity), state, expressions)
        self._key = key_of(join, sources)
        self._filters = sources.filters(join.filters)
        self._sources = sources.numbers(join.outputs)
        # Bindings that follow each other have these columns of the head in common.
        shared = {name for _, name in scan.binds}
        self._head_key = tuple(
            column
            for column, operand in enumerate(join.outputs)
            if operand in shared or not isinstance(operand, str)
        )
        self._head_operands = self._sources[list(self._head_key)]
        self._bound = {column for column, source in enumerate(self._sources) if source < len(layout)}
        self._constants = sources.constants()
        self._progress = np.zeros(STATES, np.int64)
        self._known: Words = np.zeros(0, np.uint64)
        # What the words of known facts depend on.
        self._words: tuple[int, Int64s] | None = None
        self._out = first_buffer(len(join.outputs), state.dtype)
        self._matches = 0

    @property
    def rows(self) -> int:
        """Return how many matches the join had, known or not."""
        return self._matches + self._joining.matches

    def run(self, batch: CodeArray) -> None:
        """Push one row per binding and matching fact, without most of those that are facts of the head."""
        head = self._end.relation
        widths = facts = None
        if isinstance(head, StoredRelation) and not self._relation.alive.size:
            widths, facts = head.word_widths, self._facts(head)
        if widths is None or facts is None or self._join.index in self._relation.direct:
            self._joining.run(batch)
            return
        assert isinstance(head, StoredRelation)
        view = self._visible.rows(self._join.view)
        if view[0] < view[1]:
            self._forget(head.version, widths)
            self._sieve(batch, view, facts, widths)

    def _facts(self, head: StoredRelation) -> "_KnownFacts | None":
        """Return where the facts of the head's key are found, None if no index can tell."""
        key = self._head_key
        index, level = head.indexes.get(key), None
        if index is None:
            above = (other for other in head.indexes.values() if key in other.levels)
            index = next(above, None)
            level = None if index is None else index.levels[key]
        if index is None:
            return None
        order = [column for column in index.key if column not in key] + list(index.rest)
        bound = [column in self._bound for column in order]
        # What bindings have of the other columns must be before what entries have.
        if sorted(bound, reverse=True) != bound:
            return None
        return _KnownFacts(index, level, np.array(key, np.int64), np.array(order, np.int64))

    def _sieve(self, batch: CodeArray, view: tuple[int, int], facts: "_KnownFacts", widths: Int64s) -> None:
        """Push what is not known of the matches in view."""
        index = index_of(self._join, self._relation)
        found = groups_joined(self._join, batch, self._constants, self._key, index)
        heads = groups_of(batch, self._constants, self._head_operands, facts.by_key)
        in_view = *view, index.boundary_between(*view)
        join = partial(
            join_unknown, batch, self._constants, found, index.groups, index.arena, in_view, self._filters
        )
        join = partial(join, self._sources, heads, *facts.arguments(), widths, self._known)
        progress = self._progress
        progress[ROW], progress[HEAD] = 0, NO_GROUP
        while progress[ROW] < len(batch):
            progress[MATCHES] = 0
            written = join(progress, self._out)
            matches = int(progress[MATCHES])
            self._matches += matches
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
