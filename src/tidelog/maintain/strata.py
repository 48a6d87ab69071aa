"""The kinds of strata, each of which knows how it is advanced to a new epoch.

    plain      derivation by derivation, with levels and counts; see `maintain.sweeps`
    projection the keys of another relation, by an index of it; see `storage.projected`
    groups     the relation of an aggregate: the groups that changed facts belong to
    monotone   rules that read their own stratum through lattices or aggregates, iteration by iteration
    graph      best paths, kept as a graph
    timeline   other lattices, whose values are kept iteration by iteration; see `engine.local.timelines`
    opaque     evaluated from scratch whenever something it reads changes

`keep_strata` decides, once, which kind a stratum is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import MaintenanceSettings, Strategy
from tidelog.engine.local.lattice_values import NotALattice
from tidelog.maintain.decide import Decision, Situation, decide, describe_update, give_up, recompute
from tidelog.maintain.epoch_marks import EpochMarks
from tidelog.maintain.heads import Heads, OverBudget, WorkMeter
from tidelog.maintain.judge import EpochJudge
from tidelog.maintain.learned import Learned
from tidelog.maintain.monotone import MonotoneUpdate
from tidelog.maintain.prices import Stopwatch
from tidelog.maintain.projections import follow_projection
from tidelog.maintain.row_delta import RowDelta, changed_rows, net_deleted
from tidelog.maintain.rule_change import NO_RULE_CHANGE
from tidelog.maintain.strategies.backward_forward import BackwardForwardHeads
from tidelog.maintain.strategies.counting import CountingHeads, IterationCounts, count_iterations
from tidelog.maintain.strategies.dred import DredCounterHeads, DredHeads
from tidelog.maintain.strategies.elastic import ElasticUpdate
from tidelog.maintain.strategies.traced import TracedSweeps
from tidelog.maintain.sweeps import Sweeps
from tidelog.maintain.trace import TraceKeeper
from tidelog.maintain.work import surviving_share
from tidelog.plan.flatten import FlatRule, flatten_rule
from tidelog.plan.maintenance import reason_to_recompute
from tidelog.plan.own_rules import OwnForm, own_forms
from tidelog.program.nodes import Program, Stratum
from tidelog.program.walk_nodes import earlier_relations
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.paths import Unsuitable

if TYPE_CHECKING:
    from tidelog.maintain.engine import LocalMaintainedEngine

Changes = Mapping[str, RowDelta]
# What all heads are made of.
HeadParts = tuple[EpochJudge, WorkMeter, Callable[[int], None], Sequence[FlatRule]]
_HEADS = {
    Strategy.DRED: DredHeads,
    Strategy.DRED_COUNTERS: DredCounterHeads,
    Strategy.BACKWARD_FORWARD: BackwardForwardHeads,
}
_ELASTIC = {Strategy.ELASTIC_LAZY, Strategy.ELASTIC_EAGER}
# A trace is for small changes: it costs most where much of a join changes.
_LARGEST_TRACED_SHARE = 0.03


class StratumOutcome(NamedTuple):
    """What was done to a stratum: what changed, why it was done this way, and the work it took."""

    changes: Mapping[str, RowDelta]
    decision: Decision
    work: int


@dataclass
class KeptStratum:
    """A stratum through the epochs, and what advancing it has cost.

    `obstacle` says why its rules cannot be followed one by one, if they cannot. This is the opaque kind;
    all others inherit from it.
    """

    stratum: Stratum
    program: Program
    engine: "LocalMaintainedEngine"
    marks_of: Callable[[str], EpochMarks]
    learned: Learned
    obstacle: str | None = None

    def __post_init__(self) -> None:
        self.rules: tuple[FlatRule, ...] = tuple(
            flatten_rule(rule, self.program) for rule in self.stratum.rules
        )
        self.read = earlier_relations(self.stratum)
        relations = self.program.relations
        self.has_keys = any(relations[name].keys for name in self.stratum.relations)

    @cached_property
    def trace(self) -> TraceKeeper:
        """Return the traces of the stratum's joins."""
        return TraceKeeper(self.stratum, self.rules, self.program)

    @property
    def has_trace(self) -> bool:
        """Say whether a trace is kept."""
        return "trace" in self.__dict__ and self.trace.traces is not None

    def decide(self, own: Changes, earlier: Changes, settings: MaintenanceSettings) -> Decision:
        """Return what to do about changes of its input facts and of earlier strata."""
        now = self._situation(own, earlier)
        decision = decide(now, settings)
        if decision.is_refused:
            self.learned.refusals += 1
        if not decision.is_update or not self.rules:
            return decision
        if settings.by_clock:
            decision = replace(decision, reason=f"{decision.reason}; {self.engine.allowed_time}")
        if settings.strategy is Strategy.TRACE:
            strategy = Strategy.TRACE if self.trace.applies() else Strategy.UPDATE
            return replace(decision, strategy=strategy, reason=f"{decision.reason}: {self.trace.explain()}")
        if (
            settings.strategy is Strategy.AUTO
            and not settings.by_clock
            and now.share <= _LARGEST_TRACED_SHARE
        ):
            advice = self.trace.advise(now.rows, decision.predicted, self.learned.recompute_work)
            if advice is not None:
                return replace(decision, strategy=Strategy.TRACE, reason=f"{decision.reason}; {advice}")
        return decision

    def advance(self, own: Changes, earlier: Changes, decision: Decision) -> StratumOutcome:
        """Advance the stratum to the new epoch as decided."""
        if decision.is_update:
            return self._follow_and_learn(own, earlier, decision)
        if decision.strategy is Strategy.RECOMPUTE:
            return self._recompute(own, earlier, decision)
        return StratumOutcome({}, decision, 0)

    def forget(self) -> None:
        """Drop what is no longer right because the stratum was advanced in another way."""
        if "trace" in self.__dict__:
            self.trace.drop()

    def commit(self) -> None:
        """Keep the new epoch."""
        if "trace" in self.__dict__:
            self.trace.commit()

    def undo(self) -> None:
        """Restore the old epoch."""
        if "trace" in self.__dict__:
            self.trace.undo()

    # --- what the kinds differ in ---------------------------------------------------------------

    def _obstacle(self) -> str | None:
        """Return why the stratum must be recomputed in this epoch, or None if it can be followed."""
        return self.obstacle

    def _is_growing(self, own: Changes, earlier: Changes) -> bool:  # noqa: ARG002 - plain strata look at them
        """Say whether no derivation can be lost."""
        return False

    def _follow(self, own: Changes, earlier: Changes, decision: Decision) -> StratumOutcome:
        raise NotImplementedError

    def _follow_and_learn(self, own: Changes, earlier: Changes, decision: Decision) -> StratumOutcome:
        watch = Stopwatch()
        outcome = self._follow(own, earlier, decision)
        done = outcome.decision
        if done.is_update:
            if done.strategy is Strategy.UPDATE and done.rules == NO_RULE_CHANGE:
                rows, seconds = changed_rows(own, earlier), watch.seconds
                self.learned.learn(rows, outcome.work, seconds, is_growing=done.is_growing)
            self.learned.is_indexed = True
        return outcome

    # --- recomputing ----------------------------------------------------------------------------

    def _recompute(
        self, own: Changes, earlier: Changes, decision: Decision, spent: int = 0
    ) -> StratumOutcome:
        self.forget()
        for name in self.stratum.relations:
            self.marks_of(name).undo()
        work_before = self.learned.recompute_work
        left = self._situation(own, earlier).expected / work_before if work_before else 1.0
        watch = Stopwatch()
        changes, work = self.engine.recompute(self.stratum, own, earlier, left)
        self.learned.learn_recompute(net_deleted(own, earlier), work, watch.seconds)
        return StratumOutcome(changes, decision, spent + work)

    def _situation(self, own: Changes, earlier: Changes) -> Situation:
        rows = changed_rows(own, earlier)
        if not rows:
            return Situation(0, 0.0, 0.0, self.learned)
        relations = self.engine.relations
        rows_read = max(1, sum(relations[name].count for name in {*own, *self.read}))
        return Situation(
            rows,
            rows / rows_read,
            self._expected_recompute(net_deleted(own, earlier), rows_read),
            self.learned,
            self._obstacle(),
            bool(self.rules),
            self.stratum.is_recursive,
            self._is_growing(own, earlier),
        )

    def _expected_recompute(self, net: int, rows_read: int) -> float:
        """Return what a recompute is expected to take: less if much is deleted."""
        learned = self.learned
        if net <= 0:
            return float(learned.recompute_work)
        relations = [self.engine.relations[name] for name in self.stratum.relations]
        survives = surviving_share(relations, net / rows_read)
        return min(learned.expected_recompute(net), learned.recompute_work * survives)


