"""Enumerates derivations around given rows, for the strategies of `maintain`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from tidelog.engine.local.chains import make_chain
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.statistics import StateStatistics
from tidelog.engine.local.steps import BUFFER_ROWS, ChainStep, Sink, SinkStep
from tidelog.plan.flatten import FlatRule, RuleLiteral
from tidelog.plan.maintenance import chain_variants, derivation_chain
from tidelog.plan.operators import Operator
from tidelog.program.nodes import Constant
from tidelog.storage.kernel import CodeArray, Int64s

if TYPE_CHECKING:
    from tidelog.engine.local.leapfrog_traces import LocalTraces

# Where derivations of a rule start: at a literal, or at the head.
_Start = tuple[FlatRule, RuleLiteral | None]


class LocalDerivations:
    """Chains from rows to derivations, planned when first needed and kept.

    Chains refer to indexes of stored relations, so they are dropped when the version of a relation changes.
    """

    def __init__(self, state: LocalState, expressions: Expressions) -> None:
        self._state = state
        self._expressions = expressions
        self._statistics = StateStatistics(state)
        self._chains: dict[_Start, tuple[ChainStep, SinkStep]] = {}
        # The version and number of rows of each relation that chains have seen.
        self._seen: dict[str, tuple[int, int]] = {}
        # Asked for twice in a row, for the best one and then for the others; valid while sizes stay the same.
        self._variants: dict[_Start, tuple[tuple[int, ...], Sequence[tuple[Operator, ...]]]] = {}

    @property
    def work(self) -> int:
        """Return how many bindings were enumerated so far, whether they became derivations or not."""
        return self._state.bindings

    @contextmanager
    def watched(self, check: Callable[[], None]) -> Iterator[None]:
        """Call `check` for every batch of bindings, even if they lead to no derivation; it may raise."""
        self._state.on_bindings = check
        try:
            yield
        finally:
            self._state.on_bindings = None

    def forward(self, rule: FlatRule, literal: RuleLiteral, numbers: Int64s, sink: Sink) -> None:
        """Push the derivations that use these rows at a literal, absent and present ones alike.

        A batch has the head's columns, then the row number at each literal of the rule (-1 for a
        negated literal without any row). It is only valid during the call.
        """
        rows = self._state.relations[literal.relation].rows
        for piece in _pieces(numbers):
            self._run(rule, literal, rows[piece], piece, sink)

    def backward(self, rule: FlatRule, numbers: Int64s, sink: Sink) -> None:
        """Push the derivations of these head rows: the head's row number, then the literals'."""
        rows = self._state.relations[rule.relation].rows
        for piece in _pieces(numbers):
            self._run(rule, None, rows[piece], piece, sink)

    def backward_from(self, rule: FlatRule, rows: CodeArray, tags: Int64s, sink: Sink) -> None:
        """Push the derivations of heads that have these contents, each with the tag of its head."""
        for piece in _pieces(np.arange(tags.size)):
            self._run(rule, None, rows[piece], tags[piece], sink)

    def variants(self, rule: FlatRule, literal: RuleLiteral | None) -> Sequence[tuple[Operator, ...]]:
        """Return chains from rows of a literal (or of the head), the one expected to be best first."""
        sizes = tuple(len(self._state.relations[each.relation]) for each in rule.literals)
        known = self._variants.get((rule, literal))
        if known is None or known[0] != sizes:
            variants = chain_variants(rule, literal, self._state.program, self._statistics)
            known = self._variants[rule, literal] = sizes, variants
        return known[1]

    def traces(self, rules: Sequence[FlatRule]) -> "LocalTraces":
        """Return traces of rules, yet to be recorded."""
        from tidelog.engine.local.leapfrog_traces import LocalTraces  # noqa: PLC0415 - few need traces

        return LocalTraces(rules, self._state, self._expressions, self._statistics)

    def encode(self, constant: Constant) -> int:
        """Return the code of a constant; raise if the state's codes are too narrow for it."""
        return self._state.code_of(constant, self._expressions.codec)

    def _run(
        self, rule: FlatRule, literal: RuleLiteral | None, rows: CodeArray, tags: Int64s, sink: Sink
    ) -> None:
        """Run the chain from rows of a literal, or of the head, each followed by its tag."""
        self._refresh()
        known = self._chains.get((rule, literal))
        if known is None:
            end = SinkStep()
            operators = derivation_chain(rule, literal, self._state.program, self._statistics)
            chain = make_chain(operators, self._state, self._expressions, end)
            known = self._chains[rule, literal] = chain.first, end
        first, end = known
        end.sink = sink
        batch = np.empty((rows.shape[0], rows.shape[1] + 1), self._state.dtype)
        batch[:, :-1] = rows
        batch[:, -1] = tags
        first.run(batch)

    def _refresh(self) -> None:
        """Let indexes and views cover the rows appended since the last run; plan again for new versions."""
        for name, relation in self._state.relations.items():
            now, before = (relation.version, relation.count), self._seen.get(name)
            if now == before:
                continue
            self._seen[name] = now
            if before is not None and before[0] != relation.version:
                self._chains = {}
                self._variants = {}
            visible = self._state.visible[name]
            if visible.end != relation.count:
                visible.delta = visible.end = relation.count
            for index in relation.indexes.values():
                if index.rows_indexed < relation.count:
                    index.add_rows(relation.rows, relation.count)


def _pieces(numbers: Int64s) -> Iterator[Int64s]:
    for first in range(0, numbers.size, BUFFER_ROWS):
        yield numbers[first : first + BUFFER_ROWS]
