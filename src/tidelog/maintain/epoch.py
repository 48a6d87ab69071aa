"""One epoch: every stratum in order, each brought to the new facts in the way that costs least.

    skipped      nothing it reads changed
    extended     only insertions through positive atoms: derivation goes on from where it stopped
    updated      levels and counts are maintained, see `maintain.update`
    recomputed   evaluated from nothing and compared

A stratum is recomputed when its rules cannot be followed, when the change is predicted to cost
more than the allowed share of that, or when an update turns out to. Either every stratum arrives or
the whole epoch is undone.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np

from tidelog.engine.epoch import Action, MaintenanceSettings, Strategy, StratumReport
from tidelog.engine.local.state import LocalState
from tidelog.maintain.dense import IterationCounts, count_iterations
from tidelog.maintain.derivations import Derivations
from tidelog.maintain.group_keeper import GroupKeeper
from tidelog.maintain.labels import RelationLabels
from tidelog.maintain.monotone import MonotoneUpdate
from tidelog.maintain.path_keeper import PathKeeper
from tidelog.maintain.row_change import RowChange, changed_rows, net_deleted
from tidelog.maintain.rule_change import NO_RULE_CHANGE, RuleChange
from tidelog.maintain.small.epoch import EpochLimits, SmallEpochs, SmallOutcome
from tidelog.maintain.small.layout import ASKS, CALLER, FORCED, KERNEL, OVER_BUDGET
from tidelog.maintain.small.stratum import SmallStratum
from tidelog.maintain.trace import WORTH_A_TRACE, TraceKeeper
from tidelog.maintain.update import OverBudget, StratumUpdate
from tidelog.maintain.work import LARGE_SHARE_RECURSIVE, Learned, surviving_share, update_budget
from tidelog.plan.maintenance import MaintainedRule, maintained_rule, reason_to_recompute
from tidelog.plan.own_rules import own_forms
from tidelog.program.nodes import Program, Stratum
from tidelog.program.walk_nodes import earlier_relations
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.paths import Unsuitable

NO_RULE_CHANGES: Mapping[int, RuleChange | None] = {}
_UNTOUCHED = "nothing it reads changed"
_NO_RULES = "it has no rules"
_LOST_GROUPS = "its aggregate failed in an epoch that was taken back"
_GROWING = "only insertions through positive atoms"


class EpochEngine(Protocol):
    """What an engine offers to an epoch."""

    @property
    def relations(self) -> Mapping[str, StoredRelation]:
        """Return the stored relations by name."""

    @property
    def derivations(self) -> Derivations:
        """Return what enumerates derivations."""

    @property
    def groups(self) -> GroupKeeper:
        """Return the aggregates that have a relation."""

    @property
    def state(self) -> LocalState:
        """Return the relations and what is seen of them."""

    @property
    def paths(self) -> PathKeeper:
        """Return the lattice strata that are kept as graphs."""

    def given_rows(self, name: str, numbers: Int64s) -> CodeArray:
        """Return input facts of a relation with a law of its own, by their numbers in a `RowChange`."""

    def give_numbers(self, stratum: Stratum, rows: Mapping[str, Int64s] | None = None) -> None:
        """Give numbers to the derivations that a stratum's rules count, which are among these rows."""

    def check_keys(self, stratum: Stratum, changes: Mapping[str, RowChange] | None) -> None:
        """Raise if a relation with `keys` has two facts for a key after these changes (None: any)."""

    def check_level(self, stratum: Stratum, level: int) -> None:
        """Raise if a stratum goes on for more iterations than the user allows, or takes too much memory."""

    def recompute(
        self, stratum: Stratum, inputs: Mapping[str, RowChange], lower: Mapping[str, RowChange]
    ) -> tuple[dict[str, RowChange], int]:
        """Evaluate a stratum from nothing; return what changed and the derivations it took."""


