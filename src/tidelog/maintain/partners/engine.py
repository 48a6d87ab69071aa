"""One partner's share of a program's state, from evaluation through epochs.

All partners do the same steps with the same changes; what differs is which facts they keep.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.convergence import check_iterations, iterations_to
from tidelog.engine.epoch import Action, MaintenanceSettings, Strategy, StratumReport
from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.statistics import StateStatistics
from tidelog.engine.protocol import Settings, SilentObserver, StratumStatistics, UserFunctions
from tidelog.engine.spark.agreement import Agreement, SharedCodec
from tidelog.engine.spark.codes import Known, WorkerCodec
from tidelog.engine.spark.ownership import is_kept, owned_rows, where_kept
from tidelog.engine.spark.partner import PartnerContext, PartnerRun
from tidelog.engine.spark.placement import reason_for_values
from tidelog.engine.spark.wire import Wire, most, total
from tidelog.maintain.aggregates import GroupedAggregate
from tidelog.maintain.decide import UNTOUCHED, Decision, Situation, decide, decide_rules, give_up
from tidelog.maintain.epoch_marks import EpochMarks
from tidelog.maintain.heads import OverBudget, WorkMeter
from tidelog.maintain.judge import EpochJudge
from tidelog.maintain.learned import Learned
from tidelog.maintain.partners.departed import Departed, with_departed
from tidelog.maintain.partners.group_keeper import PartnerGroupKeeper
from tidelog.maintain.partners.heads import PartnerHeads
from tidelog.maintain.partners.inputs_apart import Apart, relations_below
from tidelog.maintain.partners.keys import PartnerKeys
from tidelog.maintain.partners.parcels import Outbox
from tidelog.maintain.partners.session_routes import Dividing, routes_of
from tidelog.maintain.prices import FREE_WORK
from tidelog.maintain.recompute import Recomputed
from tidelog.maintain.row_delta import NO_DELTA, NO_ROWS, RowDelta
from tidelog.maintain.rule_change import NO_RULE_CHANGE, RuleChange
from tidelog.maintain.strata import StratumOutcome
from tidelog.maintain.sweeps import Sweeps
from tidelog.maintain.work import evaluation_work, stratum_work
from tidelog.plan.flatten import flatten_rule
from tidelog.plan.maintenance import reason_to_recompute
from tidelog.program.nodes import Program, Stratum
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int32s, Int64s

NONE_REWRITTEN: Final[Mapping[int, Collection[int] | None]] = {}


@dataclass(frozen=True)
class CodeDelta:
    """Facts to insert and to delete, as rows of codes.

    Where partners have only those that they keep, `all_sizes` has the numbers of all.
    """

    inserted: CodeArray
    deleted: CodeArray
    all_sizes: tuple[int, int] | None = None

    @property
    def sizes(self) -> tuple[int, int]:
        """Return how many facts all partners insert and delete."""
        return self.all_sizes or (len(self.inserted), len(self.deleted))


@dataclass(frozen=True, slots=True)
class _Reach:
    """How many changed rows reach a stratum, and by how many the deleted ones exceed the inserted.

    `sizes` has, for each relation, how many of its facts are inserted and deleted, wherever they are.
    """

    sizes: Mapping[str, tuple[int, int]]

    @property
    def rows(self) -> int:
        """Return how many rows change."""
        return sum(map(sum, self.sizes.values()))

    @property
    def net_deleted(self) -> int:
        """Return by how many the deleted rows exceed the inserted ones."""
        return sum(deleted - inserted for inserted, deleted in self.sizes.values())


class PartnerEngine:
    """What one partner keeps of a program.

    Strata in which a law decides are evaluated again when a change reaches them; `apart` has the relations of
    their input facts.
    """

    def __init__(  # noqa: PLR0913 - an engine is made of no less
        self, program: Program, known: Known, settings: Settings, wire: Wire, *, is_wide: bool,
        aggregates: Mapping[str, GroupedAggregate] | None = None, values: SharedCodec | None = None,
        functions: UserFunctions | None = None, dividing: Dividing | None = None, apart: Apart | None = None,
        heavy: tuple[int, ...] = (), departed: Departed | None = None,
    ) -> None:  # fmt: skip
        self.program = program
        self.wire = wire
        routed = with_departed(program, departed or {})
        # The strata that work on the values behind codes, and make new ones.
        self._makes_values = [
            values is not None and reason_for_values(stratum, routed) is not None for stratum in routed.strata
        ]
        self._apart = apart or {}
        spread = heavy if wire.partners > 1 else ()
        self.routes = routes_of(routed, dividing or {}, self._makes_values, self._apart, spread)
        self.route = {name: route for routes in self.routes for name, route in routes.relations.items()}
        self._settings = settings
        self.state = LocalState(program, counting=True, dtype=np.int64 if is_wide else np.int32)
        self.values = values
        self._codec = values or WorkerCodec(program.types, known)
        self._functions = functions or {}
        self._expressions = Expressions(program, self._codec, self._functions)
        self._derivations = LocalDerivations(self.state, self._expressions)
        self._marks: dict[str, EpochMarks] = {}
        self._recomputed = Recomputed(self.state)
        self._rules = [
            tuple(flatten_rule(rule, program) for rule in stratum.rules) for stratum in program.strata
        ]
        # What is taken back when the engine goes on from one of another program.
        self._departed = {
            number: tuple(flatten_rule(rule, routed) for rule in rules)
            for number, rules in (departed or {}).items()
        }
        self._read = [relations_below(stratum, self._apart) for stratum in program.strata]
        self.learned = [Learned() for _ in program.strata]
        # The relations of strata in which a law decides, which are never followed fact by fact.
        self._lawful = frozenset(
            name for each in program.strata if program.law_of(each) is not None for name in each.relations
        )
        self.groups = PartnerGroupKeeper(aggregates or {}, self.state, self._expressions, wire, self._agree)
        self.groups.routes = {
            stratum.relations[0]: routes for stratum, routes in zip(program.strata, self.routes, strict=True)
        }
        self._keys = PartnerKeys(self.state, wire, has_texts=values is not None)
        self._keys.evaluate_with(self._expressions)
        self._obstacles = [self._obstacle(stratum) for stratum in program.strata]

    # --- from scratch, and from files -------------------------------------------------------------

    def insert(self, name: str, rows: CodeArray) -> None:
        """Insert input facts; those that this partner keeps are kept."""
        kept = self.state.pack_rows(is_kept(rows, self.route[name], self.wire))
        relation = self.state.relations[name]
        relation.insert(np.ascontiguousarray(kept), first_new=relation.NEVER)
        self.state.show_all(name)

    def load(self, name: str, rows: CodeArray, levels: Int32s, counts: Int32s) -> None:
        """Load rows with their annotations, which replace those of rows loaded before."""
        is_here = where_kept(rows, self.route[name], self.wire)
        relation = self.state.relations[name]
        numbers = relation.locate(np.ascontiguousarray(rows[is_here].astype(self.state.dtype)))
        relation.levels[numbers] = levels[is_here]
        relation.counts[numbers] = counts[is_here]
        relation.show_rows(numbers)
        relation.hide_absent_rows(numbers)
        self.state.show_all(name)

    def evaluate(self, kept: Collection[str] = ()) -> list[StratumStatistics]:
        """Evaluate every stratum to its fixpoint and annotate every fact; some relations were loaded."""
        finished = []
        for number, stratum in enumerate(self.program.strata):
            if stratum.relations[0] in kept:
                continue
            for name in stratum.relations:
                if name in self._apart and name in self._lawful:
                    self.state.replace(name, self._inputs_apart(name))
            statistics = self._run(number, stratum)
            self._agree()
            self._keys.check(stratum, self.routes[number], None)
            finished.append(statistics)
            self.learned[number] = Learned.from_evaluation(*self._total_work(statistics))
        self.groups.commit()
        return finished

    @property
    def work(self) -> list[int]:
        """Return the work of the last evaluation of each stratum, by all partners."""
        return [each.recompute_work for each in self.learned]

    def take_work(self, work: Sequence[int]) -> None:
        """Take over the work of evaluations from before; prices are learned anew."""
        self.learned = [Learned(each) for each in work]

    # --- from another program ---------------------------------------------------------------------

    def take_relation(self, name: str, other: "PartnerEngine") -> bool:
        """Take over a relation of another engine, which is not used any more unless this is undone.

        Return False if it is not divided here as it was there.
        """
        is_same = self.route[name] == other.route[name] and self.state.is_wide == other.state.is_wide
        if is_same:
            self.state.relations[name] = other.state.relations[name]
            self.state.show_all(name)
        return is_same

    def take_stratum(self, number: int, other: "PartnerEngine", before: int, *, is_same: bool) -> None:
        """Take over what another engine has learned about a stratum, and its groups."""
        self.learned[number] = other.learned[before].for_rules(is_same=is_same)
        if is_same and (self.values is None) == (other.values is None):
            self.groups.take(self.program.strata[number].relations[0], other.groups)

    def _rule_change(self, number: int, inserted: Collection[int] | None) -> RuleChange | None:
        """Return how the rules of a stratum changed, if it can be followed."""
        if inserted is None:
            return None
        new = tuple(rule for rule in self._rules[number] if rule.id in inserted)
        return RuleChange(self._departed.get(number, ()), new)

    def _run(self, number: int, stratum: Stratum) -> StratumStatistics:
        if self._has_groups(stratum):
            return self.groups.evaluate(stratum, StateStatistics(self.state))
        context = PartnerContext(self.state, self._expressions, self._settings, self.wire)
        if self._makes_values[number]:
            # What these expressions remember is translated in every iteration.
            context.expressions = Expressions(self.program, self._codec, self._functions)
            context.values = self.values
        statistics = PartnerRun(stratum, self.routes[number], context).run(number, SilentObserver())
        for name in stratum.relations:
            self.state.relations[name].forget_deleted_levels()
        return statistics

    def _total_work(self, statistics: StratumStatistics) -> tuple[int, float]:
        """Return the work of all partners in an evaluation and the seconds of the slowest.

        All partners must know the same, because all must decide alike. Iterations count once; those that
        never exchange facts go through different numbers of them.
        """
        iterations, micros = most(self.wire, statistics.iterations, int(statistics.seconds * 1e6))
        work, *_ = total(self.wire, stratum_work(replace(statistics, iterations=0)))
        return work + evaluation_work(0, 0, iterations), micros / 1e6

    def _agree(self) -> Agreement | None:
        """Agree with all partners on the codes of new values; return what changes in those used here."""
        if self.values is None:
            return None
        if self.wire.partners == 1:
            self.values.begin()
            return None
        agreement = self.values.agree(self.wire)
        if agreement.is_identity:
            return None
        self.renew_expressions()
        return agreement

    def renew_expressions(self) -> None:
        """Forget what expressions remember: codes of values that are others now."""
        self._expressions = Expressions(self.program, self._codec, self._functions)
        self._derivations.evaluate_with(self._expressions)
        self.groups.evaluate_with(self._expressions)
        self._keys.evaluate_with(self._expressions)

    # --- an epoch ---------------------------------------------------------------------------------

    def apply(
        self,
        changes: Mapping[str, CodeDelta],
        settings: MaintenanceSettings,
        rewritten: Mapping[int, Collection[int] | None] = NONE_REWRITTEN,
    ) -> tuple[dict[str, RowDelta], tuple[StratumReport, ...]]:
        """Advance all strata to the new epoch; the caller commits, and an exception undoes everything.

        `rewritten` has the strata whose rules changed, with the ids of those that are new; one with None is
        evaluated again.
        """
        rules = {number: self._rule_change(number, inserted) for number, inserted in rewritten.items()}
        try:
            return self._apply(changes, settings, rules)
        except BaseException:
            self.undo()
            raise

    def _apply(
        self,
        changes: Mapping[str, CodeDelta],
        settings: MaintenanceSettings,
        rewritten: Mapping[int, RuleChange | None],
    ) -> tuple[dict[str, RowDelta], tuple[StratumReport, ...]]:
        inputs = {name: self._rows_of(name, change) for name, change in changes.items()}
        found: dict[str, RowDelta] = {}
        # What changed at all partners together, so that all decide alike.
        sizes: dict[str, tuple[int, int]] = {}
        reports = []
        for number, stratum in enumerate(self.program.strata):
            own = {name: inputs[name] for name in stratum.relations if name in inputs}
            rules = rewritten.get(number) or NO_RULE_CHANGE
            read = self._read[number] | rules.relations_read_before(stratum.relations)
            earlier = {name: found[name] for name in read if name in found}
            begun = time.perf_counter()
            reach = _Reach(
                {name: changes[name].sizes for name in own}
                | {name: sizes[name] for name in read if name in sizes}
            )
            if number in rewritten:
                decision = self._decide_rules(number, rewritten[number], settings)
            else:
                decision = self._decide(number, reach, settings)
            outcome = self._advance(number, own, earlier, decision, reach)
            found.update(outcome.changes)
            if outcome.decision.action is not Action.SKIPPED:
                self._agree()
                changed = None if number in rewritten else outcome.changes
                self._keys.check(stratum, self.routes[number], changed)
                sizes.update(self._total_sizes(stratum, outcome.changes))
            seconds = time.perf_counter() - begun
            reports.append(outcome.decision.report(stratum.relations, outcome.work, seconds))
        return found, tuple(reports)

    def _total_sizes(
        self, stratum: Stratum, changes: Mapping[str, RowDelta]
    ) -> Iterable[tuple[str, tuple[int, int]]]:
        """Return how many facts of each relation are inserted and deleted at all partners."""
        deltas = [changes.get(name, NO_DELTA) for name in stratum.relations]
        own = [
            self.owned(name, numbers).size
            for name, change in zip(stratum.relations, deltas, strict=True)
            for numbers in (change.inserted, change.deleted)
        ]
        counts = total(self.wire, *own)
        pairs = zip(counts[::2], counts[1::2], strict=True)
        return [(name, pair) for name, pair in zip(stratum.relations, pairs, strict=True) if any(pair)]

    def _decide(self, number: int, reach: _Reach, settings: MaintenanceSettings) -> Decision:
        """Return what all partners do about a stratum that these changes reach."""
        if not reach.rows:
            return Decision(Action.SKIPPED, Strategy.UPDATE, UNTOUCHED)
        chosen = _known_to_partners(settings)
        stratum, learned = self.program.strata[number], self.learned[number]
        has_rules = bool(self._rules[number])
        share = 0.0
        if has_rules and chosen.strategy is Strategy.AUTO:
            sizes = (len(self.state.relations[name]) for name in (*stratum.relations, *self._read[number]))
            # Copies are counted at every partner that has one, and so are those of changed rows.
            copies = sum(sum(each) * self._copies(name) for name, each in reach.sizes.items())
            share = copies / max(1, *total(self.wire, sum(sizes)))
        now = Situation(
            reach.rows, share, learned.expected_recompute(reach.net_deleted), learned,
            obstacle=self._obstacles[number] or self._unknown_groups(stratum),
            has_rules=has_rules, is_recursive=stratum.is_recursive,
        )  # fmt: skip
        return self._by_all(decide(now, chosen))

    def _decide_rules(self, number: int, rules: RuleChange | None, settings: MaintenanceSettings) -> Decision:
        """Return what all partners do about a stratum whose rules changed."""
        return self._by_all(decide_rules(rules, self.learned[number], _known_to_partners(settings)))

    def _by_all(self, decision: Decision) -> Decision:
        return replace(decision, reason=f"{decision.reason}; {self.wire.partners} partners")

    def _copies(self, name: str) -> int:
        """Return how many partners keep a fact of a relation, about."""
        route = self.route[name]
        return self.wire.partners if route.is_everywhere else min(self.wire.partners, len(route.columns))

    def _has_groups(self, stratum: Stratum) -> bool:
        """Say whether a stratum is that of an aggregate, followed group by group."""
        return stratum.relations[0] in self.groups.aggregates

    def _obstacle(self, stratum: Stratum) -> str | None:
        """Return why a stratum is never followed, or None if it is."""
        return None if self._has_groups(stratum) else reason_to_recompute(stratum, self.program)

    def _unknown_groups(self, stratum: Stratum) -> str | None:
        """Return that some partner does not have the groups of an aggregate, or None if all have theirs."""
        if not self._has_groups(stratum):
            return None
        (missing,) = total(self.wire, int(not self.groups.follows(stratum.relations[0])))
        return "partners do not have its groups in memory" if missing else None

    def _advance(
        self, number: int, own: Mapping[str, RowDelta], earlier: Mapping[str, RowDelta], decision: Decision,
        reach: _Reach,
    ) -> StratumOutcome:  # fmt: skip
        """Advance one stratum to the new epoch as decided, and learn what it cost."""
        if decision.action is Action.SKIPPED:
            return StratumOutcome({}, decision, 0)
        stratum, learned = self.program.strata[number], self.learned[number]
        marks = {name: self._marks_of(name) for name in stratum.relations}
        judge = EpochJudge(self.state.relations, marks, earlier)
        check_level, rules = partial(self._check_level, stratum), self._rules[number]
        literals = (each for rule in (*rules, *decision.rules.deleted) for each in rule.literals)
        names = {*stratum.relations, *(literal.relation for literal in literals)}
        read = [self.state.relations[name] for name in names]
        meter = WorkMeter(self._derivations, decision.budget, read)
        outbox = Outbox(self.routes[number], self.wire)
        if self._makes_values[number]:
            outbox.agree_with(self._agree, self.program.relations)
        heads = PartnerHeads(judge, meter, check_level, rules, self.routes[number], self.wire, outbox)
        try:
            if decision.is_update and self._has_groups(stratum):
                changes, own_work = self.groups.follow(
                    self._rules[number], earlier, self._derivations, self._marks_of
                )
                (work,) = total(self.wire, own_work)
                return StratumOutcome(changes, decision, work)
            if decision.is_update:
                changes = Sweeps(rules, judge, self._derivations, heads, decision.rules).run(own)
                seconds = self._seconds_of_slowest(meter, heads.work)
                if decision.rules == NO_RULE_CHANGE:
                    learned.learn(reach.rows, heads.work, seconds)
                return StratumOutcome(changes, decision, heads.work)
        except OverBudget:
            for each in marks.values():
                each.undo()
            self._agree()
            decision = give_up(decision, heads.work)
            learned.learn_failure(reach.rows, heads.work, self._seconds_of_slowest(meter, heads.work))
        learned.refusals += decision.is_refused
        changes, statistics = self._recomputed.evaluate(
            stratum, partial(self._inputs, own), earlier, lambda: self._run(number, stratum)
        )
        work, seconds = self._total_work(statistics)
        learned.learn_recompute(reach.net_deleted, work, seconds)
        return StratumOutcome(changes, decision, work + heads.work)

    def _seconds_of_slowest(self, meter: WorkMeter, work: int) -> float:
        """Return how long an update took the slowest partner; 0 if the work is too little to say much."""
        return most(self.wire, int(meter.seconds * 1e6))[0] / 1e6 if work >= FREE_WORK else 0.0

    def _check_level(self, stratum: Stratum, level: int) -> None:
        check_iterations(iterations_to(level, stratum), stratum, self._settings)

    def _inputs(self, own: Mapping[str, RowDelta], name: str) -> CodeArray:
        """Return the input facts of a relation that are kept here, after a change."""
        if name in self._apart and name in self._lawful:
            return self._inputs_apart(name)
        relation, change = self.state.relations[name], own.get(name, NO_DELTA)
        is_input = relation.levels[: relation.count] == 0
        is_input[change.deleted] = False
        is_input[change.inserted] = True
        rows: CodeArray = relation.rows[: relation.count][is_input]
        return rows

    def _inputs_apart(self, name: str) -> CodeArray:
        """Return the input facts, of a relation with a law, that this partner owns."""
        apart = self.state.relations[self._apart[name]]
        rows: CodeArray = apart.rows[: apart.count][apart.levels[: apart.count] != ABSENT]
        return rows

    def _rows_of(self, name: str, change: CodeDelta) -> RowDelta:
        """Return the numbers of the changed rows that this partner keeps."""
        relation = self.state.relations[name]
        parts = []
        for rows in (change.inserted, change.deleted):
            # All look at all rows, so that all raise if one code is too wide; of others the driver knows.
            kept = is_kept(self.state.pack_rows(rows), self.route[name], self.wire)
            parts.append(relation.locate(np.ascontiguousarray(kept)) if len(kept) else NO_ROWS)
        return RowDelta(*parts)

    def _marks_of(self, name: str) -> EpochMarks:
        marks = self._marks.get(name)
        if marks is None:
            marks = self._marks[name] = EpochMarks(self.state.relations[name])
        return marks

    def touched(self) -> dict[str, Int64s]:
        """Return the rows of each relation whose annotations the epoch may have changed."""
        touched = {name: marks.touched() for name, marks in self._marks.items()}
        touched.update(self._recomputed.touched())
        for name in self._recomputed.before:
            if name in self._lawful:
                # Nobody follows their derivations, so counts may be old.
                relation = self.state.relations[name]
                touched[name] = np.flatnonzero(relation.before[: relation.count])
        return {name: rows for name, rows in touched.items() if rows.size}

    def commit(self) -> None:
        """Forget the old epoch."""
        for marks in self._marks.values():
            marks.commit()
        self._recomputed.commit()
        self.groups.commit()

    def undo(self) -> None:
        """Restore the old epoch."""
        self._recomputed.undo()
        self.groups.undo()
        self._keys.undo()
        for marks in self._marks.values():
            marks.undo()

    # --- what this partner replies for -----------------------------------------------------------

    def owned(self, name: str, numbers: Int64s) -> Int64s:
        """Return those of the rows that this partner owns."""
        rows = self.state.relations[name].rows[numbers]
        return numbers[owned_rows(rows, self.route[name], self.wire)]

    def facts(self, name: str) -> Int64s:
        """Return the numbers of the facts that this partner owns."""
        relation = self.state.relations[name]
        return self.owned(name, np.flatnonzero(relation.levels[: relation.count] != ABSENT))


def _known_to_partners(settings: MaintenanceSettings) -> MaintenanceSettings:
    """Return how partners go about an epoch: strategies that they do not have are plain updates."""
    is_known = settings.strategy in {Strategy.AUTO, Strategy.RECOMPUTE}
    return replace(settings, strategy=settings.strategy if is_known else Strategy.UPDATE)
