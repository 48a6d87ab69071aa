"""A session's engine on Spark: groups of strata, each kept where that is best, advanced epoch by epoch.

Strata that partners can follow are kept by them, as files on shared storage and, if they are resident, in
their memory. The others are kept in the driver by the local engine. An epoch goes through the groups in
their order; each receives the differences of what it reads. When all are done, the driver commits a
manifest that names the files of every group: the consistent cut that a restart returns to.
"""

import time
import uuid
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tidelog.engine.code_rows import as_columns, fact_columns, fact_rows, matching
from tidelog.engine.epoch import (
    NO_CHANGES,
    EngineState,
    EpochResult,
    MaintenanceSettings,
    RelationChange,
    StratumReport,
)
from tidelog.engine.numbering import Numbering
from tidelog.engine.protocol import (
    Codes,
    Observer,
    RunStatistics,
    Settings,
    SilentObserver,
    StratumStatistics,
    UserFunctions,
)
from tidelog.engine.spark.cluster import open_storage
from tidelog.engine.spark.codes import codes_of_constants
from tidelog.engine.spark.engine import Placement, Where
from tidelog.engine.spark.equivalences import close_equivalences
from tidelog.engine.spark.frames import read_codes
from tidelog.engine.spark.incoming import IncomingFacts
from tidelog.engine.spark.options import SparkOptions
from tidelog.engine.spark.placement import (
    functions_of,
    in_driver,
    reason_against_codes,
    reason_for_values,
)
from tidelog.engine.spark.sent_functions import pack_functions
from tidelog.engine.spark.split import split_rules
from tidelog.engine.spark.value_files import has_unread_values, read_here
from tidelog.maintain.aggregates import name_aggregates
from tidelog.maintain.engine import LocalMaintainedEngine
from tidelog.maintain.partners.alone_group import AloneGroup
from tidelog.maintain.partners.continued_groups import (
    changed,
    compared,
    continued,
    evaluated_again,
    skipped,
)
from tidelog.maintain.partners.deleted_rules import with_deleted_rules
from tidelog.maintain.partners.differences import Differences, GroupResult, RelationDifference, difference_of
from tidelog.maintain.partners.driver_group import DriverGroup
from tidelog.maintain.partners.exported import export_relations, exported_work, keep_exported
from tidelog.maintain.partners.frame_changes import (
    LARGE_CHANGE,
    FramedChange,
    FramedEpoch,
    encoded_codes,
    framed_inputs,
)
from tidelog.maintain.partners.groups import GroupFacts, PartnerGroup, StratumGroup
from tidelog.maintain.partners.inputs_apart import keep_inputs_apart
from tidelog.maintain.partners.manifest import Manifest, Manifests, fingerprint_of
from tidelog.maintain.partners.placing import PlacedStrata, place_strata
from tidelog.maintain.partners.pool import PartnerPool
from tidelog.maintain.partners.rule_change import OldGroups, origin_of
from tidelog.maintain.partners.service import GroupSpec, placement_remark
from tidelog.maintain.partners.session_inputs import SessionInput
from tidelog.maintain.partners.session_routes import cut_for
from tidelog.maintain.partners.state_files import Found, found_in, write_inputs
from tidelog.maintain.partners.state_frames import changed_frame, frame_of_rows, state_frame
from tidelog.maintain.projections import project_negations
from tidelog.program.nodes import Program, Stratum
from tidelog.program.subprogram import subprogram
from tidelog.program.walk_nodes import earlier_relations
from tidelog.storage.kernel import CodeArray
from tidelog.values.codec import Codec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# How many ids of transactions are remembered, to recognise one that is delivered again.
_IDS_KEPT = 1000


