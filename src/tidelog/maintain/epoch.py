"""One epoch: every stratum in order, each advanced in the way that costs least.

A kernel follows small changes, stratum after stratum. It stops where a stratum is not plain or the change
is not small; there the stratum itself decides and does the work, and the kernel continues after it. Either
every stratum reaches the new epoch or the whole epoch is undone.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import Action, MaintenanceSettings, Strategy, StratumReport
from tidelog.engine.local.by_row.layout import ASKS, CALLER, FORCED, KERNEL, OVER_BUDGET
from tidelog.maintain.clock import NO_DEADLINE, OutOfTime, deadline_after
from tidelog.maintain.decide import (
    ASKED_FOR,
    NO_RULES_REASON,
    UNTOUCHED,
    Decision,
    decide_rules,
    give_up,
    update_reason,
)
from tidelog.maintain.epoch_marks import EpochMarks
from tidelog.maintain.learned import Learned
from tidelog.maintain.prices import Float64s, Stopwatch, work_budgets
from tidelog.maintain.row_delta import RowDelta, changed_rows
from tidelog.maintain.rule_change import NO_RULE_CHANGE, RuleChange
from tidelog.maintain.small.epoch import SmallEpochs, SmallOutcome
from tidelog.maintain.strata import KeptStratum, PlainStratum, ProjectionStratum, keep_strata
from tidelog.maintain.strategies.counting import IterationCounts
from tidelog.maintain.trace import WORTH_A_TRACE
from tidelog.program.nodes import Program
from tidelog.values.image import ArrayOf

if TYPE_CHECKING:
    from tidelog.maintain.engine import LocalMaintainedEngine
    from tidelog.storage.kernel import Int64s

NO_RULE_CHANGES: Mapping[int, RuleChange | None] = {}


@dataclass
class Maintainer:
    """Runs epochs over the strata of one program; `learned` is what they cost, stratum by stratum."""

    program: Program
    engine: "LocalMaintainedEngine"
    learned: Sequence[Learned]
    marks: dict[str, EpochMarks] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._strata = keep_strata(self.program, self.engine, self.marks_of, self.learned)
        plain = PlainStratum, ProjectionStratum
        self._is_plain = np.array([isinstance(kept, plain) for kept in self._strata], np.bool_)
        self._has_rules = np.array([bool(kept.rules) for kept in self._strata], np.bool_)
        self._handlers: dict[tuple[Strategy, bool], Int64s] = {}
        self._untouched: dict[Strategy, list[StratumReport]] = {}
        # Strata with a trace, and those that the kernel did not advance in this epoch.
        self._traced: set[int] = set()
        # What the update of an epoch that goes by the clock may take.
        self.deadline = NO_DEADLINE
        self._advanced: list[KeptStratum] = []
        self.small = SmallEpochs(self._strata, self.engine, self.marks_of)

    def run(
        self,
        inputs: Mapping[str, RowDelta],
        settings: MaintenanceSettings,
        rewritten: Mapping[int, RuleChange | None] = NO_RULE_CHANGES,
    ) -> tuple[dict[str, RowDelta], tuple[StratumReport, ...]]:
        """Advance all strata to the new epoch; return what changed. The caller commits or undoes.

        `rewritten` has the strata, by number, whose rules changed; one with None is recomputed.
        """
        if not settings.by_clock or settings.strategy is Strategy.RECOMPUTE:
            return self._run(inputs, settings, rewritten)
        self.deadline = deadline = deadline_after(settings.switch, self.learned)
        try:
            return self._run(inputs, settings, rewritten)
        except OutOfTime:
            reason = f"the update was given up after {deadline.watch.seconds:.3f} s; {deadline}"
        finally:
            self.deadline = NO_DEADLINE
        self.engine.go_back()
        again = replace(settings, strategy=Strategy.RECOMPUTE)
        found, reports = self._run(inputs, again, dict.fromkeys(rewritten))
        return found, tuple(
            replace(each, reason=reason) if each.reason == ASKED_FOR else each for each in reports
        )

    def _run(
        self,
        inputs: Mapping[str, RowDelta],
        settings: MaintenanceSettings,
        rewritten: Mapping[int, RuleChange | None],
    ) -> tuple[dict[str, RowDelta], tuple[StratumReport, ...]]:
        epoch = _Epoch(inputs, settings, rewritten, self._reports(settings.strategy))
        self._begin(epoch)
        number, is_decided = 0, False
        while True:
            watch = Stopwatch()
            status, stopped = self.small.advance(number, is_decided=is_decided)
            self._take_outcomes(epoch, number, stopped, watch)
            if stopped == len(self._strata):
                return epoch.changes, tuple(epoch.reports)
            if stopped != number:
                epoch.decision = None
            is_decided = self._advance(epoch, stopped, status)
            number = stopped
            if not is_decided:
                number += 1
                epoch.decision = None

    def commit(self) -> None:
        """Forget the old epoch."""
        self.small.commit()
        for kept in self._advanced:
            kept.commit()
            for name in kept.stratum.relations:
                self.marks_of(name).commit()
        self._advanced = []

    def undo(self) -> None:
        """Go back to the old epoch in all relations that were updated in place."""
        self.small.undo()
        for kept in self._advanced:
            kept.undo()
        self._advanced = []
        for marks in self.marks.values():
            marks.undo()

    def forget_rows(self, moved: Iterable[str]) -> None:
        """Drop what was kept about the rows of relations that were compacted."""
        for name in moved:
            self.marks.pop(name, None)

    def kept_stratum(self, number: int) -> KeptStratum:
        """Return a stratum as it is kept."""
        return self._strata[number]

    def work(self) -> tuple[int, ...]:
        """Return how many derivations it takes to evaluate each stratum from scratch."""
        return tuple(learned.recompute_work for learned in self.learned)

    def lay_out(self) -> None:
        """Build the tables and indexes that small epochs need, ahead of the first one."""
        for number in np.flatnonzero(self._is_plain).tolist():
            if self.small.lay_out(number):
                self.learned[number].is_indexed = True

    def read_image(self, about: Mapping[str, Any], array_of: ArrayOf) -> None:
        """Lay strata out as an image of `small` has them."""
        for number in self.small.read_image(about, array_of):
            self.learned[number].is_indexed = True

    def keep_counts(self, counted: Mapping[str, Mapping[str, IterationCounts]]) -> None:
        """Keep the dense states that evaluation has counted, by the first relation of their strata."""
        for kept in self._strata:
            name = kept.stratum.relations[0]
            if isinstance(kept, PlainStratum) and name in counted:
                kept.keep_counts(counted[name])

    def marks_of(self, name: str) -> EpochMarks:
        """Return the marks of a relation."""
        marks = self.marks.get(name)
        if marks is None:
            marks = self.marks[name] = EpochMarks(self.engine.relations[name])
        return marks

    # --- strata that the kernel leaves ----------------------------------------------------------

    def _advance(self, epoch: "_Epoch", number: int, status: int) -> bool:
        """Advance the stratum the kernel stopped at; return True if the kernel is to do it instead."""
        start = time.perf_counter()
        kept, rewritten = self._strata[number], epoch.rewritten
        stratum = kept.stratum
        own, earlier = epoch.reaching(kept, rewritten.get(number) or NO_RULE_CHANGE)
        self.engine.give_numbers(stratum, {name: change.inserted for name, change in epoch.changes.items()})
        rows = changed_rows(own, earlier)
        if number in rewritten:
            decision = decide_rules(rewritten[number], kept.learned, epoch.settings)
        elif epoch.decision is not None:
            decision = epoch.decision
        else:
            decision = kept.decide(own, earlier, epoch.settings)
            is_update = decision.is_update and decision.strategy is Strategy.UPDATE
            if status == ASKS and is_update and self._is_plain[number] and self.small.takes(number, rows):
                epoch.decision = decision
                kept.learned.is_indexed = True
                return True
        spent = 0
        if status == OVER_BUDGET:
            spent = self.small.work(number)
            kept.learned.learn_failure(rows, spent, is_growing=decision.is_growing)
            decision = give_up(decision, spent)
        self.deadline.check()
        self._advanced.append(kept)
        outcome = kept.advance(own, earlier, decision)
        (self._traced.add if kept.has_trace else self._traced.discard)(number)
        self.engine.check_keys(stratum, None if number in rewritten else outcome.changes)
        epoch.changes.update(outcome.changes)
        is_recomputed = outcome.decision.action is Action.RECOMPUTED
        self.small.note(number, outcome.changes, is_recomputed=is_recomputed)
        epoch.reports[number] = outcome.decision.report(
            stratum.relations, spent + outcome.work, time.perf_counter() - start
        )
        return False

    # --- strata that the kernel does ------------------------------------------------------------

    def _begin(self, epoch: "_Epoch") -> None:
        """Tell the kernel what changes, and what it may do to which strata without asking."""
        settings, rewritten = epoch.settings, epoch.rewritten
        is_auto = settings.strategy is Strategy.AUTO
        how = settings.strategy, settings.by_clock
        handlers = self._handlers.get(how)
        if handlers is None:
            # The kernel has no clock.
            is_asked = (is_auto or settings.strategy is Strategy.UPDATE) and not settings.by_clock
            handlers = np.where(self._is_plain & (is_asked | ~self._has_rules), KERNEL, CALLER)
            self._handlers[how] = handlers
        if self._traced or rewritten:
            handlers = handlers.copy()
            handlers[list(self._traced)] = CALLER
            handlers[list(rewritten)] = FORCED
        budgets, rates = np.full(handlers.size, np.inf), np.zeros(handlers.size)
        if is_auto:
            budgets = work_budgets(settings.switch, np.array([x.unit for x in self.learned]))
            budgets[~self._has_rules] = np.inf
            rates[:] = [x.work_per_row for x in self.learned]
        epoch.budgets = budgets
        self.small.begin(epoch.inputs, handlers, budgets, rates, WORTH_A_TRACE if is_auto else np.inf)

    def _take_outcomes(self, epoch: "_Epoch", first: int, last: int, watch: Stopwatch) -> None:
        """Take over what the kernel did to a range of strata."""
        outcomes = list(self.small.outcomes(first, last))
        if not outcomes:
            return
        epoch.changes.update(self.small.changes(first, last))
        # Strata done together share the time by their work.
        share = watch.wall / (sum(outcome.work for outcome in outcomes) + len(outcomes))
        worked = watch.share
        for outcome in outcomes:
            number = outcome.stratum
            kept = self._strata[number]
            taken = share * (outcome.work + 1)
            if number == first and epoch.decision is not None:
                relations = kept.stratum.relations
                epoch.reports[number] = epoch.decision.report(relations, outcome.work, taken)
            else:
                epoch.reports[number] = self._report(kept, outcome, epoch, taken)
            if kept.has_keys:
                self.engine.check_keys(kept.stratum, epoch.changes)
            if outcome.level:
                self.engine.check_level(kept.stratum, outcome.level)
            kept.learned.learn(outcome.rows, outcome.work, worked * taken, is_growing=outcome.is_growing)
            kept.forget()
            self._traced.discard(number)
        self.engine.check_level(self.program.strata[first], 0)

    def _report(
        self, kept: KeptStratum, outcome: SmallOutcome, epoch: "_Epoch", seconds: float
    ) -> StratumReport:
        """Return what the kernel did to a stratum by itself; an epoch of an edit has dozens of these."""
        relations, work = kept.stratum.relations, outcome.work
        if not kept.rules:
            return StratumReport(
                relations, Action.UPDATED, Strategy.UPDATE, NO_RULES_REASON, 0, work, seconds
            )
        strategy, number = epoch.settings.strategy, outcome.stratum
        action, reason = update_reason(outcome.rows, strategy, is_growing=outcome.is_growing)
        predicted = int(outcome.rows * kept.learned.work_per_row) if strategy is Strategy.AUTO else 0
        budget = float(epoch.budgets[number])
        return StratumReport(relations, action, Strategy.UPDATE, reason, predicted, work, seconds, budget)

    def _reports(self, strategy: Strategy) -> list[StratumReport]:
        """Return what is reported of an epoch in which nothing changes."""
        if strategy not in self._untouched:
            self._untouched[strategy] = [
                StratumReport(stratum.relations, Action.SKIPPED, strategy, UNTOUCHED, 0, 0, 0.0)
                for stratum in self.program.strata
            ]
        return list(self._untouched[strategy])


@dataclass
class _Epoch:
    """An epoch in progress; `decision` is the one about the stratum the kernel last stopped at."""

    inputs: Mapping[str, RowDelta]
    settings: MaintenanceSettings
    rewritten: Mapping[int, RuleChange | None]
    reports: list[StratumReport]
    changes: dict[str, RowDelta] = field(default_factory=dict)
    decision: Decision | None = None
    budgets: Float64s = field(init=False)

    def reaching(
        self, kept: KeptStratum, rules: RuleChange
    ) -> tuple[dict[str, RowDelta], dict[str, RowDelta]]:
        """Return the changes of a stratum's own input facts, and those of the earlier strata it reads."""
        names = kept.stratum.relations
        read = kept.read | rules.relations_read_before(names) if rules.deleted else kept.read
        own = {name: self.inputs[name] for name in names if name in self.inputs}
        return own, {name: self.changes[name] for name in read if name in self.changes}
