"""The evaluation of a stratum that writes a profile; nothing of it is loaded by other runs."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tidelog.engine.local.emit import CandidatesAside
from tidelog.engine.local.runnable_rules import RunContext, RunnableRule
from tidelog.engine.local.stratum import StratumRun
from tidelog.engine.profile.record import CheaperOrder, IndexProfile, Tally, is_wasteful
from tidelog.engine.profile.recorder import ProfileRecorder
from tidelog.engine.protocol import Observer, StratumStatistics
from tidelog.plan import StratumPlan
from tidelog.plan.stratum import cheapest_order, chooses_by_itself
from tidelog.program.nodes import Rule, Stratum
from tidelog.storage import Index, StoredRelation
from tidelog.storage.sharing import Share

# A rule that finds nothing, and sooner than this, had an empty delta.
_NOTED_SECONDS = 1e-4
# An order is worth telling if it is expected to make so many times fewer bindings.
_TIMES_CHEAPER = 10


class ProfiledRun(StratumRun):
    """The evaluation of one stratum, with a record of every rule and iteration."""

    def __init__(self, stratum: Stratum, context: RunContext, number: int, recorder: ProfileRecorder) -> None:
        super().__init__(stratum, context)
        self._recorder = recorder.begin(number, stratum.relations, is_recursive=stratum.is_recursive)
        self._measurements = recorder.measurements
        self._plans_before = len(recorder.measurements.gather())
        self._seconds_of: dict[int, float] = {}

    def run(self, number: int, observer: Observer) -> StratumStatistics:
        """Evaluate the stratum's relations to their fixpoint."""
        try:
            statistics = super().run(number, observer)
            self._recorder.profile.take_totals(statistics)
            return statistics
        finally:
            plans = self._measurements.gather()[self._plans_before :]
            self._recorder.finish(plans, self._state.program, self._indexes())
            self._look_for_orders()

    def _look_for_orders(self) -> None:
        """Note of rules that waste bindings in which order they are expected to waste far fewer."""
        rules = {int(rule.id): rule for rule in self._stratum.rules}
        for profile in self._recorder.profile.rules:
            rule = rules[profile.rule]
            profile.is_fixed = bool(rule.plan)
            if profile.delta_atom is None or not is_wasteful(profile.total):
                continue
            delta, statistics = profile.delta_atom - 1, self._context.statistics
            program, measured = self._state.program, profile.bindings_per_fact()
            if rule.plan and chooses_by_itself(rule, delta, self._stratum, program, statistics):
                profile.cheaper = CheaperOrder(None, 0.0, measured)
                continue
            best = cheapest_order(rule, delta, self._stratum, program, statistics)
            if best is not None and _TIMES_CHEAPER * best.bindings < measured:
                profile.cheaper = CheaperOrder(best.text, best.bindings, measured)

    def _iterate(self, iteration: int) -> int:
        begun = time.perf_counter()
        new = super()._iterate(iteration)
        self._recorder.iterated(iteration, 1, begun, new)
        return new

    def _runs_small(self) -> bool:
        # As one record: the kernel that runs small iterations does not count for each operator.
        return True

    def _run_small(self, number: int, iteration: int, observer: Observer) -> tuple[int, int]:
        state, begun = self._state, time.perf_counter()
        before, rules = (state.bindings, self._derivations, sum(self._sizes().values())), self._repeated
        known = sum(rule.derivations() for rule in rules)
        last, new = super()._run_small(number, iteration, observer)
        if last > iteration:
            seconds, facts = time.perf_counter() - begun, sum(self._sizes().values()) - before[2]
            # Where steps were made again, what they had found is counted with the stratum.
            found = self._derivations - before[1] - (known if self._repeated is not rules else 0)
            if len(rules) == 1:
                tally = Tally(seconds, state.bindings - before[0], found, facts)
                self._recorder.rule_ran(self._recorder.number_of(rules[0].plan), tally)
            self._recorder.iterated(iteration + 1, last - iteration, begun, facts)
        return last, new

    def _insert_aside(self, rule: RunnableRule, aside: CandidatesAside) -> None:
        target, begun = self._state.relations[rule.plan.relation], time.perf_counter()
        count = target.count
        super()._insert_aside(rule, aside)
        if aside.batches:
            tally = Tally(time.perf_counter() - begun, 0, 0, target.count - count)
            self._recorder.rule_ran(self._recorder.number_of(rule.plan), tally)

    def _run_rule(self, rule: RunnableRule, aside: CandidatesAside | None = None) -> None:
        state, target = self._state, self._target(rule.plan.relation)
        bindings, derivations = state.bindings, rule.derivations()
        count = target.count if isinstance(target, StoredRelation) else 0
        begun = time.perf_counter()
        super()._run_rule(rule, aside)
        seconds = time.perf_counter() - begun
        found = rule.derivations() - derivations
        new = target.count - count if isinstance(target, StoredRelation) else 0
        tally = Tally(seconds, state.bindings - bindings, found, new)
        number = self._recorder.number_of(rule.plan)
        if found or tally.bindings or seconds >= _NOTED_SECONDS:
            self._recorder.rule_ran(number, tally)

    def _plan(self, rules: Sequence[Rule]) -> StratumPlan:
        begun = time.perf_counter()
        plan = super()._plan(rules)
        self._recorder.planned(time.perf_counter() - begun)
        return plan

    def _prepare(self, plan: StratumPlan) -> None:
        # Indexes that joins need are built from what is there when their steps are made.
        begun = time.perf_counter()
        super()._prepare(plan)
        self._recorder.indexed(time.perf_counter() - begun)

    def _index_rows(self, before: Mapping[str, int]) -> None:
        begun = time.perf_counter()
        super()._index_rows(before)
        self._recorder.indexed(time.perf_counter() - begun)

    def _index_task(self, index: Index, relation: StoredRelation) -> Callable[[Share], None]:
        return partial(self._timed, super()._index_task(index, relation), index)

    def _timed(self, task: Callable[[Share], None], index: Index, share: Share) -> None:
        begun = time.perf_counter()
        task(share)
        # Each index has one task at a time, so that no other thread writes this number.
        self._seconds_of[id(index)] = self._seconds_of.get(id(index), 0.0) + time.perf_counter() - begun

    def _indexes(self) -> list[IndexProfile]:
        """Return the indexes of the stratum's own relations as they are at the end."""
        found = []
        for name in self._stratum.relations:
            columns = self._state.program.relations[name].columns
            relation = self._state.relations[name]
            found += [
                IndexProfile(
                    name,
                    [columns[place].name for place in index.key],
                    index.rows_indexed,
                    index.nbytes,
                    self._seconds_of.get(id(index), 0.0),
                )
                for index in relation.all_indexes()
            ]
        return found
