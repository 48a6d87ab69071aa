"""Delta debugging as the thesis runs it: every probe evaluates the program from nothing."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.epochs.subject import Rows, Subject, columns_of
from benchmarks.faults.cases import FaultyEpoch
from tidelog.engine.local import LocalEngine
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.explain.blame.ddmin import ddmin
from tidelog.explain.blame.suspects import Key


@dataclass
class Evaluating:
    """Looks for a repair; `seconds` are the CPU seconds of loading and evaluating, reading answers apart."""

    subject: Subject
    epoch: FaultyEpoch
    most_seconds: float
    probes: int = 0
    seconds: float = 0.0
    _changes: list[tuple[str, int, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for is_insert, sides in ((True, self.epoch.inserted), (False, self.epoch.deleted)):
            for name, rows in sides.items():
                places = _places(self.subject.inputs[name], rows)
                self._changes += [(name, place, is_insert) for place in places]

    def run(self) -> int:
        """Return the size of the repair, 0 if the time was over before."""
        try:
            return len(ddmin(range(len(self._changes)), self._is_repair))
        except TimeoutError:
            return 0

    def _is_repair(self, taken: Sequence[int]) -> bool:
        if self.seconds > self.most_seconds:
            raise TimeoutError
        chosen = set(taken)
        kept = {name: np.ones(len(rows), np.bool_) for name, rows in self.subject.inputs.items()}
        for number, (name, place, is_insert) in enumerate(self._changes):
            kept[name][place] = is_insert != (number in chosen)
        inputs = {name: columns_of(rows[kept[name]]) for name, rows in self.subject.inputs.items()}
        engine = LocalEngine(self.subject.program, self.subject.codec, Settings(jobs=self.subject.jobs), {})
        self.probes += 1
        begun = time.process_time()
        for name, columns in inputs.items():
            engine.insert(name, columns)
        engine.evaluate(SilentObserver())
        self.seconds += time.process_time() - begun
        faults = self.epoch.faults
        return not any(_holds(engine, key) for key in faults.unwanted) and all(
            _holds(engine, key) for key in faults.missing
        )


def _places(inputs: Rows, rows: Rows) -> list[int]:
    """Return where facts stand among the input facts of their relation, which has each once."""
    where = {tuple(row): place for place, row in enumerate(inputs.tolist())}
    return [where[tuple(row)] for row in rows.tolist()]


def _holds(engine: LocalEngine, key: Key) -> bool:
    name, codes = key
    columns = engine.facts(name)
    return bool(
        np.logical_and.reduce([column == code for column, code in zip(columns, codes, strict=True)]).any()
    )
