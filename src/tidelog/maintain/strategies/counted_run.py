"""Evaluation of a stratum that counts the derivations of every iteration, for epochs by `counting`."""

from collections.abc import Mapping, Sequence
from threading import Lock

import numpy as np

from tidelog.engine.local.emit import CandidatesAside
from tidelog.engine.local.runnable_rules import RunContext, RunnableRule
from tidelog.engine.local.stratum import StratumRun
from tidelog.engine.local.written_facts import written_facts
from tidelog.maintain.strategies.counting import IterationCounts
from tidelog.plan import RulePlan
from tidelog.plan.maintenance import reason_to_recompute
from tidelog.program.nodes import Stratum
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray, Int32s


class CountedRuns:
    """The dense states that an evaluation counts, by the first relation of their strata."""

    def __init__(self) -> None:
        self.counts: dict[str, Mapping[str, IterationCounts]] = {}

    def start(self, stratum: Stratum, context: RunContext) -> "CountedRun | None":
        """Return what evaluates a stratum and counts, None if its derivations are not followed one by one."""
        if reason_to_recompute(stratum, context.state.program) is not None:
            return None
        run = CountedRun(stratum, context)
        self.counts[stratum.relations[0]] = run.counts
        return run


class CountedRun(StratumRun):
    """The evaluation of a stratum whose facts simply add up; `counts` is its dense state afterwards.

    An iteration finds every derivation once whose last premise the iteration before found, so that its number
    is the level the derivation gives.
    """

    finds_all_derivations = True

    def __init__(self, stratum: Stratum, context: RunContext) -> None:
        super().__init__(stratum, context)
        self.counts = {name: IterationCounts() for name in stratum.relations}
        self._iteration = 0

    def _iterate(self, iteration: int) -> int:
        self._iteration = iteration
        return super()._iterate(iteration)

    def _runs_small(self) -> bool:
        """Say that no iterations run row by row: the kernel for that does not count."""
        return False

    def _allow_presence(self, plans: Sequence[RulePlan]) -> None:  # noqa: ARG002 - whatever they look up
        """Let all relations know the numbers of their rows, by which derivations are counted."""
        for name in self._stratum.relations:
            self._state.relations[name].require_numbers()

    def _insert_facts(self) -> None:
        """Insert the rules without a body, each of which is a derivation."""
        super()._insert_facts()
        for name, rows in written_facts(self._stratum.rules, self._context.expressions).items():
            self._taker(name).count(self._state.pack_rows(rows))

    def _run_rule(self, rule: RunnableRule, aside: CandidatesAside | None = None) -> None:
        """Run a rule over what it scans; insert and count what it finds, or keep it aside."""
        super()._run_rule(rule, aside or self._taker(rule.plan.relation))

    def _insert_aside(self, rule: RunnableRule, aside: CandidatesAside) -> None:
        """Insert and count what a rule found aside."""
        taker = self._taker(rule.plan.relation)
        for batch in aside.batches:
            taker.take(batch)

    def _taker(self, name: str) -> "_CountedCandidates":
        relation, counts = self._state.relations[name], self.counts[name]
        return _CountedCandidates(relation, counts, self._iteration, self._iteration_start[name])


class _CountedCandidates(CandidatesAside):
    """Inserts candidates into a relation, and counts every one of them."""

    def __init__(
        self, relation: StoredRelation, counts: IterationCounts, iteration: int, first_new: int
    ) -> None:
        super().__init__()
        self._relation = relation
        self._counts = counts
        self._iteration = iteration
        self._first_new = first_new
        self._lock = Lock()

    def insert(self, batch: CodeArray, weights: Int32s, number: int) -> None:  # noqa: ARG002 - as relations take them
        """Insert a batch; several threads may ask for it at once."""
        with self._lock:
            self.take(batch)

    def take(self, batch: CodeArray) -> None:
        """Insert a batch, and count it."""
        self._relation.insert(batch, first_new=self._first_new)
        self.count(batch)

    def count(self, batch: CodeArray) -> None:
        """Count derivations of rows that are there."""
        levels = np.full(batch.shape[0], self._iteration, np.int32)
        self._counts.add(self._relation.find(batch), levels, 1)