class SparkMaintainedEngine(IncomingFacts):
    """Runs a program and then epochs on Spark; see `engine.epoch.MaintainedEngine`."""

    def __init__(
        self,
        program: Program,
        codec: Codec,
        settings: Settings,
        functions: UserFunctions,
        options: SparkOptions,
    ) -> None:
        self._settings = settings
        self._functions = functions
        folder = open_storage(options)
        self._pool = PartnerPool(options, replace(settings, jobs=1), folder.uri, codec)
        super().__init__(codec, options, folder, self._pool.partners)
        self._manifests = Manifests(self._folder) if options.storage is not None else None
        self.numbering = Numbering()
        self._epoch = 0
        self._applied: list[str] = []
        self._batch: str | None = None
        # Those whose files somebody may still read.
        self._live_differences: weakref.WeakSet[RelationDifference] = weakref.WeakSet()
        self._adopt(program)

    def _adopt(self, program: Program) -> None:
        self._program = program
        self._inputs = {
            name: SessionInput(name, relation.arity, self._folder)
            for name, relation in program.relations.items()
        }
        self._input_files: dict[str, list[str]] = {}
        self._groups: list[StratumGroup] = []
        self._placed: tuple[PlacedStrata, ...] = ()
        self._home: dict[str, StratumGroup] = {}

    # --- the first epoch ---------------------------------------------------------------------------

    def evaluate(self, observer: Observer) -> RunStatistics:
        """Evaluate every relation to its fixpoint, group by group."""
        # First of all: whoever asks for these codes later need not read workers' texts.
        codes_of_constants(self._program.strata, self._codec)
        rows, written = self.write_incoming(self._program.relations)
        for name, found in rows.items():
            self._inputs[name].insert(found)
        for name, filed in written.items():
            self._inputs[name].put_files(filed)
        self._place()
        return self._evaluate_groups(observer)

    def _place(self, old: OldGroups | None = None) -> None:
        sizes = {name: len(facts) for name, facts in self._inputs.items()}
        derived = () if old is None else old.with_partners
        self._make_groups(place_strata(self._program, sizes, self._pool, self._functions, derived), old)

    def _evaluate_groups(self, observer: Observer) -> RunStatistics:
        """Evaluate all groups."""
        begun = time.perf_counter()
        finished: list[StratumStatistics] = []
        for number, group in enumerate(self._groups):
            observer.stratum_started(number, len(self._groups), group.own)
            statistics = group.evaluate(self._facts_for(group), SilentObserver())
            for each in statistics:
                observer.iteration_finished(number, each.iterations, each.facts, each.facts)
                observer.stratum_finished(number, each)
            finished += statistics
        self._write_inputs()
        self._commit({}, self._epoch)
        return RunStatistics(tuple(finished), time.perf_counter() - begun)

    def _write_inputs(self) -> None:
        """Write the input facts of now to files that a manifest can name."""
        if self._manifests is not None:
            self._input_files = {name: facts.files() for name, facts in self._inputs.items() if len(facts)}

    def _facts_for(self, group: StratumGroup) -> dict[str, GroupFacts]:
        """Return the input facts of a group's own relations, and all facts of those it reads."""
        names = (*group.own, *(name for name in group.reads if name not in group.sources))
        return {name: self._facts_of(group, name) for name in names}

    def _facts_of(self, group: StratumGroup, name: str) -> GroupFacts:
        """Return the input facts of a group's own relation, or all facts of one that it reads."""
        return self._inputs[name] if name in group.own else self._group_facts(name)

    def _group_facts(self, name: str) -> GroupFacts:
        """Return the facts of a relation as a group that reads them gets them."""
        return self._rows(name) if name in self._home else self._inputs[name]

    def _make_groups(self, runs: Sequence[PlacedStrata], old: OldGroups | None = None) -> None:
        """Group the strata by where they are kept; those of a changed program take deleted rules back."""
        groups: list[StratumGroup] = []
        later = {name for run in runs for stratum in run.strata for name in stratum.relations}
        for run in runs:
            for names, facts, reason in run.forced:
                hint = (
                    "evaluate the program once with tidelog.spark.evaluate, or give the driver memory for it"
                )
                warning = in_driver(names, facts, reason, hint)
                self._codec.warnings["spark-in-driver", names[0]] = warning
            own = tuple(name for stratum in run.strata for name in stratum.relations)
            reads = tuple(sorted(frozenset().union(*map(earlier_relations, run.strata)) - set(own)))
            part = subprogram(self._program, run.strata)
            later -= set(own)
            if run.where in {Where.PARTNERS, Where.WORKER}:
                is_alone = run.where is Where.WORKER
                spec = self._alone_spec(run, part, own) if is_alone else self._spec(run, part, reads)
                if old is not None and not is_alone:
                    known = {name for name in old.program.relations if self._declares(name, old)}
                    wider = with_deleted_rules(
                        spec, old.divided, known - later, self._program, old.program, self._codec
                    )
                    spec, reads = wider.spec, (*reads, *wider.reads)
                homes = {name: group for group in groups for name in group.own}
                sources = {n: home for n in reads if isinstance(home := homes.get(n), PartnerGroup)}
                kind = AloneGroup if is_alone else PartnerGroup
                groups.append(kind(self._pool.add(spec), own, reads, spec, self._pool, self._folder, sources))
            else:
                if any(reason_against_codes(stratum, self._program) for stratum in run.strata):
                    read_here(self._codec)
                engine = partial(
                    LocalMaintainedEngine, part, self._codec, self._settings, self._functions, self.numbering
                )
                groups.append(DriverGroup(own, reads, part, engine, self._folder))
        self._groups = groups
        self._home = {name: group for group in groups for name in group.own}
        self._placed = tuple(runs)

    def _declares(self, name: str, old: OldGroups) -> bool:
        return name in self._program.relations and old.declares(name, self._program)

    @property
    def placements(self) -> tuple[Placement, ...]:
        """Return where strata are kept, and why."""
        found: list[Placement] = []
        for run, group in zip(self._placed, self._groups, strict=True):
            reason = run.reason
            if isinstance(group, PartnerGroup) and not group.is_alone:
                reason += placement_remark(group.spec, self._program.relations.keys(), run.large, group.heavy)
            found += [Placement(stratum.relations, run.where, reason) for stratum in run.strata]
        return tuple(found)

    def _spec(self, run: PlacedStrata, part: Program, reads: Collection[str]) -> GroupSpec:
        """Return strata as partners keep them."""
        named, aggregates = name_aggregates(part)
        closed, pairs = close_equivalences(project_negations(named)[0])
        cut = cut_for(split_rules(closed), run.large, aggregates.keys())
        made, inputs = keep_inputs_apart(cut.program)
        apart = {**inputs, **pairs}
        kept = tuple(name for name in made.relations if name not in reads)
        known = codes_of_constants(made.strata, self._codec)
        has_values = any(reason_for_values(stratum, self._program) for stratum in run.strata)
        functions = self._sent_functions(run.strata)
        return GroupSpec(
            made, kept, known, aggregates, has_values, functions, cut.dividing, {**apart, **pairs}
        )

    def _alone_spec(self, run: PlacedStrata, part: Program, own: tuple[str, ...]) -> GroupSpec:
        """Return strata as one partner keeps them."""
        known = codes_of_constants(part.strata, self._codec)
        functions = self._sent_functions(run.strata)
        return GroupSpec(part, own, known, has_values=True, functions=functions, is_alone=True)

    def _sent_functions(self, strata: Sequence[Stratum]) -> bytes:
        """Return the user's functions that strata call, as workers get them."""
        called = frozenset().union(*(functions_of(stratum, self._program) for stratum in strata))
        return pack_functions({name: each for name, each in self._functions.items() if name in called})

    # --- reading -----------------------------------------------------------------------------------

    def _arity(self, name: str) -> int:
        return self._program.relations[name].arity

    def size(self, relation: str) -> int:
        """Return the number of facts."""
        home = self._home.get(relation)
        return len(self._inputs[relation]) if home is None else home.size(relation)

    def facts(self, relation: str) -> list[Codes]:
        """Return all facts as one array of codes per column."""
        return as_columns(self._rows(relation))

    def _rows(self, relation: str) -> CodeArray:
        home = self._home.get(relation)
        rows = self._inputs[relation].rows() if home is None else home.stored(relation).live_rows()
        return rows.astype(np.int64, copy=False)

    def match(self, relation: str, pattern: Sequence[int | None]) -> list[Codes]:
        """Return the facts that agree with the pattern's codes; None agrees with all."""
        return as_columns(matching(self._rows(relation), pattern))

    def is_input(self, relation: str, columns: Sequence[Codes]) -> npt.NDArray[np.bool_]:
        """Say of each fact whether it is an input fact now."""
        return self._inputs[relation].contain(fact_rows(columns, self._arity(relation)))

    def input_facts(self, relation: str) -> list[Codes]:
        """Return the input facts of a relation; one of zeros for each if it has no columns."""
        return fact_columns(self._inputs[relation].rows())

    def look_up(self, relation: str, codes: Mapping[int, int]) -> Found:
        """Return the facts that have these codes in these columns, with the iterations of each.

        Nothing else is fetched from shared storage.
        """
        home = self._home.get(relation)
        if home is not None:
            return home.look_up(relation, codes)
        rows = self._inputs[relation].rows()
        return found_in(rows, np.zeros(len(rows), np.int32), codes)

    def code_frame(self, relation: str) -> "DataFrame | None":
        """Return the codes of a relation as a data frame of workers, or None if the driver decodes it.

        The driver does so only where it has the facts and all texts.
        """
        spark, folder, arity = self._options.spark, self._folder, self._arity(relation)
        if not arity:
            return None
        home, inputs = self._home.get(relation), self._inputs[relation]
        if isinstance(home, PartnerGroup):
            return state_frame(spark, folder, home.files[relation], arity)
        if home is None and inputs.filed is not None:
            return changed_frame(read_codes(spark, folder, inputs.filed.files, arity), *inputs.changes())
        if has_unread_values(self._codec):
            # Decoding more than a few rows here would bring all texts to the driver.
            return frame_of_rows(spark, self._rows(relation))
        return None

    # --- epochs ------------------------------------------------------------------------------------

    def apply(
        self, changes: Mapping[str, RelationChange], settings: MaintenanceSettings, observer: Observer
    ) -> EpochResult:
        """Advance all groups to the next epoch, or none."""
        del observer  # an epoch reports in its result
        inputs = self._as_differences(changes)
        found = {name: each for name, each in inputs.items() if name not in self._home and any(each.sizes)}
        reports: list[StratumReport] = []
        done: list[tuple[StratumGroup, dict[str, object], dict[str, RelationDifference]]] = []
        files = {name: list(names) for name, names in self._input_files.items()}
        mark = self.numbering.mark()
        try:
            for group in self._groups:
                due = _due(group, inputs, found)
                if not due:
                    continue
                before = group.describe()
                result = group.apply(due, settings)
                done.append((group, before, due))
                found.update(result.differences)
                reports += result.strata
            self._live_differences.update(each for each in found.values() if each.files)
            self._commit(changes, self._epoch + 1)
        except BaseException:
            self._input_files = files
            for group, before, due in reversed(done):
                group.go_back(before, due)
            self.numbering.rewind(mark)
            raise
        self._follow_inputs(changes)
        return GroupResult(found, tuple(reports)).with_columns(self._options.spark)

    def _as_differences(self, changes: Mapping[str, RelationChange]) -> dict[str, RelationDifference]:
        return {name: difference_of(each, self._arity(name), self._folder) for name, each in changes.items()}

    def _follow_inputs(self, changes: Mapping[str, RelationChange]) -> None:
        for name, change in changes.items():
            self._inputs[name].change(*self._rows_of(name, change))

    def change_rules(
        self, program: Program, settings: MaintenanceSettings, observer: Observer,
        changes: Mapping[str, RelationChange] = NO_CHANGES,
    ) -> EpochResult:  # fmt: skip
        """Continue with another program.

        Groups go on from what those of before have, and follow the changes of rules and of facts. What cannot
        be followed is evaluated again where it is kept, and compared there with the facts of before.
        """
        del observer  # an epoch reports in its result
        before, specs, mark = dict(self.__dict__), self._pool.groups.copy(), self.numbering.mark()
        old = OldGroups(self._program, self._inputs, self._groups, self._folder)
        done: list[tuple[StratumGroup, dict[str, object], dict[str, RelationDifference]]] = []
        try:
            self._adopt(program)
            for name in program.relations:
                if self._declares(name, old):
                    self._inputs[name] = old.inputs[name].copy()
            self._follow_inputs(changes)
            self._place(old)
            result = self._change_groups(old, self._as_differences(changes), settings, done)
            self._live_differences.update(each for each in result.differences.values() if each.files)
            self._write_inputs()
            self._commit({}, self._epoch + 1)
        except BaseException:
            for group, described, due in reversed(done):
                group.go_back(described, due)
            self.__dict__.update(before)
            self._pool.restore(specs)
            self.numbering.rewind(mark)
            for each in self._groups:
                if isinstance(each, DriverGroup) and not each.has_engine:
                    # Its engine has gone on to the new rules.
                    each.evaluate(self._facts_for(each), SilentObserver())
            raise
        self._pool.keep([group.number for group in self._groups if isinstance(group, PartnerGroup)])
        return result.with_columns(self._options.spark)

    def _change_groups(
        self, old: OldGroups, changes: Differences, settings: MaintenanceSettings,
        done: list[tuple[StratumGroup, dict[str, object], dict[str, RelationDifference]]],
    ) -> GroupResult:  # fmt: skip
        """Let all groups go on from those of before; `done` gets those of the driver that stay."""
        rest = [name for name in self._program.relations if name not in self._home]
        found = compared([name for name in rest if name in old.derived], self._rows, old, self._program)
        unread = set(rest) & changes.keys() - old.derived
        found |= {name: changes[name] for name in unread if any(changes[name].sizes)}
        reports: list[StratumReport] = []
        taken: set[tuple[int, str]] = set()
        for place, group in enumerate(self._groups):
            due = _due(group, changes, found)
            same = continued(group, old)
            if same is not None:
                self._groups[place] = same
                self._home |= dict.fromkeys(same.own, same)
                if not due:
                    reports += skipped(same, self._program)
                    continue
                described = same.describe()
                result = same.apply(due, settings)
                if isinstance(same, DriverGroup):
                    done.append((same, described, due))
            elif isinstance(group, PartnerGroup) and not group.is_alone:
                origin = origin_of(group, old, taken, self._group_facts)
                due = {name: change for name, change in due.items() if name not in origin.new_reads}
                result = group.change(origin, due, settings)
                if not result.strata:
                    reports += skipped(group, self._program)
            else:
                result = changed(group, old, due, partial(self._facts_of, group), self._program, settings)
            found.update(result.differences)
            reports += result.strata
        return GroupResult(found, tuple(reports))

    def apply_frames(self, changes: Mapping[str, FramedChange]) -> FramedEpoch:
        """Advance to the next epoch by changes that workers have; no fact comes to the driver.

        Groups that read what changed are evaluated again. Requires relations whose facts workers encode.
        """
        part = self._program.relations, self._codec, self._folder
        inputs, counts = framed_inputs(changes, self._inputs, self._options.spark, *part)
        before, specs, mark = dict(self.__dict__), self._pool.groups.copy(), self.numbering.mark()
        old = OldGroups(self._program, self._inputs, self._groups, self._folder)
        try:
            self._adopt(self._program)
            self._inputs |= {name: facts.copy() for name, facts in old.inputs.items()} | inputs
            self._place(old)
            reports = tuple(self._evaluate_reached(old, set(inputs)))
            self._write_inputs()
            self._commit({}, self._epoch + 1)
        except BaseException:
            self.__dict__.update(before)
            self._pool.restore(specs)
            self.numbering.rewind(mark)
            raise
        self._pool.keep([group.number for group in self._groups if isinstance(group, PartnerGroup)])
        return FramedEpoch(reports, counts)

    def _evaluate_reached(self, old: OldGroups, changed: set[str]) -> Iterator[StratumReport]:
        """Evaluate the groups again that read what changed, and let the others go on from those of before."""
        taken: set[tuple[int, str]] = set()
        for place, group in enumerate(self._groups):
            is_divided = isinstance(group, PartnerGroup) and not group.is_alone
            same = continued(group, old)
            if not changed.isdisjoint((*group.own, *group.reads)) or (same is None and not is_divided):
                changed |= set(group.own)
                statistics = group.evaluate(self._facts_for(group), SilentObserver())
                yield from evaluated_again(statistics, LARGE_CHANGE)
                continue
            if same is not None:
                self._groups[place] = same
                self._home |= dict.fromkeys(same.own, same)
            elif isinstance(group, PartnerGroup):
                group.change(origin_of(group, old, taken, self._group_facts), {}, MaintenanceSettings())
            yield from skipped(group, self._program)

    def encode(self, changes: Mapping[str, FramedChange]) -> dict[str, list[Codes]]:
        """Return the codes of changes, which workers find; `+edge` is what is inserted into `edge`."""
        return encoded_codes(changes, self._program.relations, self._codec, self._folder)

    # --- other processes ------------------------------------------------------------------------------

    def export_state(self) -> EngineState:
        """Return all facts and which of them are input facts; see `maintain.partners.exported`."""
        relations = export_relations(self._program, self._groups, self._inputs, self._folder)
        return EngineState(relations, exported_work(self._program, self._groups), self.numbering.export())

    def import_state(self, state: EngineState) -> None:
        """Take over an exported state; what it does not know of strata is evaluated."""
        self.numbering.take(state.numbers)
        for name in self._program.relations:
            relation = state.relations[name]
            inputs = [column[relation.is_input] for column in relation.columns]
            self._inputs[name].insert(fact_rows(inputs, self._arity(name)))
        self._place()
        keep_exported(self._groups, state, self._program, self._folder)
        self._evaluate_groups(SilentObserver())

    def begin(self, batch: str | None) -> bool:
        """Name the transaction that is applied next; return False if it was applied already."""
        self._batch = batch
        return batch is None or batch not in self._applied

    def resume(self) -> int | None:
        """Continue from the manifest on shared storage and return its epoch, or None without a manifest."""
        if self._manifests is None:
            return None
        manifest = self._manifests.read(fingerprint_of(self._program), self._codec, self.numbering)
        if manifest is None:
            return None
        self._epoch, self._applied = manifest.epoch, list(manifest.applied)
        for name, files in manifest.inputs.items():
            self._inputs[name].take_files(files, self._options.driver_facts)
        self._input_files = {name: list(files) for name, files in manifest.inputs.items()}
        runs = [
            PlacedStrata(
                tuple(self._program.strata[n] for n in group["strata"]),
                Where(group["where"]),
                group["reason"],
                large=tuple(group.get("large", ())),
            )
            for group in manifest.groups
        ]
        self._make_groups(runs)
        for group, described in zip(self._groups, manifest.groups, strict=True):
            if isinstance(group, PartnerGroup):
                group.take_over(described["state"])
            else:
                group.evaluate(self._facts_for(group), SilentObserver())
        return self._epoch

    def _commit(self, changes: Mapping[str, RelationChange], epoch: int) -> None:
        """Write the manifest of the epoch that all groups have reached."""
        applied = self._applied if self._batch is None else [*self._applied, self._batch]
        if self._manifests is not None:
            for name, change in changes.items():
                file = f"{epoch}-{uuid.uuid4().hex[:12]}"
                written = write_inputs(self._folder, name, file, *self._rows_of(name, change))
                files = [*self._input_files.get(name, ()), written]
                self._input_files[name] = self._inputs[name].shortened(files)
            groups = [
                {
                    "strata": [self._program.strata.index(stratum) for stratum in run.strata],
                    "where": run.where.value, "reason": run.reason, "large": run.large,
                    "state": group.describe(),
                }
                for run, group in zip(self._placed, self._groups, strict=True)
            ]  # fmt: skip
            manifest = Manifest(
                epoch,
                fingerprint_of(self._program),
                tuple(applied[-_IDS_KEPT:]),
                self._input_files,
                groups,
                tuple(each.relation for each in self._program.directives if each.kind == "input"),
            )
            held = {file for each in self._live_differences for file in each.files}
            self._manifests.commit(manifest, self._codec, self.numbering, held)
        self._epoch, self._applied, self._batch = epoch, applied[-_IDS_KEPT:], None

    def _rows_of(self, name: str, change: RelationChange) -> tuple[CodeArray, CodeArray]:
        arity = self._arity(name)
        return fact_rows(change.inserted, arity), fact_rows(change.deleted, arity)

    def close(self) -> None:
        """Release resident partners."""
        self._pool.release()


def _due(group: StratumGroup, inputs: Differences, found: Differences) -> dict[str, RelationDifference]:
    """Return what a group is to follow: changes of its own input facts, and of the relations it reads."""
    due = {name: each for name, each in inputs.items() if name in group.own}
    return due | {name: found[name] for name in group.reads if name in found}
