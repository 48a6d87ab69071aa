"""An engine that follows changes, spoken to in columns of codes, with the CPU seconds of each step."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.engine.epoch import MaintenanceSettings, RelationChange, Strategy
from tidelog.engine.local import LocalEngine
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.maintain import LocalMaintainedEngine
from tidelog.program import build_program
from tidelog.source import Source
from tidelog.syntax import parse
from tidelog.values import Codec

Columns = Sequence[npt.NDArray[np.int64]]


@dataclass
class Engine:
    """One engine over one program; every method returns CPU seconds."""

    text: str
    follows: bool = True

    def __post_init__(self) -> None:
        program, _ = build_program(parse(Source("benchmark.dl", self.text)))
        make = LocalMaintainedEngine if self.follows else LocalEngine
        self.evaluate_seconds = 0.0
        self.engine = make(program, Codec(program.types), Settings(jobs=1), {})

    def start(self, facts: Mapping[str, Columns]) -> float:
        """Insert facts, then evaluate; the seconds are those of both."""
        start = time.process_time()
        for name, columns in facts.items():
            self.engine.insert(name, columns)
        inserted = time.process_time()
        self.engine.evaluate(SilentObserver())
        self.evaluate_seconds = time.process_time() - inserted
        return time.process_time() - start

    def change(
        self, relation: str, inserted: Columns, deleted: Columns, strategy: Strategy = Strategy.UPDATE
    ) -> float:
        """Apply one epoch."""
        assert isinstance(self.engine, LocalMaintainedEngine)
        change = {relation: RelationChange(inserted, deleted)}
        start = time.process_time()
        self.engine.apply(change, MaintenanceSettings(strategy), SilentObserver())
        return time.process_time() - start


def chosen(columns: Columns, rows: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    """Return some rows of columns."""
    return [column[rows] for column in columns]


def none(columns: Columns) -> list[npt.NDArray[np.int64]]:
    """Return no rows of columns."""
    return [column[:0] for column in columns]
