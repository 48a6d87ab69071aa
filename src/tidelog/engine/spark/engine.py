"""The Spark engine: runs every stratum where it runs best, and says why there."""

import dataclasses
import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.code_rows import as_columns, as_rows, matching
from tidelog.engine.equivalences import ClosedByRules
from tidelog.engine.evaluation import evaluate_strata
from tidelog.engine.local import LocalEngine
from tidelog.engine.local.state import NeedsWideCodes
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
from tidelog.engine.spark.cluster import open_storage, reason_against_barrier
from tidelog.engine.spark.codes import codes_of_constants
from tidelog.engine.spark.dataframes import FrameStratum, reason_against_frames
from tidelog.engine.spark.dividing import DividedStratum, divide_stratum
from tidelog.engine.spark.equivalences import closed_for_partners, closing_remark
from tidelog.engine.spark.frames import read_codes
from tidelog.engine.spark.incoming import IncomingFacts
from tidelog.engine.spark.job import BarrierJob, run_apart, run_job
from tidelog.engine.spark.law_columns import law_columns
from tidelog.engine.spark.options import SparkOptions
from tidelog.engine.spark.placement import (
    functions_of,
    in_driver,
    reason_against_workers,
    reason_for_one_place,
    reason_for_values,
)
from tidelog.engine.spark.relation_facts import RelationFacts
from tidelog.engine.spark.routes import Routes
from tidelog.engine.spark.sent_functions import pack_functions
from tidelog.engine.spark.shared_frames import write_files
from tidelog.engine.spark.skew import spread_remark
from tidelog.engine.spark.slots import settled_slots
from tidelog.engine.spark.split import split_rules
from tidelog.engine.spark.value_files import (
    files_of_values,
    has_unread_values,
    read_here,
    take_values,
    take_warnings,
)
from tidelog.engine.spark.work import Evaluation, find_checkpoint
from tidelog.plan.flatten import is_fact
from tidelog.program.nodes import Program, Stratum
from tidelog.program.subprogram import subprogram
from tidelog.program.walk_nodes import earlier_relations
from tidelog.values.codec import Codec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Where(Enum):
    """Where a stratum ran."""

    NOWHERE = "nowhere"
    DRIVER = "driver"
    WORKER = "worker"
    DATAFRAME = "dataframe"
    DECOMPOSED = "decomposed"
    PARTNERS = "partners"
    SHUFFLE = "shuffle"


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a stratum ran, and why there."""

    relations: tuple[str, ...]
    where: Where
    reason: str


class SparkEngine(IncomingFacts):
    """Runs a program once; see `engine.protocol.Engine`."""

    def __init__(
        self,
        program: Program,
        codec: Codec,
        settings: Settings,
        functions: UserFunctions,
        options: SparkOptions,
    ) -> None:
        self._user_program = program
        self._program = split_rules(program)
        self._settings = settings
        self._functions = functions
        self._partners = options.partners or settled_slots(options.spark)
        super().__init__(codec, options, open_storage(options), self._partners)
        self._holdings = {
            name: RelationFacts(name, relation.arity, self._folder)
            for name, relation in self._program.relations.items()
        }
        self._numbering = Numbering()
        self.placements: tuple[Placement, ...] = ()
        # How many values the partners of the last stratum found too frequent for one of them.
        self._heavy_values = 0

    def evaluate(self, observer: Observer) -> RunStatistics:
        """Evaluate every relation to its fixpoint, stratum by stratum."""
        # Constants get their codes first: whoever asks for them later need not read workers' values.
        codes_of_constants(self._program.strata, self._codec)
        rows, written = self.write_incoming(self._program.relations)
        for name, found in rows.items():
            self._holdings[name].put_rows(found)
        for name, filed in written.items():
            self._holdings[name].put_files(filed.files, filed.size, is_wide=filed.is_wide)
        self.placements = ()
        made = self._program.relations.keys() - self._user_program.relations.keys()
        finished = evaluate_strata(self._program, self._run, observer, made)
        return replace(finished, strata=tuple(s for s in finished.strata if made.isdisjoint(s.relations)))

    def size(self, relation: str) -> int:
        """Return the number of facts."""
        return self._holdings[relation].size

    def facts(self, relation: str) -> list[Codes]:
        """Return all facts as one array of codes per column."""
        return self._holdings[relation].columns()

    def match(self, relation: str, pattern: Sequence[int | None]) -> list[Codes]:
        """Return the facts that agree with the pattern's codes; None agrees with all."""
        return as_columns(matching(self._holdings[relation].rows(), pattern))

    def code_frame(self, relation: str) -> "DataFrame | None":
        """Return the codes of a relation as a data frame for workers, or None if the driver has them."""
        files, arity = self._holdings[relation].known_files(), self._program.relations[relation].arity
        if arity and not files and has_unread_values(self._codec):
            # Decoding a few rows here would bring all texts to the driver.
            files = self._holdings[relation].files(f"out-{uuid.uuid4().hex[:12]}")
        if not files or not arity:
            return None
        return read_codes(self._options.spark, self._folder, files, arity)

    # --- one stratum ----------------------------------------------------------------------------

    def _place(self, stratum: Stratum) -> Placement:
        names = tuple(name for name in stratum.relations if name in self._user_program.relations)
        closed = closed_for_partners(stratum, self._program)
        whole = reason_for_one_place(closed.stratum, closed.program)
        if not closed.stratum.rules and whole is None:
            return Placement(names, Where.NOWHERE, "it has no rules")
        reason = reason_against_workers(stratum, self._program, self._functions)
        if reason is not None:
            return Placement(names, Where.DRIVER, reason)
        read = self._facts_read(stratum)
        # The driver would have to read all values of workers for the few that the stratum needs.
        if not (self._needs_values(stratum) and has_unread_values(self._codec)):
            if stratum.rules and all(is_fact(rule) for rule in stratum.rules):
                return Placement(names, Where.DRIVER, "the program has its facts")
            if read <= self._options.driver_facts:
                return Placement(
                    names, Where.DRIVER, f"it reads {read:,} facts, which no worker is needed for"
                )
        if whole is not None:
            refusal = law_columns(stratum, self._program).refusal
            if refusal is not None:
                return Placement(names, Where.WORKER, f"{refusal}, so one worker has all its facts")
        return self._place_on_workers(closed, names, whole)

    def _needs_values(self, stratum: Stratum) -> bool:
        """Say whether one place that evaluates a stratum needs the values behind codes."""
        return (
            reason_for_values(stratum, self._program) is not None
            or law_columns(stratum, self._program).refusal is not None
        )

    def _facts_read(self, stratum: Stratum) -> int:
        return sum(self._holdings[name].size for name in {*earlier_relations(stratum), *stratum.relations})

    def _place_on_workers(self, closed: ClosedByRules, names: tuple[str, ...], law: str | None) -> Placement:
        """Choose, among the possible ways, the one that demands least of the cluster."""
        stratum = closed.stratum
        no_frames = law or self._program.law_of(stratum) or reason_against_frames(stratum, self._program)
        if not stratum.is_recursive and no_frames is None:
            return Placement(names, Where.DATAFRAME, "not recursive: Spark joins and spills")
        divided = self._divide(closed)
        if stratum.is_recursive and divided.routes.is_decomposed:
            return Placement(names, Where.DECOMPOSED, "every derivation stays with one column's value")
        refusal = reason_against_barrier(self._options, self._partners)
        if refusal is None:
            reason = f"{self._partners} partners exchange facts{divided.remark}"
            if law is not None:
                reason += f"; {law}, and each partner decides about the facts that it owns"
            return Placement(names, Where.PARTNERS, reason + closing_remark(closed))
        if no_frames is None:
            return Placement(names, Where.SHUFFLE, refusal)
        return Placement(names, Where.WORKER, f"{refusal}, and {no_frames}")

    def _divide(self, closed: ClosedByRules) -> DividedStratum:
        """Return where partners keep facts; those that make values agree on codes, so they are connected."""
        sizes = {name: self._holdings[name].size for name in earlier_relations(closed.stratum)}
        return divide_stratum(
            closed.program,
            closed.stratum,
            sizes,
            self._options.replicated_facts,
            is_connected=reason_for_values(closed.stratum, closed.program) is not None,
        )

    def _run(self, number: int, stratum: Stratum, observer: Observer) -> StratumStatistics:
        placement = self._place(stratum)
        facts = self._facts_read(stratum)
        if placement.where is Where.DRIVER and facts > self._options.driver_facts >= 0:
            warning = in_driver(placement.relations, facts, placement.reason, "give the driver memory for it")
            self._codec.warnings["spark-in-driver", stratum.relations[0]] = warning
        self._heavy_values = 0
        statistics = self._run_placed(number, stratum, placement.where, observer)
        placement = replace(placement, reason=placement.reason + spread_remark(self._heavy_values))
        self.placements = (*self.placements, placement)
        return statistics

    def _run_placed(
        self, number: int, stratum: Stratum, where: Where, observer: Observer
    ) -> StratumStatistics:
        match where:
            case Where.NOWHERE:
                facts = sum(self._holdings[name].size for name in stratum.relations)
                return StratumStatistics(stratum.relations, False, 0, facts, 0, 0.0)
            case Where.DRIVER:
                return self._run_in_driver(stratum, observer)
            case Where.DATAFRAME | Where.SHUFFLE:
                return self._run_as_frames(number, stratum, observer)
            case Where.WORKER:
                return self._run_alone(number, stratum)
            case _:
                return self._run_on_partners(number, stratum)

    def _run_in_driver(self, stratum: Stratum, observer: Observer) -> StratumStatistics:
        """Run a stratum on the local engine, in this process."""
        if self._needs_values(stratum):
            read_here(self._codec)
        part = subprogram(self._program, [stratum])
        engine = LocalEngine(part, self._codec, self._settings, self._functions, self._numbering)
        for name in part.relations:
            if self._holdings[name].size:
                engine.insert(name, self._holdings[name].columns())
        statistics = engine.evaluate(_OneStratum(observer)).strata[-1]
        for name in stratum.relations:
            self._holdings[name].put_rows(as_rows(engine.facts(name), engine.size(name)))
        return statistics

    def _run_as_frames(self, number: int, stratum: Stratum, observer: Observer) -> StratumStatistics:
        """Run a stratum as data frames over codes."""
        begun = time.perf_counter()
        spark, name = self._options.spark, f"{number}-{uuid.uuid4().hex[:12]}"
        needed = {*earlier_relations(stratum), *stratum.relations}
        frames = {
            n: read_codes(
                spark, self._folder, self._holdings[n].files(f"{name}-in"), self._program.relations[n].arity
            )
            for n in needed
        }
        rules = FrameStratum(spark, stratum, self._program, self._codec, self._settings)
        iterations = 1
        if stratum.is_recursive:

            def iterate(iteration: int, new: int) -> None:
                observer.iteration_finished(number, iteration, new, new)

            found, iterations = rules.loop(frames, iterate)
        else:
            found = rules.once(frames)
        is_wide = any(self._holdings[n].is_wide for n in needed)
        for n, frame in found.items():
            files = write_files(frame, self._folder, n, name)
            size = sum(self._folder.count_rows(file) for file in files)
            if files:
                self._holdings[n].put_files(files, size, is_wide=is_wide)
            else:
                self._holdings[n].put_rows(np.empty((0, self._program.relations[n].arity), np.int64))
        facts = sum(self._holdings[n].size for n in stratum.relations)
        # Frames do not report how many derivations they went through.
        return StratumStatistics(
            stratum.relations, stratum.is_recursive, iterations, facts, facts, time.perf_counter() - begun
        )

    def _run_on_partners(self, number: int, stratum: Stratum) -> StratumStatistics:
        closed = closed_for_partners(stratum, self._program)
        divided = self._divide(closed)
        payload = self._payload(number, stratum, divided.routes)
        # The input facts of an equivalence are pairs; it begins without facts.
        files = {closed.pairs.get(name, name): each for name, each in payload.files.items()}
        made = (*divided.made, *closed.pairs.values())
        payload = replace(payload, program=divided.program, made=made, files=files)
        try:
            try:
                return self._submit(payload, stratum, self._partners)
            except NeedsWideCodes:
                wide = replace(payload, is_wide=True, name=f"{payload.name}-wide", saved=None)
                return self._submit(wide, stratum, self._partners)
        except _RepeatedKey:
            # Which rules derive the two facts is found where all facts are.
            return self._run_alone(number, stratum)

    def _run_alone(self, number: int, stratum: Stratum) -> StratumStatistics:
        return self._submit(self._payload(number, stratum, Routes({}, {}, False)), stratum, 1)

    def _payload(self, number: int, stratum: Stratum, routes: Routes) -> Evaluation:
        """Return what workers need for a stratum."""
        name = f"{number}-{uuid.uuid4().hex[:12]}"
        needed = {*earlier_relations(stratum), *stratum.relations}
        called = functions_of(stratum, self._program)
        needs_values = _is_alone(routes) or reason_for_values(stratum, self._program) is not None
        return Evaluation(
            program=self._program,
            stratum=number,
            routes=routes,
            known=codes_of_constants([stratum], self._codec),
            settings=replace(self._settings, jobs=1),
            folder=self._folder.uri,
            name=name,
            files={n: self._holdings[n].files(f"{name}-in") for n in needed if self._holdings[n].size},
            is_wide=any(self._holdings[n].is_wide for n in needed),
            checkpoint_seconds=self._options.checkpoint_seconds,
            values=files_of_values(self._codec, self._folder) if needs_values else None,
            functions=pack_functions({n: each for n, each in self._functions.items() if n in called}),
        )

    def _submit(self, payload: Evaluation, stratum: Stratum, partners: int) -> StratumStatistics:
        begun = time.perf_counter()
        options, is_alone = self._options, _is_alone(payload.routes)
        module, function = ("alone", "evaluate_alone") if is_alone else ("work", "evaluate")
        work = (f"tidelog.engine.spark.{module}", function, payload)
        job = BarrierJob(*work, partners, options.attempts, options.safety, options.rendezvous)
        if is_alone or payload.routes.is_decomposed:
            replies = run_apart(options.spark, job)
        else:
            replies = run_job(options.spark, job, self._resume)
        results = [json.loads(reply.text) for reply in replies]
        if any(result.get("repeats_key") for result in results):
            raise _RepeatedKey
        parts = [result["statistics"] for result in results]
        self._heavy_values = results[0].get("heavy", 0)
        for name in stratum.relations:
            self._holdings[name].put_files(
                [result["files"][name] for result in results],
                sum(result["sizes"][name] for result in results),
                is_wide=payload.is_wide or results[0].get("is_wide", False),
            )
        if payload.values is not None:
            take_values(self._codec, self._folder, results[0]["values"])
            for result in results:
                take_warnings(self._codec, result["warnings"])
        iterations = max(part["iterations"] for part in parts)
        facts, derivations = (sum(part[what] for part in parts) for what in ("facts", "derivations"))
        seconds = time.perf_counter() - begun
        return StratumStatistics(
            stratum.relations, stratum.is_recursive, iterations, facts, derivations, seconds
        )

    def _resume(self, payload: object) -> object:
        """Return the same evaluation, resumed from its last checkpoint."""
        assert isinstance(payload, Evaluation)
        saved = find_checkpoint(self._folder, payload.name)
        return dataclasses.replace(payload, saved=saved)


class _RepeatedKey(Exception):  # noqa: N818 - a signal within this module
    """Two facts of a relation agree on its keys."""


def _is_alone(routes: Routes) -> bool:
    """Say whether one worker has all facts of a stratum."""
    return not routes.relations


class _OneStratum(SilentObserver):
    """Passes on the iterations of a program made of one stratum."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def iteration_finished(self, stratum: int, iteration: int, new_facts: int, total_facts: int) -> None:
        """Pass it on."""
        self._observer.iteration_finished(stratum, iteration, new_facts, total_facts)