@dataclass
class PlainStratum(KeptStratum):
    """A stratum whose derivations are followed one by one."""

    # The dense state, and the versions of the relations it belongs to.
    dense: Mapping[str, IterationCounts] | None = None
    dense_versions: Sequence[int] = ()

    def forget(self) -> None:
        """Drop the trace and the dense state."""
        super().forget()
        self.dense = None

    def undo(self) -> None:
        """Restore the old epoch and drop the dense state, which may be half changed."""
        super().undo()
        self.dense = None

    def _is_growing(self, own: Changes, earlier: Changes) -> bool:
        """Say whether all changes add: no deletion at a positive atom, no insertion at a negated one."""
        if any(change.deleted.size for change in own.values()):
            return False
        for rule in self.rules:
            for literal in rule.literals:
                change = earlier.get(literal.relation)
                if change is not None and (change.inserted if literal.is_negated else change.deleted).size:
                    return False
        return True

    def _follow(self, own: Changes, earlier: Changes, decision: Decision) -> StratumOutcome:
        dense = self._dense_state(earlier) if decision.strategy is Strategy.COUNTING else None
        # Kept again once the epoch has succeeded: a failed one leaves it half changed.
        self.dense = None
        traces, steps = None, 0
        if decision.strategy is Strategy.TRACE:
            traces, steps = self.trace.follow(self.engine.derivations.traces, earlier)
            decision = replace(decision, reason=f"{decision.reason}; {self.trace.note}")
        else:
            super().forget()
        marks = {name: self.marks_of(name) for name in self.stratum.relations}
        judge = EpochJudge(self.engine.relations, marks, earlier)
        read = [self.engine.relations[name] for name in {*self.read, *self.stratum.relations}]
        meter = WorkMeter(self.engine.derivations, decision.budget, read, steps, self.learned.rest)
        check_level = partial(self.engine.check_level, self.stratum)
        kept = decision.rules.kept(self.rules)
        derivations = self.engine.derivations
        update: ElasticUpdate | Sweeps
        if decision.strategy in _ELASTIC:
            is_eager = decision.strategy is Strategy.ELASTIC_EAGER
            update = ElasticUpdate(self.rules, judge, derivations, meter, check_level, is_eager)
        else:
            heads = self._heads(decision.strategy, (judge, meter, check_level, kept), dense)
            parts = (self.rules, judge, derivations, heads, decision.rules)
            derivations.share_indexes(self.rules)
            update = Sweeps(*parts) if traces is None else TracedSweeps(*parts, traces=traces)

        def check() -> None:
            meter.check()
            self.engine.check_time()

        try:
            with derivations.watched(check):
                changes = update.run(own)
        except OverBudget:
            work, seconds = meter.work, meter.seconds
            rows = changed_rows(own, earlier)
            self.learned.learn_failure(rows, work, seconds, is_growing=decision.is_growing)
            return self._recompute(own, earlier, give_up(decision, work, seconds), work)
        if traces is not None:
            self.trace.learn(changed_rows(own, earlier), meter.work)
        elif decision.strategy is Strategy.UPDATE:
            self.learned.learn_rest(meter.first, meter.work)
        self.dense, self.dense_versions = dense, self._versions()
        return StratumOutcome(changes, decision, meter.work)

    def _dense_state(self, earlier: Changes) -> Mapping[str, IterationCounts]:
        """Return the dense state of the old epoch."""
        engine = self.engine
        if self.dense is not None and self.dense_versions == self._versions():
            return self.dense
        with _before(engine.relations, earlier):
            return count_iterations(self.rules, engine.relations, self.stratum.relations, engine.derivations)

    def keep_counts(self, counts: Mapping[str, IterationCounts]) -> None:
        """Take the dense state that evaluation has counted."""
        self.dense, self.dense_versions = counts, self._versions()

    def _versions(self) -> list[int]:
        return [self.engine.relations[name].version for name in self.stratum.relations]

    @staticmethod
    def _heads(strategy: Strategy, parts: HeadParts, dense: Mapping[str, IterationCounts] | None) -> Heads:
        """Return the heads that a strategy keeps."""
        if dense is not None:
            return CountingHeads(*parts, dense)
        return _HEADS.get(strategy, Heads)(*parts)


