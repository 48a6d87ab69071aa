"""The local engine: Numba kernels over codes, one machine, all its cores."""

import time
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import psutil

from tidelog.engine.epoch import (
    Action,
    EngineState,
    EpochResult,
    MaintenanceSettings,
    RelationChange,
    RelationState,
    Strategy,
    StratumReport,
)
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState, NeedsWideCodes
from tidelog.engine.local.statistics import StateStatistics
from tidelog.engine.local.stratum import StratumRun, Surroundings
from tidelog.engine.local.workers import Workers
from tidelog.engine.protocol import (
    Codes,
    Columns,
    Observer,
    RunStatistics,
    Settings,
    StratumStatistics,
    UserFunctions,
)
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Program, Stratum
from tidelog.storage.kernel import CodeArray
from tidelog.values.codec import Codec


class LocalEngine:
    """Runs a program on this machine; see `engine.protocol.Engine`."""

    def __init__(self, program: Program, codec: Codec, settings: Settings, functions: UserFunctions) -> None:
        self._program = program
        self._settings = settings
        self._functions = functions
        self._state = LocalState(program)
        self._expressions = Expressions(program, codec, functions)
        self._process = psutil.Process()
        self._given: dict[str, list[Codes]] = {
            name: [np.empty(0, np.int64) for _ in relation.columns] for name, relation in program.relations.items()
        }

    def insert(self, relation: str, columns: Columns) -> None:
        """Insert input facts."""
        before = self._given[relation]
        self._given[relation] = [np.concatenate([a, b]) for a, b in zip(before, columns, strict=True)]
        self._state.insert(relation, columns)
        self._check_memory()

    def evaluate(self, observer: Observer) -> RunStatistics:
        """Bring every relation to its fixpoint, stratum by stratum."""
        start = time.perf_counter()
        finished: list[StratumStatistics] = []
        workers = Workers(self._settings.jobs)
        try:
            around = Surroundings(
                self._state, self._expressions, self._functions, self._settings,
                StateStatistics(self._state), workers, self._check_memory,
            )  # fmt: skip
            for number, stratum in enumerate(self._program.strata):
                observer.stratum_started(number, len(self._program.strata), stratum.relations)
                statistics = self._run_stratum(number, stratum, around, observer)
                observer.stratum_finished(number, statistics)
                finished.append(statistics)
        finally:
            workers.close()
        return RunStatistics(tuple(finished), time.perf_counter() - start)

    def _run_stratum(
        self, number: int, stratum: Stratum, around: Surroundings, observer: Observer
    ) -> StratumStatistics:
        """Run one stratum; if a code outgrows 32 bits, widen the state and run it again."""
        # Rows are only ever appended, so the first ones are the inputs even after a failed run.
        inputs = {name: (self._state.relations[name], self._state.relations[name].count) for name in stratum.relations}
        try:
            return StratumRun(stratum, around).run(number, observer)
        except NeedsWideCodes:
            for name, (relation, count) in inputs.items():
                self._state.replace(name, relation.rows[:count])
            self._state.widen()
            return StratumRun(stratum, around).run(number, observer)

    def size(self, relation: str) -> int:
        """Return the number of facts."""
        return len(self._state.relations[relation])

    def facts(self, relation: str) -> list[Codes]:
        """Return all facts as one array of codes per column."""
        return _columns(self._state.relations[relation].live_rows())

    def match(self, relation: str, pattern: Sequence[int | None]) -> list[Codes]:
        """Return the facts that agree with the pattern's codes; None agrees with all."""
        stored = self._state.relations[relation]
        rows = stored.live_rows()
        keep = np.ones(len(rows), np.bool_)
        for place, code in enumerate(pattern):
            if code is not None:
                keep &= rows[:, place] == code
        return _columns(rows[keep])

    # --- epochs -----------------------------------------------------------------------------

    def given(self, relation: str, columns: Sequence[Codes]) -> npt.NDArray[np.bool_]:
        """Say of each fact whether it is an input fact now."""
        rows = {tuple(row) for row in zip(*(c.tolist() for c in self._given[relation]), strict=True)}
        asked = list(zip(*(column.tolist() for column in columns), strict=True))
        return np.array([row in rows for row in asked], np.bool_)

    def apply(
        self, changes: Mapping[str, RelationChange], settings: MaintenanceSettings, observer: Observer
    ) -> EpochResult:
        """Bring the state to the next epoch."""
        after = {}
        for name, columns in self._given.items():
            rows = set(zip(*(c.tolist() for c in columns), strict=True))
            if name in changes:
                rows -= set(zip(*(c.tolist() for c in changes[name].deleted), strict=True))
                rows |= set(zip(*(c.tolist() for c in changes[name].inserted), strict=True))
            after[name] = rows
        return self._become(self._program, after, settings, observer)

    def change_rules(
        self, program: Program, settings: MaintenanceSettings, observer: Observer
    ) -> EpochResult:
        """Go on with another program."""
        after = {
            name: set(zip(*(c.tolist() for c in columns), strict=True))
            for name, columns in self._given.items()
            if name in program.relations
        }
        return self._become(program, after, settings, observer)

    def _become(self, program, after, settings, observer):
        other = LocalEngine(program, self._expressions.codec, self._settings, self._functions)
        for name, rows in after.items():
            if rows:
                other.insert(name, list(np.array(sorted(rows), np.int64).T))
        start = time.perf_counter()
        other.evaluate(observer)
        inserted, deleted = {}, {}
        for name in program.relations:
            new = set(zip(*(c.tolist() for c in other.facts(name)), strict=True))
            known = name in self._program.relations
            old = set(zip(*(c.tolist() for c in self.facts(name)), strict=True)) if known else set()
            width = program.relations[name].arity
            if new - old:
                inserted[name] = list(np.array(sorted(new - old), np.int64).reshape(-1, width).T)
            if old - new:
                deleted[name] = list(np.array(sorted(old - new), np.int64).reshape(-1, width).T)
        self.__dict__.update(other.__dict__)
        reports = tuple(
            StratumReport(s.relations, Action.RECOMPUTED, Strategy.RECOMPUTE, "all is recomputed", 0, 0, time.perf_counter() - start)
            for s in program.strata
        )
        return EpochResult(inserted, deleted, reports)

    def export_state(self) -> EngineState:
        """Return all relations with annotations."""
        result = {}
        for name in self._program.relations:
            columns = self.facts(name)
            count = self.size(name)
            result[name] = RelationState(
                columns, np.ones(count, np.int32), np.ones(count, np.int32), self.given(name, columns)
            )
        return EngineState(result)

    def import_state(self, state: EngineState) -> None:
        """Take over an exported state."""
        for name, relation in state.relations.items():
            self._given[name] = [column[relation.given] for column in relation.columns]
            self._state.insert(name, relation.columns)

    def _check_memory(self) -> None:
        limit = self._settings.memory_limit_bytes
        if limit is None:
            return
        used = self._process.memory_info().rss
        if used > limit:
            sizes = ", ".join(
                f"{name} {len(relation):,}" for name, relation in self._state.relations.items() if len(relation)
            )
            raise TidelogError(
                [
                    Diagnostic(
                        code="memory-limit",
                        message=f"{used / 2**20:,.0f} MiB in use, over the limit of {limit / 2**20:,.0f} MiB; "
                        f"facts so far: {sizes}",
                        hint="raise the limit, or make the rules derive less",
                    )
                ]
            )


def _columns(rows: CodeArray) -> list[Codes]:
    return [rows[:, place].astype(np.int64) for place in range(rows.shape[1])]
