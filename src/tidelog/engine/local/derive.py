"""Enumerates derivations around given rows, for the strategies of `maintain`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tidelog.engine.local.chains import make_chain
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.statistics import StateStatistics
from tidelog.engine.local.steps import BUFFER_ROWS, ChainStep, Sink, SinkStep
from tidelog.engine.local.workers import Workers, is_safe_in_threads
from tidelog.plan.flatten import FlatRule, RuleLiteral
from tidelog.plan.levels import SharedIndexes
from tidelog.plan.maintenance import chain_variants, derivation_chain
from tidelog.plan.operators import Operator, all_operators
from tidelog.program.nodes import Constant
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.sharing import Share

if TYPE_CHECKING:
    from tidelog.engine.local.leapfrog_traces import LocalTraces

# From so many rows on, threads find derivations side by side.
_ROWS_FOR_THREADS = 1 << 13
# Chains are planned again if a relation of more than a few facts is so many times larger or smaller.
_GROWTH = 4
_FEW_FACTS = 1 << 8
# Where derivations of a rule start: at a literal, or at the head.
_Start = tuple[FlatRule, RuleLiteral | None]


class LocalDerivations:
    """Chains from rows to derivations, planned when first needed and kept.

    Chains refer to indexes of stored relations, so they are made again when the version of a relation that
    they read changes, and planned again if it has a size of another order then.
    """

    def __init__(self, state: LocalState, expressions: Expressions, jobs: int = 1) -> None:
        self._state = state
        self._expressions = expressions
        self._statistics = StateStatistics(state)
        self._workers = Workers(jobs)
        self._chains: dict[_Start, _ThreadChains] = {}
        # Their operators, and how many facts relations had when chains first read them.
        self._plans: dict[_Start, Sequence[Operator]] = {}
        self._sizes: dict[str, int] = {}
        # The version and number of rows of each relation that chains have seen.
        self._seen: dict[str, tuple[int, int]] = {}
        # Which indexes their joins read, decided for all chains of some rules at once.
        self._indexes = SharedIndexes(self._statistics)
        self._shared: set[FlatRule] = set()
        # Asked for twice in a row, for the best one and then for the others; valid while sizes stay the same.
        self._variants: dict[_Start, tuple[tuple[int, ...], Sequence[tuple[Operator, ...]]]] = {}

    def evaluate_with(self, expressions: Expressions) -> None:
        """Use other expressions from now on: chains are made again."""
        self._expressions = expressions
        self._chains.clear()

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

    def forward(
        self,
        rule: FlatRule,
        literal: RuleLiteral,
        numbers: Int64s,
        sink: Sink,
        *,
        in_threads: bool = False,
    ) -> None:
        """Push the derivations that use these rows at a literal, absent and present ones alike.

        A batch has the head's columns, then the row number at each literal of the rule (-1 for a
        negated literal without any row). It is only valid during the call. A sink `in_threads` may be
        called from several threads at once; other threads may append rows to relations meanwhile.
        """
        rows = self._state.relations[literal.relation].rows
        self._run_all((rule, literal), _Beginnings(rows, numbers, numbers), sink, in_threads=in_threads)

    def backward(self, rule: FlatRule, numbers: Int64s, sink: Sink) -> None:
        """Push the derivations of these head rows: the head's row number, then the literals'."""
        rows = self._state.relations[rule.relation].rows
        self._run_all((rule, None), _Beginnings(rows, numbers, numbers), sink)

    def backward_from(
        self, rule: FlatRule, rows: CodeArray, tags: Int64s, sink: Sink, *, in_threads: bool = False
    ) -> None:
        """Push the derivations of heads that have these contents, each with the tag of its head."""
        begun = _Beginnings(rows, np.arange(tags.size), tags)
        self._run_all((rule, None), begun, sink, in_threads=in_threads)

    def variants(self, rule: FlatRule, literal: RuleLiteral | None) -> Sequence[tuple[Operator, ...]]:
        """Return chains from rows of a literal (or of the head), the one expected to be best first."""
        sizes = tuple(len(self._state.relations[each.relation]) for each in rule.literals)
        known = self._variants.get((rule, literal))
        if known is None or known[0] != sizes:
            variants = chain_variants(rule, literal, self._state.program, self._statistics)
            known = self._variants[rule, literal] = sizes, variants
        return known[1]

    def run_all(self, tasks: Sequence[Callable[[], object]], rows: int) -> None:
        """Run independent tasks that together handle about `rows` rows, in threads if there are many."""
        self._workers.run_all(tasks, rows)

    def sharing(self, rows: int) -> Share:
        """Return what shares the work on so many rows: all threads, or the present one if they are few."""
        return self._workers.sharing(rows)

    def share_indexes(self, rules: Sequence[FlatRule]) -> None:
        """Let the chains of these rules, which are followed together, need as few indexes as possible."""
        if self._shared.issuperset(rules):
            return
        self._shared.update(rules)
        starts = (
            (rule, literal) for rule in filter(self._share, rules) for literal in (*rule.literals, None)
        )
        self._indexes.decide([x for start in starts for x in all_operators(self.variants(*start)[0])])

    def _share(self, rule: FlatRule) -> bool:
        """Say whether a rule reads a relation whose indexes are worth sharing."""
        relations = self._state.relations
        return any(self._indexes.concern(x.relation, relations[x.relation].arity) for x in rule.literals)

    def through_levels(self, operators: Sequence[Operator]) -> tuple[Operator, ...]:
        """Return a chain as it is run: its joins by few columns may go through a level of an index."""
        return self._indexes.through_levels(operators)

    def traces(self, rules: Sequence[FlatRule]) -> "LocalTraces":
        """Return traces of rules, yet to be recorded."""
        from tidelog.engine.local.leapfrog_traces import LocalTraces  # noqa: PLC0415 - few need traces

        return LocalTraces(rules, self._state, self._expressions, self._statistics)

    def encode(self, constant: Constant) -> int:
        """Return the code of a constant; raise if the state's codes are too narrow for it."""
        return self._state.code_of(constant, self._expressions.codec)

    def _run_all(self, start: _Start, begun: "_Beginnings", sink: Sink, *, in_threads: bool = False) -> None:
        """Run the chain that starts at some rows, in pieces."""
        self._refresh(start[0])
        chains = self._chains.get(start)
        if chains is None:
            chains = _ThreadChains(self._plan(start), self._state, self._expressions)
            self._chains[start] = chains
        count, jobs = begun.numbers.size, self._workers.jobs
        if in_threads and jobs > 1 and chains.are_safe and count >= _ROWS_FOR_THREADS:
            chains.make(jobs)
            tasks = [partial(chains.run, thread, begun, sink) for thread in range(jobs)]
            self._workers.run_morsels(tasks, count)
            return
        for first in range(0, count, BUFFER_ROWS):
            if first:
                self._refresh(start[0])
            chains.run(0, begun, sink, first, min(first + BUFFER_ROWS, count))

    def _plan(self, start: _Start) -> Sequence[Operator]:
        """Return the operators of a chain."""
        operators = self._plans.get(start)
        if operators is None:
            for name in self._read_by(start[0]):
                self._sizes.setdefault(name, len(self._state.relations[name]))
            planned = derivation_chain(*start, self._state.program, self._statistics)
            self._indexes.decide(all_operators(planned))
            operators = self._plans[start] = self.through_levels(planned)
        return operators

    def _refresh(self, rule: FlatRule) -> None:
        """Let what a rule reads cover the rows appended since the last run; new versions get new chains."""
        for name in self._read_by(rule):
            relation = self._state.relations[name]
            now, before = (relation.version, relation.count), self._seen.get(name)
            if now == before:
                continue
            self._seen[name] = now
            if before is not None and before[0] != relation.version:
                self._renew(name)
            visible = self._state.visible[name]
            if visible.end != relation.count:
                visible.delta = visible.end = relation.count
            added = relation.count - (0 if before is None else before[1])
            relation.index_new_rows(self._workers.sharing(added))

    def _renew(self, name: str) -> None:
        """Drop the chains that read a relation of another version, and all plans if its size is another."""
        size = len(self._state.relations[name])
        less, more = sorted((size, self._sizes.setdefault(name, size)))
        if more > max(_FEW_FACTS, _GROWTH * less):
            self._chains, self._plans, self._variants, self._sizes = {}, {}, {}, {}
            self._indexes = SharedIndexes(self._statistics)
            self._shared = set()
        else:
            self._chains = {
                start: chains for start, chains in self._chains.items() if name not in self._read_by(start[0])
            }

    def _read_by(self, rule: FlatRule) -> set[str]:
        """Return the relations whose facts or indexes the derivations of a rule consist of."""
        names = {rule.relation, *(literal.relation for literal in rule.literals)}
        projections = self._state.projections
        return names.union(projections[name].base for name in names if name in projections)


class _Beginnings(NamedTuple):
    """Where chains start: rows of an array by their numbers, each with a tag to be pushed along."""

    rows: CodeArray
    numbers: Int64s
    tags: Int64s


class _ThreadChains:
    """One chain of operators with steps for each thread."""

    def __init__(self, operators: Sequence[Operator], state: LocalState, expressions: Expressions) -> None:
        self._made = operators, state, expressions
        self._chains: list[tuple[ChainStep, SinkStep]] = []
        self._dtype = state.dtype
        self.are_safe = is_safe_in_threads(operators)
        self.make(1)

    def make(self, threads: int) -> None:
        """Make steps for so many threads, before they run."""
        while len(self._chains) < threads:
            end = SinkStep()
            self._chains.append((make_chain(*self._made, end).first, end))

    def run(self, thread: int, begun: _Beginnings, sink: Sink, first: int, last: int) -> None:
        """Run a thread's steps from a range of the beginnings."""
        step, end = self._chains[thread]
        end.sink = sink
        rows = begun.rows[begun.numbers[first:last]]
        batch = np.empty((rows.shape[0], rows.shape[1] + 1), self._dtype)
        batch[:, :-1] = rows
        batch[:, -1] = begun.tags[first:last]
        step.run(batch)