class ProjectionStratum(KeptStratum):
    """A projection: the keys whose last fact was deleted, or whose first one was inserted."""

    def decide(self, own: Changes, earlier: Changes, settings: MaintenanceSettings) -> Decision:  # noqa: ARG002 - none
        """Return that changes are followed, whatever the strategy: there is nothing to evaluate."""
        return describe_update(changed_rows(own, earlier), Strategy.UPDATE, is_growing=False)

    def advance(self, own: Changes, earlier: Changes, decision: Decision) -> StratumOutcome:  # noqa: ARG002 - none
        """Advance the stratum to the new epoch, also where its rules are new."""
        name = self.stratum.relations[0]
        change = earlier.get(self.engine.projections[name].base)
        changes = (
            {} if change is None else follow_projection(name, self.engine.state, self.marks_of(name), change)
        )
        return StratumOutcome(
            changes, self.decide(own, earlier, MaintenanceSettings()), changed_rows(earlier)
        )


class GroupStratum(KeptStratum):
    """The relation of an aggregate, followed group by group."""

    def _obstacle(self) -> str | None:
        if self.engine.groups.follows(self.stratum.relations[0]):
            return self.obstacle
        return "its aggregate failed in an epoch that was taken back"

    def _follow(self, own: Changes, earlier: Changes, decision: Decision) -> StratumOutcome:  # noqa: ARG002 - none
        engine = self.engine
        changes, work = engine.groups.follow(self.rules, earlier, engine.derivations, self.marks_of)
        return StratumOutcome(changes, decision, work)


