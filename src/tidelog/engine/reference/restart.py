"""An engine that follows changes by evaluating everything again."""

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.engine.epoch import (
    NO_CHANGES,
    Action,
    EngineState,
    EpochResult,
    MaintenanceSettings,
    RelationChange,
    RelationState,
    Strategy,
    StratumReport,
)
from tidelog.engine.numbering import Numbering
from tidelog.engine.protocol import Codes, Columns, Engine, Observer, RunStatistics, SilentObserver
from tidelog.program.nodes import Program

Rows = set[tuple[int, ...]]


class RestartingEngine:
    """Gives an engine that can only evaluate the epochs of `engine.epoch.MaintainedEngine`.

    Whatever the strategy asked for, it starts over; the reference engine is slow anyway, and what it
    says of an epoch must not depend on cleverness.
    """

    def __init__(self, program: Program, make: Callable[[Program, Numbering], Engine]) -> None:
        self._program = program
        self._make = make
        self.numbering = Numbering()
        self._engine = make(program, self.numbering)
        self._inputs: dict[str, Rows] = {name: set() for name in program.relations}

    def insert(self, relation: str, columns: Columns) -> None:
        """Insert input facts."""
        self._inputs[relation] |= _rows(columns) if columns else {()}
        self._engine.insert(relation, columns)

    def evaluate(self, observer: Observer) -> RunStatistics:
        """Bring every derived relation to its fixpoint."""
        return self._engine.evaluate(observer)

    def size(self, relation: str) -> int:
        """Return the number of facts."""
        return self._engine.size(relation)

    def facts(self, relation: str) -> list[Codes]:
        """Return all facts."""
        return self._engine.facts(relation)

    def match(self, relation: str, pattern: Sequence[int | None]) -> list[Codes]:
        """Return the facts that agree with the pattern."""
        return self._engine.match(relation, pattern)

    @property
    def evaluating(self) -> Engine:
        """Return the engine that holds the facts of the present epoch."""
        return self._engine

    def is_input(self, relation: str, columns: Sequence[Codes]) -> npt.NDArray[np.bool_]:
        """Say of each fact whether it is an input fact now."""
        inputs = self._inputs[relation]
        width = self._program.relations[relation].arity
        return np.array([row[:width] in inputs for row in _listed(columns)], dtype=np.bool_)

    def input_facts(self, relation: str) -> Sequence[Codes]:
        """Return the input facts of a relation, those that a law of it leaves out too."""
        rows = self._inputs[relation]
        return _columns(rows, self._program.relations[relation].arity) or [np.zeros(len(rows), np.int64)]

    def apply(
        self,
        changes: Mapping[str, RelationChange],
        settings: MaintenanceSettings,  # noqa: ARG002 - there is only one way here
        observer: Observer,
    ) -> EpochResult:
        """Bring the state to the next epoch."""
        return self._become(self._program, changes, observer)

    def change_rules(
        self,
        program: Program,
        settings: MaintenanceSettings,  # noqa: ARG002 - there is only one way here
        observer: Observer,
        changes: Mapping[str, RelationChange] = NO_CHANGES,
    ) -> EpochResult:
        """Go on with another program whose input relations keep their facts, but for the changes."""
        return self._become(program, changes, observer)

    def export_state(self) -> EngineState:
        """Return all facts; nothing is known of iterations and counts, which are 1."""
        relations = {name: self._exported(name) for name in self._program.relations}
        return EngineState(relations, numbers=self.numbering.export())

    def _exported(self, name: str) -> RelationState:
        """Return the facts of a relation, and without a level the input facts that a law of it leaves out."""
        from tidelog.storage.annotations import ABSENT  # noqa: PLC0415 - few sessions export their state

        arity = self._program.relations[name].arity
        columns, size = list(self.facts(name)), self.size(name)
        is_input = self.is_input(name, columns if arity else [np.zeros(size, dtype=np.int64)])
        left_out = self._inputs[name] - _rows(columns) if is_input.sum() < len(self._inputs[name]) else set()
        added = _columns(left_out, arity)
        levels = np.concatenate([np.where(is_input, 0, 1), np.full(len(left_out), ABSENT)]).astype(np.int32)
        return RelationState(
            [np.concatenate(parts) for parts in zip(columns, added, strict=True)],
            levels,
            np.concatenate([np.ones(size), np.zeros(len(left_out))]).astype(np.int32),
            np.concatenate([is_input, np.ones(len(left_out), dtype=np.bool_)]),
        )

    def import_state(self, state: EngineState) -> None:
        """Take over the input facts of an exported state and evaluate them."""
        self.numbering.take(state.numbers)
        for name, relation in state.relations.items():
            if relation.is_input.any():
                self.insert(name, [column[relation.is_input] for column in relation.columns])
        self._engine.evaluate(SilentObserver())

    def _become(
        self, program: Program, changes: Mapping[str, RelationChange], observer: Observer
    ) -> EpochResult:
        begun = time.perf_counter()
        inputs = {name: self._inputs.get(name, set()) for name in program.relations}
        for name, change in changes.items():
            width = program.relations[name].arity
            deleted_rows, inserted_rows = (
                {row[:width] for row in _listed(side)} for side in (change.deleted, change.inserted)
            )
            inputs[name] = (inputs[name] - deleted_rows) | inserted_rows
        other = self._make(program, self.numbering)
        for name, rows in inputs.items():
            if rows:
                other.insert(name, _columns(rows, program.relations[name].arity))
        mark = self.numbering.mark()
        try:
            statistics = other.evaluate(observer)
        except BaseException:
            self.numbering.rewind(mark)
            raise
        inserted: dict[str, Sequence[Codes]] = {}
        deleted: dict[str, Sequence[Codes]] = {}
        for name, relation in program.relations.items():
            before = self._facts_of(self._engine, name) if name in self._program.relations else set()
            after = self._facts_of(other, name)
            for side, rows in ((inserted, after - before), (deleted, before - after)):
                if rows:
                    side[name] = _columns(rows, relation.arity) or [np.zeros(1, dtype=np.int64)]
        self._program, self._engine, self._inputs = program, other, inputs
        seconds = time.perf_counter() - begun
        reports = (
            StratumReport(
                stratum.relations,
                Action.RECOMPUTED,
                Strategy.RECOMPUTE,
                "this engine always starts over",
                stratum.derivations,
                stratum.derivations,
                seconds * stratum.seconds / max(statistics.seconds, 1e-9),
            )
            for stratum in statistics.strata
        )
        return EpochResult(inserted, deleted, tuple(reports))

    @staticmethod
    def _facts_of(engine: Engine, name: str) -> Rows:
        return _rows(engine.facts(name)) or ({()} if engine.size(name) else set())


def _listed(columns: Sequence[Codes]) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _rows(columns: Sequence[Codes]) -> Rows:
    return set(_listed(columns))


def _columns(rows: Rows, arity: int) -> list[Codes]:
    table = np.array(sorted(rows), dtype=np.int64).reshape(len(rows), arity)
    return [np.ascontiguousarray(table[:, place]) for place in range(arity)]