@dataclass
class Maintainer:
    """Runs epochs over the strata of one program and remembers what they cost."""

    program: Program
    engine: EpochEngine
    stratum_work: Sequence[int]
    labels: dict[str, RelationLabels] = field(default_factory=dict)

    def __post_init__(self) -> None:
        strata = self.program.strata
        self.learned = [Learned(work) for work in self.stratum_work]
        self._dense: dict[int, Mapping[str, IterationCounts]] = {}
        self._rules: list[tuple[MaintainedRule, ...]] = [
            tuple(maintained_rule(rule, self.program) for rule in stratum.rules) for stratum in strata
        ]
        self._has_rules = np.array([bool(rules) for rules in self._rules], np.bool_)
        self._reasons = [reason_to_recompute(stratum, self.program) for stratum in strata]
        # Plain strata are followed derivation by derivation.
        self._is_plain = np.array([
            reason is None and stratum.relations[0] not in self.engine.groups.aggregates
            for stratum, reason in zip(strata, self._reasons, strict=True)
        ], np.bool_)  # fmt: skip
        first_id = 4 * (1 + max((rule.id for rule in self.program.rules), default=0))
        self._own_forms = [
            own_forms(stratum, self.program, first_id + 4096 * number) if self._reasons[number] else None
            for number, stratum in enumerate(strata)
        ]
        self._read = [earlier_relations(stratum) for stratum in strata]
        self._keyed = frozenset(
            number for number, stratum in enumerate(strata)
            if any(self.program.relations[name].keys for name in stratum.relations)
        )  # fmt: skip
        self._traces: dict[int, TraceKeeper] = {}
        self._who: dict[Strategy, Int64s] = {}
        self._untouched: dict[Strategy, list[StratumReport]] = {}
        # Relations of this epoch that were not brought there by the kernel of small epochs.
        self._at_large: set[str] = set()
        self._small = SmallEpochs(
            strata, self._rules, self._read, lambda: self.engine.relations,
            lambda: self.engine.derivations, self.label,
        )  # fmt: skip

    def run(
        self,
        inputs: Mapping[str, RowChange],
        settings: MaintenanceSettings,
        rewritten: Mapping[int, RuleChange | None] = NO_RULE_CHANGES,
    ) -> tuple[dict[str, RowChange], tuple[StratumReport, ...]]:
        """Bring all strata to the new epoch; return what changed. The caller commits or undoes.

        Strata numbered in `rewritten` have other rules than before; with None they are recomputed. The
        kernel of small epochs goes through the strata and stops at those that it cannot or should not do.
        """
        epoch = _Epoch(inputs, settings, rewritten, self._reports(settings.strategy))
        self._small.begin(inputs, self._limits(settings, rewritten))
        number, is_decided = 0, False
        while True:
            start = time.perf_counter()
            status, stopped = self._small.advance(number, is_decided=is_decided)
            self._take_outcomes(epoch, number, stopped, time.perf_counter() - start)
            if stopped == len(self.program.strata):
                return epoch.changes, tuple(epoch.reports)
            if stopped != number:
                epoch.decision = None
            is_decided = self._bring(epoch, stopped, status)
            number = stopped
            if not is_decided:
                number += 1
                epoch.decision = None

    def _reports(self, strategy: Strategy) -> list[StratumReport]:
        """Return what is said of an epoch in which nothing changes."""
        if strategy not in self._untouched:
            self._untouched[strategy] = [
                StratumReport(stratum.relations, Action.SKIPPED, strategy, _UNTOUCHED, 0, 0, 0.0)
                for stratum in self.program.strata
            ]
        return list(self._untouched[strategy])

    def _limits(
        self, settings: MaintenanceSettings, rewritten: Mapping[int, RuleChange | None]
    ) -> EpochLimits:
        """Return what the kernel may do to which strata without asking."""
        is_auto = settings.strategy is Strategy.AUTO
        who = self._who.get(settings.strategy)
        if who is None:
            is_asked = is_auto or settings.strategy is Strategy.UPDATE
            who = np.where(self._is_plain & (is_asked | ~self._has_rules), KERNEL, CALLER)
            self._who[settings.strategy] = who
        if self._traces or rewritten:
            who = who.copy()
            who[[number for number, keeper in self._traces.items() if keeper.traces is not None]] = CALLER
            who[list(rewritten)] = FORCED
        if not is_auto:
            return EpochLimits(who, np.full(who.size, np.inf), np.zeros(who.size), np.inf)
        budgets = np.array(
            [update_budget(settings.switch, x.recompute_work) for x in self.learned], np.float64
        )
        budgets[~self._has_rules] = np.inf
        rates = np.array([x.work_per_row for x in self.learned], np.float64)
        return EpochLimits(who, budgets, rates, WORTH_A_TRACE)

    def _take_outcomes(self, epoch: "_Epoch", first: int, last: int, seconds: float) -> None:
        """Take over what the kernel did to a range of strata."""
        outcomes = list(self._small.outcomes(first, last))
        if not outcomes:
            return
        epoch.changes.update(self._small.changes(first, last))
        # Strata done together share the time by their work.
        share = seconds / (sum(outcome.work for outcome in outcomes) + len(outcomes))
        for outcome in outcomes:
            number = outcome.stratum
            decision = epoch.decision if number == first else None
            epoch.reports[number] = self._report(
                outcome, decision, epoch.settings.strategy, share * (outcome.work + 1)
            )
            if number in self._keyed:
                self.engine.check_keys(self.program.strata[number], epoch.changes)
            if outcome.level:
                self.engine.check_level(self.program.strata[number], outcome.level)
            self.learned[number].learn(outcome.rows, outcome.work)
            self._dense.pop(number, None)
            if number in self._traces:
                self._traces[number].drop()
        self.engine.check_level(self.program.strata[first], 0)

    def _report(
        self, outcome: SmallOutcome, decision: "_Decision | None", strategy: Strategy, seconds: float
    ) -> StratumReport:
        """Return what the kernel did to a stratum, in words."""
        number = outcome.stratum
        if decision is None and not self._has_rules[number]:
            decision = _Decision(Action.UPDATED, Strategy.UPDATE, _NO_RULES)
        elif decision is None:
            predicted = 0.0
            how = _GROWING if outcome.is_growing else f"{outcome.rows:,} changed facts reach it"
            if strategy is Strategy.AUTO:
                predicted = outcome.rows * self.learned[number].work_per_row
            else:
                how = f"{how}; {strategy.value} was asked for"
            action = Action.EXTENDED if outcome.is_growing else Action.UPDATED
            decision = _Decision(action, Strategy.UPDATE, how, predicted)
        return StratumReport(
            self.program.strata[number].relations, decision.action, decision.strategy, decision.reason,
            int(decision.predicted), outcome.work, seconds,
        )  # fmt: skip

    def _bring(self, epoch: "_Epoch", number: int, status: int) -> bool:
        """Bring the stratum to the new epoch at which the kernel stopped; True if the kernel is to do it."""
        start = time.perf_counter()
        stratum, rewritten = self.program.strata[number], epoch.rewritten
        own = {name: epoch.inputs[name] for name in stratum.relations if name in epoch.inputs}
        rules = rewritten.get(number) or NO_RULE_CHANGE
        read = self._read[number]
        if rules.deleted:
            read |= rules.relations_read_before(stratum.relations)
        lower = {name: epoch.changes[name] for name in read if name in epoch.changes}
        self.engine.give_numbers(stratum, {name: change.inserted for name, change in epoch.changes.items()})
        rows = changed_rows(own, lower)
        if number in rewritten:
            decision = self._decide_rules(number, rewritten[number], epoch.settings)
        elif epoch.decision is not None:
            decision = epoch.decision
        else:
            decision = self._decide(number, own, lower, epoch.settings)
            is_update = decision.strategy is Strategy.UPDATE and decision.action is not Action.RECOMPUTED
            if status == ASKS and is_update and self._is_plain[number] and self._small.takes(number, rows):
                epoch.decision = decision
                self.learned[number].is_indexed = True
                return True
        if status == OVER_BUDGET:
            decision = self._give_up(number, rows, self._small.work(number), decision)
        followed = self._follow(number, stratum, own, lower, decision)
        found, decision, work = followed or self._carry_out(number, stratum, own, lower, decision)
        if status == OVER_BUDGET:
            work += self._small.work(number)
        self.engine.check_keys(stratum, None if number in rewritten else found)
        epoch.changes.update(found)
        self._at_large.update(stratum.relations)
        self._small.note(number, found, is_recomputed=decision.action is Action.RECOMPUTED)
        epoch.reports[number] = StratumReport(
            stratum.relations, decision.action, decision.strategy, decision.reason,
            int(decision.predicted), work, time.perf_counter() - start,
        )  # fmt: skip
        return False

    def label(self, name: str) -> RelationLabels:
        """Return the labels of a relation, made anew if the relation was replaced."""
        relation = self.engine.relations[name]
        labels = self.labels.get(name)
        if labels is None or labels.relation is not relation:
            labels = RelationLabels(relation)
            self.labels[name] = labels
        return labels

    def commit(self, changes: Mapping[str, RowChange]) -> None:
        """Forget the old epoch."""
        self._small.commit()
        for name in self._at_large:
            relation = self.engine.relations[name]
            rows = self.label(name).touched()
            if not rows.size and name not in changes:
                continue
            if not rows.size:
                # A recomputed relation was not touched row by row.
                rows = np.concatenate([changes[name].deleted, changes[name].inserted])
            relation.previous[rows] = relation.levels[rows]
            if rows.size:
                relation.hide_absent_rows(rows)
            self.labels[name].forget()
        self._at_large = set()
        for keeper in self._traces.values():
            keeper.commit()

    def undo(self) -> None:
        """Go back to the old epoch in all relations that were updated in place."""
        self._dense = {}
        self._small.undo()
        self._at_large = set()
        for keeper in self._traces.values():
            keeper.undo()
        for name, labels in self.labels.items():
            if labels.relation is self.engine.relations[name]:
                labels.undo()

    def work(self) -> tuple[int, ...]:
        """Return the derivations that evaluating each stratum from nothing takes."""
        return tuple(learned.recompute_work for learned in self.learned)

    # --- one stratum ----------------------------------------------------------------------------

    def _decide_rules(
        self, number: int, rules: RuleChange | None, settings: MaintenanceSettings
    ) -> "_Decision":
        """Follow a change of rules derivation by derivation if that is possible and allowed."""
        if rules is None or settings.strategy is Strategy.RECOMPUTE:
            return _Decision(Action.RECOMPUTED, Strategy.RECOMPUTE, "its rules changed")
        budget = float("inf")
        if settings.strategy is Strategy.AUTO:
            work = self.learned[number].recompute_work
            budget = update_budget(settings.switch, work)
        return _Decision(Action.UPDATED, Strategy.UPDATE, str(rules), budget=budget, rules=rules)

    def _decide(
        self,
        number: int,
        own: Mapping[str, RowChange],
        lower: Mapping[str, RowChange],
        settings: MaintenanceSettings,
    ) -> "_Decision":
        rows = changed_rows(own, lower)
        if not rows:
            return _Decision(Action.SKIPPED, settings.strategy, _UNTOUCHED)
        strategy = settings.strategy
        if not self._has_groups(number):
            return _Decision(Action.RECOMPUTED, Strategy.RECOMPUTE, _LOST_GROUPS)
        if self._reasons[number] is not None and not self._is_followed(number):
            return _Decision(Action.RECOMPUTED, Strategy.RECOMPUTE, f"{self._reasons[number]}")
        if not self._rules[number]:
            return _Decision(Action.UPDATED, Strategy.UPDATE, "it has no rules")
        if strategy is Strategy.RECOMPUTE:
            return _Decision(Action.RECOMPUTED, strategy, "recomputing was asked for")
        is_growing = self._is_growing(number, own, lower)
        action = Action.EXTENDED if is_growing else Action.UPDATED
        how = f"{rows:,} changed facts reach it"
        if is_growing:
            how = "only insertions through positive atoms"
        if strategy is Strategy.TRACE:
            keeper = self._trace(number)
            done = Strategy.TRACE if keeper.applies() else Strategy.UPDATE
            return _Decision(action, done, f"{how}; trace was asked for: {keeper.explain()}")
        if strategy is not Strategy.AUTO:
            return _Decision(action, strategy, f"{how}; {strategy.value} was asked for")
        return self._decide_by_cost(number, own, lower, settings.switch, _Decision(action, strategy, how))

    def _decide_by_cost(
        self, number: int, own: Mapping[str, RowChange], lower: Mapping[str, RowChange], switch: float,
        update: "_Decision",
    ) -> "_Decision":  # fmt: skip
        """Follow a change under a budget, or recompute if that is predicted to cost less."""
        rows = changed_rows(own, lower)
        learned = self.learned[number]
        predicted = rows * learned.work_per_row
        share = rows / self._rows_read(number, own)
        expected = self._expected_recompute(number, own, lower)
        budget = update_budget(switch, expected)
        update = replace(update, strategy=Strategy.UPDATE, predicted=predicted, budget=budget)
        if learned.goes_without_indexes(
            share, expected, is_recursive=self.program.strata[number].is_recursive
        ):
            against = "so many that indexes to follow them would cost more than they save"
        elif predicted > budget:
            against = (
                f"predicted to take {predicted:,.0f} derivations, "
                f"more than the {budget:,.0f} allowed beside the {expected:,.0f} of a recompute"
            )
        else:
            advice = None
            if share <= LARGE_SHARE_RECURSIVE:
                advice = self._trace(number).advise(rows, predicted, learned.recompute_work)
            if advice is None:
                return update
            return replace(update, strategy=Strategy.TRACE, reason=f"{update.reason}; {advice}")
        return _Decision(Action.RECOMPUTED, Strategy.RECOMPUTE, f"{update.reason}, {against}", predicted)

    def _expected_recompute(
        self, number: int, own: Mapping[str, RowChange], lower: Mapping[str, RowChange]
    ) -> float:
        """Return what recomputing a stratum after a change is expected to take: less if much is deleted."""
        learned = self.learned[number]
        net = net_deleted(own, lower)
        if net <= 0:
            return float(learned.recompute_work)
        stratum = self.program.strata[number].relations
        relations = [self.engine.relations[name] for name in stratum]
        survives = surviving_share(relations, net / self._rows_read(number, own))
        return min(learned.expected_recompute(net), learned.recompute_work * survives)

    def _rows_read(self, number: int, own: Mapping[str, RowChange]) -> int:
        """Return the rows that a stratum reads, with those of relations whose input facts change."""
        return max(1, sum(self.engine.relations[name].count for name in {*own, *self._read[number]}))

    def _is_growing(self, number: int, own: Mapping[str, RowChange], lower: Mapping[str, RowChange]) -> bool:
        """Say whether nothing can be lost: no deletion at a positive atom, no insertion at a negated one."""
        if self._reasons[number] is not None or any(change.deleted.size for change in own.values()):
            # Where facts are joined or aggregated, one takes the place of another.
            return False
        for rule in self._rules[number]:
            for literal in rule.literals:
                change = lower.get(literal.relation)
                if change is not None and (change.inserted if literal.is_negated else change.deleted).size:
                    return False
        return True

    def _carry_out(
        self, number: int, stratum: Stratum, own: Mapping[str, RowChange], lower: Mapping[str, RowChange],
        decision: "_Decision",
    ) -> tuple[dict[str, RowChange], "_Decision", int]:  # fmt: skip
        if decision.action is Action.SKIPPED:
            return {}, decision, 0
        if decision.strategy is not Strategy.TRACE and number in self._traces:
            self._traces[number].drop()
        learned = self.learned[number]
        spent = 0
        if decision.action is not Action.RECOMPUTED:
            learned.is_indexed = True
            update, decision = self._prepare(number, stratum, lower, decision)
            rows = changed_rows(own, lower)
            try:
                changes = update.run(own)
            except OverBudget:
                for label in update.labels.values():
                    label.undo()
                spent = update.work
                decision = self._give_up(number, rows, spent, decision)
            else:
                (learned if update.traces is None else self._trace(number)).learn(rows, update.work)
                if update.dense is not None:
                    # Kept only from here on: a failed epoch leaves it half changed.
                    self._dense[number] = update.dense
                return changes, decision, update.work
        self._dense.pop(number, None)
        changes, work = self.engine.recompute(stratum, own, lower)
        learned.learn_recompute(net_deleted(own, lower), work)
        return changes, decision, spent + work

    def _give_up(self, number: int, rows: int, spent: int, decision: "_Decision") -> "_Decision":
        """Return the decision to recompute after an update that did too much."""
        self.learned[number].learn(rows, spent)
        reason = f"the update was given up after {spent:,} derivations; {decision.budget:,.0f} are allowed"
        return _Decision(Action.RECOMPUTED, Strategy.RECOMPUTE, reason, decision.predicted)

    def _prepare(
        self, number: int, stratum: Stratum, lower: Mapping[str, RowChange], decision: "_Decision"
    ) -> tuple[StratumUpdate, "_Decision"]:
        """Return the update of a stratum, and the decision with what preparing it has to say."""
        dense = self._dense.pop(number, None)
        if decision.strategy is not Strategy.COUNTING:
            dense = None
        elif dense is None:
            dense = self._count(number, stratum, lower)
        traces, steps = None, 0
        if decision.strategy is Strategy.TRACE:
            keeper = self._trace(number)
            traces, steps = keeper.follow(self.engine.derivations.traces, lower)
            decision = replace(decision, reason=f"{decision.reason}; {keeper.said}")
        update = StratumUpdate(
            self._rules[number], self.engine.relations,
            {name: self.label(name) for name in stratum.relations}, lower, self.engine.derivations,
            decision.budget, decision.strategy, dense, partial(self.engine.check_level, stratum), traces,
            steps, decision.rules,
        )  # fmt: skip
        return update, decision

    def _trace(self, number: int) -> TraceKeeper:
        """Return the keeper of a stratum's traces."""
        if number not in self._traces:
            self._traces[number] = TraceKeeper(self.program.strata[number], self._rules[number], self.program)
        return self._traces[number]

    def _has_groups(self, number: int) -> bool:
        """Say whether a stratum that is an aggregate's has its groups."""
        name, groups = self.program.strata[number].relations[0], self.engine.groups
        return name not in groups.aggregates or groups.follows(name)

    def _is_followed(self, number: int) -> bool:
        """Say whether a stratum whose rules cannot be followed one by one is followed as a whole."""
        return self._own_forms[number] is not None or self.engine.paths.follows(self.program.strata[number])

    def _follow(
        self, number: int, stratum: Stratum, own: Mapping[str, RowChange], lower: Mapping[str, RowChange],
        decision: "_Decision",
    ) -> tuple[dict[str, RowChange], "_Decision", int] | None:  # fmt: skip
        """Follow a stratum that is an aggregate's or a graph, None if it is neither."""
        engine = self.engine
        if decision.action in {Action.SKIPPED, Action.RECOMPUTED}:
            return None
        if stratum.relations[0] in engine.groups.aggregates:
            changes, work = engine.groups.follow(self._rules[number], lower, engine.derivations, self.label)
            return changes, decision, work
        forms = self._own_forms[number]
        if forms is not None:
            labels = {name: self.label(name) for name in stratum.relations}
            before = engine.derivations.work
            monotone = MonotoneUpdate(
                forms, engine.state, labels, lower, engine.derivations, partial(engine.check_level, stratum)
            )
            return monotone.run(own), decision, engine.derivations.work - before
        if not engine.paths.follows(stratum):
            return None
        given = {name: _given(engine, name, change) for name, change in own.items()}
        try:
            changes, work = engine.paths.follow(stratum, given, lower, engine.derivations, self.label)
        except Unsuitable:
            decision = _Decision(Action.RECOMPUTED, Strategy.RECOMPUTE, "its values no longer go one way")
            return self._carry_out(number, stratum, own, lower, decision)
        return changes, decision, work

    def tables(self, number: int) -> SmallStratum | None:
        """Return a stratum as kernels take it on its own, None if its rules are beyond them."""
        return self._small.alone(number)

    def _count(
        self, number: int, stratum: Stratum, lower: Mapping[str, RowChange]
    ) -> dict[str, IterationCounts]:
        """Return the dense state of a stratum as it was before this epoch."""
        with _before(self.engine.relations, lower):
            return count_iterations(
                self._rules[number], self.engine.relations, stratum.relations, self.engine.derivations
            )