@dataclass
class MonotoneStratum(KeptStratum):
    """A stratum that is followed iteration by iteration, with forms of its rules made for that."""

    forms: tuple[OwnForm, ...] = field(default=())

    def _obstacle(self) -> str | None:
        return None

    def _follow(self, own: Changes, earlier: Changes, decision: Decision) -> StratumOutcome:
        engine = self.engine
        marks = {name: self.marks_of(name) for name in self.stratum.relations}
        check = partial(engine.check_level, self.stratum)
        before = engine.derivations.work
        changes = MonotoneUpdate(self.forms, engine.state, marks, earlier, engine.derivations, check).run(own)
        return StratumOutcome(changes, decision, engine.derivations.work - before)


class GraphStratum(KeptStratum):
    """Lattices whose values are best paths, kept as a graph as long as the values go one way."""

    def _obstacle(self) -> str | None:
        return None if self.engine.paths.follows(self.stratum) else self.obstacle

    def _follow(self, own: Changes, earlier: Changes, decision: Decision) -> StratumOutcome:
        engine = self.engine
        diffs = {name: self._input_diffs(name, change) for name, change in own.items()}
        try:
            changes, work = engine.paths.follow(
                self.stratum, diffs, earlier, engine.derivations, self.marks_of
            )
        except Unsuitable:
            return self._recompute(own, earlier, recompute("its values no longer go one way"))
        return StratumOutcome(changes, decision, work)

    def _input_diffs(self, name: str, change: RowDelta) -> tuple[CodeArray, Int64s]:
        """Return input facts that are deleted and inserted, with their diffs."""
        sides = [self.engine.inputs.rows_apart(name, rows) for rows in (change.deleted, change.inserted)]
        diffs = np.repeat(np.array([-1, 1]), [change.deleted.size, change.inserted.size])
        return np.concatenate(sides), diffs


