"""The traces of a stratum's rules, advanced together from epoch to epoch."""

from collections.abc import Mapping, Sequence

import numpy as np

from tidelog.engine.local.chains import StepChain, make_chain
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.leapfrog_trace import RuleTrace, TraceChange
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import BUFFER_ROWS, Sink, SinkStep
from tidelog.engine.local.trace_trie import TraceTrie
from tidelog.plan.flatten import FlatRule
from tidelog.plan.leapfrog_trace import TraceAtom, completion_chain, plan_trace
from tidelog.plan.statistics import Statistics
from tidelog.program.nodes import RuleId
from tidelog.storage.kernel import Int64s

_NO_ROWS: Int64s = np.empty(0, np.int64)


class LocalTraces:
    """One trace for each of some rules of a stratum; atoms that look alike share a trie.

    Between `follow` and `commit` or `forget` the old trace is still the valid one.
    """

    def __init__(
        self,
        rules: Sequence[FlatRule],
        state: LocalState,
        expressions: Expressions,
        statistics: Statistics,
    ) -> None:
        self._state = state
        self._expressions = expressions
        self._tries: dict[object, TraceTrie] = {}
        self._traces: dict[RuleId, RuleTrace] = {}
        self._chains: dict[RuleId, tuple[StepChain, SinkStep]] = {}
        self._changes: dict[RuleId, TraceChange] = {}
        names = {literal.relation for rule in rules for literal in rule.literals}
        self._versions = {name: state.relations[name].version for name in names}
        for rule in rules:
            plan = plan_trace(rule, state.program, statistics)
            tries = [self._trie(atom) for atom in plan.atoms]
            self._traces[rule.id] = RuleTrace(plan, state.relations, tries)
            end = SinkStep()
            operators = completion_chain(rule, plan, state.program, statistics)
            self._chains[rule.id] = make_chain(operators, state, expressions, end), end

    def _trie(self, atom: TraceAtom) -> TraceTrie:
        codec = self._expressions.codec
        codes = {column: self._state.code_of(constant, codec) for column, constant in atom.constants}
        key = (atom.relation, atom.columns, tuple(codes.items()), atom.equal)
        return self._tries.setdefault(key, TraceTrie(atom, self._state.relations[atom.relation], codes))

    @property
    def rules(self) -> frozenset[RuleId]:
        """Return the rules that have a trace."""
        return frozenset(self._traces)

    @property
    def size(self) -> int:
        """Return the number of intervals that all traces keep."""
        return sum(trace.size for trace in self._traces.values())

    @property
    def work(self) -> int:
        """Return the steps made so far."""
        return sum(trace.work for trace in self._traces.values())

    @property
    def edits(self) -> int:
        """Return how many intervals and bindings of the traces the last change altered."""
        return sum(trace.edits for trace in self._traces.values())

    def records(self) -> list[Int64s]:
        """Return the intervals of each index, as (values of upper levels, low, high, other values)."""
        return [
            np.concatenate(
                [np.empty((0, each.index.width), np.int64), *(b.live() for b in each.index.batches)]
            )
            for trace in self._traces.values()
            for each in trace.sensitivities
        ]

    def is_current(self) -> bool:
        """Say whether the relations are still those recorded, and no trace has grown too much."""
        relations = self._state.relations
        same = all(relations[name].version == version for name, version in self._versions.items())
        return same and all(trace.is_current() for trace in self._traces.values())

    def record(self) -> None:
        """Join the old epoch from scratch and keep what the joins depend on."""
        for trie in self._tries.values():
            trie.load()
        for trace in self._traces.values():
            trace.record()

    def follow(self, changed: Mapping[str, Int64s]) -> None:
        """Find how the bindings of each rule change with these rows."""
        for name in self._versions:
            # Later evaluations must see the rows that were located for the epoch.
            self._state.show_all(name)
        for trie in self._tries.values():
            trie.look(changed.get(trie.name, _NO_ROWS))
        self._changes = {rule: trace.follow() for rule, trace in self._traces.items()}

    def push_lost(self, rule: FlatRule, sink: Sink) -> None:
        """Push the derivations whose atoms were facts in the old epoch and no longer are."""
        self._complete(rule, self._changes[rule.id].lost, sink)

    def push_gained(self, rule: FlatRule, sink: Sink) -> None:
        """Push the derivations whose atoms are facts in the new epoch and were not before."""
        self._complete(rule, self._changes[rule.id].gained, sink)

    def _complete(self, rule: FlatRule, bindings: Int64s, sink: Sink) -> None:
        """Push bindings through the rest of the body: constraints, functions, negated atoms."""
        chain, end = self._chains[rule.id]
        end.sink = sink
        for first in range(0, len(bindings), BUFFER_ROWS):
            chain.first.run(bindings[first : first + BUFFER_ROWS].astype(self._state.dtype))

    def commit(self) -> None:
        """Keep the trace of the new epoch."""
        for trace in self._traces.values():
            trace.commit()
        for trie in self._tries.values():
            trie.advance()
        self._changes = {}

    def forget(self) -> None:
        """Keep the trace of the old epoch."""
        for trace in self._traces.values():
            trace.forget()
        self._changes = {}