@contextmanager
def _before(relations: Mapping[str, StoredRelation], lower: Mapping[str, RowChange]) -> Iterator[None]:
    """Show the levels of the old epoch in relations that changed already."""
    for name in lower:
        relation = relations[name]
        relation.levels, relation.previous = relation.previous, relation.levels
    try:
        yield
    finally:
        for name in lower:
            relation = relations[name]
            relation.levels, relation.previous = relation.previous, relation.levels


@dataclass(frozen=True)
class _Decision:
    action: Action
    strategy: Strategy
    reason: str
    predicted: float = 0.0
    budget: float = float("inf")
    rules: RuleChange = NO_RULE_CHANGE


@dataclass
class _Epoch:
    """One epoch under way; `decision` is that about the stratum at which the kernel stopped last."""

    inputs: Mapping[str, RowChange]
    settings: MaintenanceSettings
    rewritten: Mapping[int, RuleChange | None]
    reports: list[StratumReport]
    changes: dict[str, RowChange] = field(default_factory=dict)
    decision: _Decision | None = None


def _given(engine: EpochEngine, name: str, change: RowChange) -> tuple[CodeArray, Int64s]:
    """Return input facts that go and come, with their diffs."""
    rows = np.concatenate([engine.given_rows(name, change.deleted), engine.given_rows(name, change.inserted)])
    return rows, np.repeat(np.array([-1, 1]), [change.deleted.size, change.inserted.size])
