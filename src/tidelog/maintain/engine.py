"""The local engine with a state that follows changes of its input facts."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.code_rows import fact_columns
from tidelog.engine.convergence import check_convergence, iterations_to
from tidelog.engine.epoch import (
    NO_CHANGES,
    EngineState,
    EpochResult,
    MaintenanceSettings,
    RelationChange,
    RelationState,
    StratumReport,
)
from tidelog.engine.local import LocalEngine
from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.functional import FunctionalRelations
from tidelog.engine.local.paths import PathStratum
from tidelog.engine.local.runnable_rules import RunContext
from tidelog.engine.local.state import LocalState, NeedsWideCodes, fits_narrow
from tidelog.engine.local.stratum import StratumRun
from tidelog.engine.numbering import Numbering
from tidelog.engine.protocol import (
    Codes,
    Columns,
    Observer,
    RunStatistics,
    Settings,
    SilentObserver,
    StratumStatistics,
    UserFunctions,
)
from tidelog.maintain.aggregates import name_aggregates
from tidelog.maintain.epoch import NO_RULE_CHANGES, Maintainer
from tidelog.maintain.group_keeper import GroupKeeper
from tidelog.maintain.input_facts import InputFacts
from tidelog.maintain.learned import Learned
from tidelog.maintain.path_keeper import PathKeeper
from tidelog.maintain.prices import Stopwatch
from tidelog.maintain.projections import project_negations
from tidelog.maintain.recompute import Recomputed
from tidelog.maintain.row_delta import NO_DELTA, RowDelta
from tidelog.maintain.rule_change import RuleChange, rule_change, stratum_content
from tidelog.maintain.small.stratum import SmallStratum
from tidelog.maintain.strata import KeptStratum
from tidelog.maintain.strategies.counted_run import CountedRuns
from tidelog.maintain.timeline_keeper import TimelineKeeper
from tidelog.maintain.work import stratum_work
from tidelog.plan.lattice_arcs import name_arcs
from tidelog.program.nodes import Program, Stratum
from tidelog.program.walk_nodes import earlier_relations
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import Int64s
from tidelog.storage.projected import Projection
from tidelog.storage.relation_image import read_relation, write_relation
from tidelog.values.codec import Codec
from tidelog.values.image import Add, ArrayOf
from tidelog.values.memory import give_back_unused

_LEVELS_PER_MEMORY_CHECK = 64


class _TrialEndedError(Exception):
    """Ends a trial of rules: whatever an epoch has done is undone as after a failure."""

    def __init__(self, result: EpochResult) -> None:
        self.result = result


class LocalMaintainedEngine(LocalEngine):
    """Runs a program and then epochs; see `engine.epoch.MaintainedEngine`."""

    def __init__(
        self,
        program: Program,
        codec: Codec,
        settings: Settings,
        functions: UserFunctions,
        numbering: Numbering | None = None,
    ) -> None:
        super().__init__(program, codec, settings, functions, numbering, annotated=True)
        self.groups = GroupKeeper(self._aggregates, self._state, self._expressions)
        self.paths = PathKeeper(self._state)
        self.timelines = TimelineKeeper(self._arc_plans, self._state, codec, functions)
        self.inputs = InputFacts(self._program, self._state)
        # What evaluation counts for epochs by `counting`; None at other times.
        self._dense_runs: CountedRuns | None = None
        # While this is true an epoch of other rules ends before it is committed.
        self._is_trial = False
        # While this is true others than the rules look at rows of an epoch before it ends.
        self._is_looked_at = False
        self._start_maintenance([Learned() for _ in self._program.strata])

    def _adopt_program(self, program: Program) -> None:
        """Take a program in the form that is followed; see `program`."""
        super()._adopt_program(program)
        self._user_program = program
        named, self._aggregates = name_aggregates(self._program)
        projected, self._projections = project_negations(named)
        self._program, self._arc_plans = name_arcs(projected)

    def _start_maintenance(self, learned: Sequence[Learned]) -> None:
        """Follow changes from here on; `learned` is what each stratum has cost so far."""
        self.derivations = LocalDerivations(self._state, self._expressions, self._settings.jobs)
        self._recomputed = Recomputed(self._state, self.derivations.sharing)
        self._maintainer = Maintainer(self._program, self, learned)

    def insert(self, relation: str, columns: Columns) -> None:
        """Insert input facts."""
        super().insert(relation, columns)
        self.inputs.insert(relation, columns)

    @property
    def state(self) -> LocalState:
        """Return the relations, and which of their rows joins see."""
        return self._state

    @property
    def relations(self) -> Mapping[str, StoredRelation]:
        """Return the stored relations by name."""
        return self._state.relations

    def evaluate(self, observer: Observer) -> RunStatistics:
        """Evaluate every relation to its fixpoint and annotate every fact."""
        watch = Stopwatch()
        if self._settings.counts_iterations and self._recorder is None:
            self._dense_runs = CountedRuns()
        statistics = super().evaluate(observer)
        worked = watch.share
        self._start_maintenance(
            [Learned.from_evaluation(stratum_work(each), worked * each.seconds) for each in statistics.strata]
        )
        if self._dense_runs is not None:
            self._maintainer.keep_counts(self._dense_runs.counts)
            self._dense_runs = None
        self.groups.commit()
        self.paths.commit()
        self.timelines.commit()
        # Epochs need little of the memory that joins and the indexes which were dropped have used.
        give_back_unused()
        return statistics

    def _run_once(
        self, number: int, stratum: Stratum, context: RunContext, observer: Observer
    ) -> StratumStatistics:
        """Run one stratum, after which few rows are expected in its relations."""
        if stratum.relations[0] in self._projections:
            # It has no facts to find.
            return StratumStatistics(
                stratum.relations, is_recursive=False, iterations=0, facts=0, derivations=0, seconds=0.0
            )
        statistics = self._run_kind(number, stratum, context, observer)
        for name in stratum.relations:
            self._state.relations[name].end_evaluation()
        return statistics

    def _run_kind(
        self, number: int, stratum: Stratum, context: RunContext, observer: Observer
    ) -> StratumStatistics:
        """Run one stratum; that of an aggregate fills its groups."""
        if stratum.relations[0] in self.groups.aggregates:
            return self.groups.evaluate(stratum, context.statistics)
        if self.timelines.takes(stratum):
            found = self.timelines.evaluate(stratum, partial(self.check_level, stratum))
            if found is not None:
                observer.iteration_finished(number, found.iterations, found.facts, self._state.size())
                self._check_memory()
                return found
        return super()._run_kind(number, stratum, context, observer)

    def _stratum_run(self, number: int, stratum: Stratum, context: RunContext) -> StratumRun:
        """Return what evaluates a stratum by its delta rules, and counts derivations if epochs need that."""
        counted = None if self._dense_runs is None else self._dense_runs.start(stratum, context)
        return counted or super()._stratum_run(number, stratum, context)

    def is_input(self, relation: str, columns: Sequence[Codes]) -> npt.NDArray[np.bool_]:
        """Say of each fact whether it is an input fact now."""
        return self.inputs.contain(relation, columns)

    def input_facts(self, relation: str) -> list[Codes]:
        """Return the input facts of a relation, those that a law of it leaves out too."""
        return fact_columns(self.inputs.rows(relation))

    def apply(
        self,
        changes: Mapping[str, RelationChange],
        settings: MaintenanceSettings,
        observer: Observer,  # noqa: ARG002 - an epoch reports in its result
    ) -> EpochResult:
        """Advance the state to the next epoch; any exception leaves it unchanged."""
        self.make_room(_codes_of(changes))
        try:
            return self._apply(changes, settings)
        except NeedsWideCodes:
            self._widen()
            return self._apply(changes, settings)

    def _apply(self, changes: Mapping[str, RelationChange], settings: MaintenanceSettings) -> EpochResult:
        inputs = {name: self.inputs.numbers(name, change) for name, change in changes.items()}
        return self._run_epoch(inputs, settings, NO_RULE_CHANGES)

    @contextmanager
    def trial(
        self, changes: Mapping[str, RelationChange], settings: MaintenanceSettings
    ) -> Iterator[EpochResult]:
        """Yield what changes would do, with the engine in that epoch while the `with` block lasts.

        Inside the block, `levels` of `relations` are those of the trial epoch and `previous` those of the
        present one; joins see both. Afterwards the state is as before, whatever happened.
        """
        self.make_room(_codes_of(changes))
        inputs = {name: self.inputs.numbers(name, change) for name, change in changes.items()}
        self._mark = self.numbering.mark()
        self._is_looked_at = True
        try:
            try:
                found, reports = self._maintainer.run(inputs, settings)
            except NeedsWideCodes:
                self.go_back()
                self._widen()
                inputs = {name: self.inputs.numbers(name, change) for name, change in changes.items()}
                found, reports = self._maintainer.run(inputs, settings)
            yield self._result(found, reports)
        finally:
            self._is_looked_at = False
            self.go_back()

    def make_room(self, codes: Sequence[Codes]) -> None:
        """Make room for these codes; row numbers and tables taken before may be stale afterwards."""
        if not self._state.is_wide and not all(fits_narrow(column) for column in codes):
            self._widen()

    def tables(self, number: int) -> SmallStratum | None:
        """Return a stratum as kernels take it, None if its rules are beyond them."""
        return self._maintainer.small.alone(number)

    def kept_stratum(self, number: int) -> KeptStratum:
        """Return a stratum of `program` with its flat rules, and why they cannot be followed, if so."""
        return self._maintainer.kept_stratum(number)

    @property
    def program(self) -> Program:
        """Return the program as followed, with relations for derivations, aggregates and negated atoms."""
        return self._program

    def trial_rules(
        self, program: Program, settings: MaintenanceSettings, changes: Mapping[str, RelationChange]
    ) -> EpochResult:
        """Return what another program with changed facts would do; afterwards the state is as before."""
        self._is_trial = True
        try:
            self.change_rules(program, settings, SilentObserver(), changes)
        except _TrialEndedError as ended:
            return ended.result
        finally:
            self._is_trial = False
        raise AssertionError("a trial ends before its epoch is committed")

    def go_back(self) -> None:
        """Undo an epoch that was not committed."""
        self._recomputed.undo()
        self._maintainer.undo()
        self.groups.undo()
        self.paths.undo()
        self.timelines.undo()
        self.numbering.rewind(self._mark)
        self._functional.forget()

    def _run_epoch(
        self,
        inputs: Mapping[str, RowDelta],
        settings: MaintenanceSettings,
        rewritten: Mapping[int, RuleChange | None],
    ) -> EpochResult:
        self._mark = self.numbering.mark()
        # Rules that are deleted read relations that no other rule may read.
        self._is_looked_at = bool(rewritten)
        try:
            found, reports = self._maintainer.run(inputs, settings, rewritten)
            result = self._result(found, reports)
            if self._is_trial:
                raise _TrialEndedError(result)  # noqa: TRY301 - undone as a failure is
        except BaseException:
            self.go_back()
            raise
        self._maintainer.commit()
        self._recomputed.commit()
        self.groups.commit()
        self.paths.commit()
        self.timelines.commit()
        self.inputs.commit(inputs)
        self._give_rows_back()
        return result

    def _give_rows_back(self) -> None:
        """Drop the rows of deleted facts from relations that have many of them.

        Deletions pay for it: live rows are moved once a quarter of all rows has been deleted.
        """
        try:
            self._maintainer.forget_rows(self._state.forget_projections())
            self.inputs.give_rows_back(self.derivations.sharing)
            moved = self._state.compact(self.derivations.sharing)
        except MemoryError:
            # The epoch is committed: a later one tries again.
            return
        self._maintainer.forget_rows(moved)

    def _result(self, found: Mapping[str, RowDelta], reports: tuple[StratumReport, ...]) -> EpochResult:
        """Return what an epoch changed, as the user's program names it."""
        seen = {name: change for name, change in found.items() if name in self._user_program.relations}
        inserted = {
            n: self._columns_of(n, change.inserted) for n, change in seen.items() if change.inserted.size
        }
        deleted = {
            n: self._columns_of(n, change.deleted) for n, change in seen.items() if change.deleted.size
        }
        reports = tuple(report for report in reports if report.relations[0] in self._user_program.relations)
        return EpochResult(inserted, deleted, reports)

    def _columns_of(self, name: str, numbers: Int64s) -> list[Codes]:
        return fact_columns(self._state.relations[name].rows[numbers])

    def recompute(
        self, stratum: Stratum, inputs: Mapping[str, RowDelta], earlier: Mapping[str, RowDelta], left: float
    ) -> tuple[dict[str, RowDelta], int]:
        """Evaluate a stratum from scratch; return what changed and the derivations it took.

        About the share `left` of its facts is expected to be left.
        """
        number = self._program.strata.index(stratum)

        def run() -> StratumStatistics:
            for name in stratum.relations:
                before = self._recomputed.before[name]
                self._state.relations[name].expect(before.rows[: before.count], int(left * len(before)))
            with self._run_context() as context:
                return self._run_once(number, stratum, context, SilentObserver())

        unread = () if self._is_looked_at else self._unread_after(number)
        changes, statistics = self._recomputed.evaluate(
            stratum, lambda name: self.inputs.rows(name, inputs.get(name, NO_DELTA)), earlier, run, unread
        )
        return changes, stratum_work(statistics)

    def _unread_after(self, number: int) -> frozenset[str]:
        """Return the relations of a stratum that no later one reads."""
        strata = self._program.strata
        read = frozenset[str]().union(*(earlier_relations(each) for each in strata[number + 1 :]))
        return frozenset(strata[number].relations) - read

    def _run_paths(self, stratum: Stratum, context: RunContext) -> PathStratum | None:
        """Evaluate a stratum that is a graph, and keep the graph."""
        graph = super()._run_paths(stratum, context)
        self.paths.keep(stratum, graph)
        return graph

    def complete_projections(self) -> None:
        """Have a fact of each projection for every key, for those who look at facts one by one."""
        for name in self._projections:
            self._state.projected(name).complete()
            self._state.show_all(name)

    def forget_projections(self) -> None:
        """Forget facts of projections that were completed."""
        self._maintainer.forget_rows(self._state.forget_projections(are_complete=True))

    @property
    def projections(self) -> Mapping[str, Projection]:
        """Return the relations that are the keys of an index of another one."""
        return self._projections

    def lattice_periods(
        self, relation: str, row: Sequence[int]
    ) -> Sequence[tuple[int, Sequence[int], bool]] | None:
        """Return the rows that the key of a row had, from which iteration on, and which narrowing led to.

        None if the lattices of the relation's stratum are not followed by timelines.
        """
        return self.timelines.periods(relation, row)

    def check_keys(self, stratum: Stratum, changes: Mapping[str, RowDelta] | None) -> None:
        """Raise if a relation with `keys` has two facts for a key after these changes (None: any)."""
        rows = None if changes is None else {name: (x.deleted, x.inserted) for name, x in changes.items()}
        self._functional.check(stratum, rows)

    def check_level(self, stratum: Stratum, level: int) -> None:
        """Raise if an update takes more iterations or more memory than the user allows."""
        self.check_time()
        iterations = iterations_to(level, stratum) if level else 0
        check_convergence(iterations, stratum, self._program, self._settings, 0)
        if level % _LEVELS_PER_MEMORY_CHECK == 0:
            self._check_memory()

    @property
    def allowed_time(self) -> str:
        """Return what the clock allows the update of this epoch, in words."""
        return str(self._maintainer.deadline)

    def check_time(self) -> None:
        """Raise `OutOfTime` if the update of an epoch takes longer than the clock allows."""
        self._maintainer.deadline.check()

    def _widen(self) -> None:
        self._state.widen(self.derivations.sharing)
        self._start_maintenance([each.without_indexes() for each in self._maintainer.learned])

    # --- other programs, other processes ----------------------------------------------------------

    def change_rules(
        self,
        program: Program,
        settings: MaintenanceSettings,
        observer: Observer,
        changes: Mapping[str, RelationChange] = NO_CHANGES,
    ) -> EpochResult:
        """Continue with another program whose input relations keep their facts, except for the changes.

        Strata with the same rules as before keep their state and follow the change. So do strata of
        the same relations, where derivations by inserted and deleted rules can be enumerated; the others
        are recomputed.
        """
        self.make_room(_codes_of(changes))
        before = dict(self.__dict__)
        old_program = self._program
        known = {
            stratum.relations: stratum_content(stratum, self._program) for stratum in self._program.strata
        }
        learned = dict(zip(known, self._maintainer.learned, strict=True))
        try:
            self._adopt(program)
            strata = self._program.strata
            contents = {stratum.relations: stratum_content(stratum, self._program) for stratum in strata}
            self._start_maintenance(
                [
                    learned.get(names, Learned()).for_rules(is_same=known.get(names) == content)
                    for names, content in contents.items()
                ]
            )
            old = {stratum.relations: stratum for stratum in old_program.strata}
            rewritten = {
                number: None
                if self._is_kept_apart(stratum)
                else rule_change(old.get(stratum.relations), old_program, stratum, self._program)
                for number, stratum in enumerate(strata)
                if known.get(stratum.relations) != contents[stratum.relations]
            }
            inputs = {name: self.inputs.numbers(name, change) for name, change in changes.items()}
            result = self._run_epoch(inputs, settings, rewritten)
            self.inputs.forget_lawless()
            return result  # noqa: TRY300 - the state is taken back only if what is above fails
        except NeedsWideCodes:
            self.__dict__.update(before)
        except BaseException:
            self.__dict__.update(before)
            raise
        self._widen()
        return self.change_rules(program, settings, observer, changes)

    def _is_kept_apart(self, stratum: Stratum) -> bool:
        """Say whether changes of rules cannot be followed, because more than derivations is kept."""
        is_grouped = not self.groups.aggregates.keys().isdisjoint(stratum.relations)
        return is_grouped or self.paths.follows(stratum) or self.timelines.takes(stratum)

    def _adopt(self, program: Program) -> None:
        """Switch to a program and keep the stored relations that both programs declare alike."""
        old_program, old_state = self._program, self._state
        self._adopt_program(program)
        self._state = LocalState(
            self._program, annotated=True, dtype=old_state.dtype, projections=self._projections
        )
        known = old_program.relations
        self._state.take_over(
            {
                name: old_state.relations[name]
                for name, relation in self._program.relations.items()
                if name in known and known[name].columns == relation.columns
            }
        )
        self._expressions = Expressions(self._program, self._codec, self._functions, self._number_functors())
        self.groups = GroupKeeper(self._aggregates, self._state, self._expressions, self.groups)
        self._functional = FunctionalRelations(self._state, self._expressions)
        self.paths = PathKeeper(self._state)
        self.timelines = TimelineKeeper(
            self._arc_plans, self._state, self._codec, self._functions, self.timelines
        )
        old_inputs, self.inputs = self.inputs, InputFacts(self._program, self._state)
        self.inputs.take_over(old_inputs, old_program, self._program)

    def export_state(self) -> EngineState:
        """Return all that another process needs to continue from here."""
        relations = {}
        for name in self._user_program.relations:
            stored = self._state.relations[name]
            numbers = np.flatnonzero(stored.levels[: stored.count] != ABSENT)
            levels = stored.levels[numbers]
            columns = self._columns_of(name, numbers)
            counts = np.where(levels == 0, 1, stored.counts[numbers])
            exported = RelationState(columns, levels, counts, levels == 0)
            relations[name] = self.inputs.exported(name, exported)
        return EngineState(relations, self._maintainer.work(), self.numbering.export())

    def import_state(self, state: EngineState) -> None:
        """Load an exported state, in place of `insert` and `evaluate`."""
        self.numbering.take(state.numbers)
        for name, exported in state.relations.items():
            self.inputs.imported(name, exported)
            is_fact = exported.levels != ABSENT
            if is_fact.all():
                self._state.load(name, exported.columns, exported.levels, exported.counts)
            elif is_fact.any():
                columns = [column[is_fact] for column in exported.columns]
                self._state.load(name, columns, exported.levels[is_fact], exported.counts[is_fact])
        self._continue(state, self._program.relations.keys() - self._user_program.relations.keys())

    def _continue(self, state: EngineState, missing: AbstractSet[str]) -> None:
        """Follow changes from a loaded state on, once the relations that are missing were evaluated."""
        with self._run_context() as context:
            for number, stratum in enumerate(self._program.strata):
                if stratum.relations[0] in missing:
                    self._run_stratum(number, stratum, context, SilentObserver())
        self.groups.commit()
        work = state.stratum_work or (0,) * len(self._program.strata)
        self._start_maintenance([Learned(each) for each in work])

    # --- images -----------------------------------------------------------------------------------

    def prepare_epochs(self) -> None:
        """Build what epochs need ahead of the first one, so that an image has it."""
        self._maintainer.lay_out()

    def write_image(self, add: Add) -> dict[str, object]:
        """Add all relations to an image, with tables and indexes; return what `import_image` needs.

        The groups of aggregates are not in it, nor the relations that are made of them.
        """
        grouped = self._grouped()
        kept = {name: x for name, x in self._state.relations.items() if name not in grouped}
        return {
            "is_wide": self._state.is_wide,
            "relations": {name: write_relation(relation, add) for name, relation in kept.items()},
            "small": self._maintainer.small.write_image(add),
            "timelines": self.timelines.write_image(add),
        }

    def _grouped(self) -> frozenset[str]:
        """Return the relations that are made of groups."""
        strata = (each for each in self._program.strata if each.relations[0] in self.groups.aggregates)
        return frozenset(name for stratum in strata for name in stratum.relations)

    def import_image(self, state: EngineState, about: Mapping[str, Any], array_of: ArrayOf) -> bool:
        """Load an image in place of an exported state of the same epoch; return False if it is of no use."""
        grouped = self._grouped()
        if about["relations"].keys() != self._state.relations.keys() - grouped:
            return False
        self.numbering.take(state.numbers)
        for name in self.inputs.apart.keys() & state.relations.keys():
            self.inputs.imported(name, state.relations[name])
        if about["is_wide"]:
            self._state.widen()
        for name, each in about["relations"].items():
            read_relation(self._state.relations[name], each, array_of)
            self._state.show_all(name)
        self._continue(state, grouped)
        check_levels = [(each, partial(self.check_level, each)) for each in self._program.strata]
        self.timelines.read_image(about["timelines"], check_levels, array_of)
        self._maintainer.read_image(about["small"], array_of)
        return True


def _codes_of(changes: Mapping[str, RelationChange]) -> list[Codes]:
    """Return all codes of changes, column by column."""
    return [column for change in changes.values() for column in (*change.inserted, *change.deleted)]