class TimelineStratum(KeptStratum):
    """Lattices of any kind, followed by the timelines of their keys."""

    def _obstacle(self) -> str | None:
        timelines = self.engine.timelines
        if timelines.reason(self.stratum) is not None or not timelines.follows(self.stratum):
            return timelines.reason(self.stratum) or self.obstacle
        return None

    def _follow(self, own: Changes, earlier: Changes, decision: Decision) -> StratumOutcome:
        engine = self.engine
        inputs = {name: self._input_sides(name, change) for name, change in own.items()}
        try:
            changes, work = engine.timelines.follow(self.stratum, inputs, earlier, self.marks_of)
        except NotALattice as broken:
            return self._recompute(own, earlier, recompute(str(broken)))
        for name in own.keys() - engine.inputs.apart.keys():
            self._note_inputs(name, own[name])
        return StratumOutcome(changes, decision, work)

    def _input_sides(self, name: str, change: RowDelta) -> tuple[CodeArray, CodeArray]:
        """Return the input facts that are deleted and those inserted."""
        if name in self.engine.inputs.apart:
            rows_apart = partial(self.engine.inputs.rows_apart, name)
            return rows_apart(change.deleted), rows_apart(change.inserted)
        rows = self.engine.relations[name].rows
        return rows[change.deleted], rows[change.inserted]

    def _note_inputs(self, name: str, change: RowDelta) -> None:
        """Give input facts of a plain relation level 0, and those that are only derived now level 1."""
        marks, levels = self.marks_of(name), self.engine.relations[name].levels
        marks.ensure_room()
        kept = change.deleted[levels[change.deleted] != ABSENT]
        for rows, level in ((change.inserted, 0), (kept, 1)):
            marks.touch(rows)
            levels[rows] = level


def keep_strata(
    program: Program,
    engine: "LocalMaintainedEngine",
    marks_of: Callable[[str], EpochMarks],
    learned: Sequence[Learned],
) -> list[KeptStratum]:
    """Return the strata of a program, each of its kind, with what past epochs have cost it."""
    kept: list[KeptStratum] = []
    for number, stratum in enumerate(program.strata):
        obstacle = reason_to_recompute(stratum, program)
        common = (stratum, program, engine, marks_of, learned[number], obstacle)
        forms = None if obstacle is None else own_forms(stratum, program)
        if stratum.relations[0] in engine.projections:
            kept.append(ProjectionStratum(*common))
        elif stratum.relations[0] in engine.groups.aggregates:
            kept.append(GroupStratum(*common))
        elif obstacle is None:
            kept.append(PlainStratum(*common))
        elif forms is not None:
            kept.append(MonotoneStratum(*common, forms=forms))
        elif program.has_lattice(stratum):
            kind = TimelineStratum if engine.timelines.plans(stratum) else GraphStratum
            kept.append(kind(*common))
        else:
            kept.append(KeptStratum(*common))
    return kept


@contextmanager
def _before(relations: Mapping[str, StoredRelation], earlier: Changes) -> Iterator[None]:
    """Show the levels of the old epoch in relations that changed already."""
    for name, change in earlier.items():
        relations[name].exchange_levels(np.concatenate([change.deleted, change.inserted]))
    try:
        yield
    finally:
        for name, change in earlier.items():
            relations[name].exchange_levels(np.concatenate([change.deleted, change.inserted]))
