"""What one case takes: blame and repair by reasons, and delta debugging on the same engine."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from benchmarks.epochs.subject import Subject
from benchmarks.faults.cases import FaultyEpoch, make_case, standing_after
from benchmarks.faults.evaluating import Evaluating
from tidelog.engine.epoch import EpochResult
from tidelog.explain.blame.case import Case
from tidelog.explain.blame.localize import BlameSearch
from tidelog.explain.blame.repair import RepairSearch, SearchLimits
from tidelog.maintain import LocalMaintainedEngine


@dataclass(frozen=True)
class Measured:
    """One case; seconds are CPU seconds.

    `evaluation_seconds` is what evaluating the program from nothing takes. Delta debugging as the
    thesis runs it evaluates the program for every probe; `ddmin_seconds` is what it takes with trial
    epochs in the place of evaluations. A `ddmin_size` of 0 says that it was cut off, and that its
    numbers are lower bounds. Where evaluations were really run, `evaluated_probes` of them took
    `evaluated_seconds`; an `evaluated_size` of 0 says that these were not all.
    """

    workload: str
    number: int
    unwanted: int
    missing: int
    changed_facts: int
    size: int
    is_optimal: bool
    repair_seconds: float
    repair_trials: int
    blame_size: int
    blame_seconds: float
    ddmin_size: int
    ddmin_seconds: float
    ddmin_probes: int
    evaluation_seconds: float
    evaluated_probes: int = 0
    evaluated_seconds: float = 0.0
    evaluated_size: int = 0

    @property
    def evaluating_ddmin_seconds(self) -> float:
        """Return what delta debugging takes if every probe evaluates the program.

        This is measured if all was run; else it is the number of probes times one evaluation.
        """
        if self.evaluated_size:
            return self.evaluated_seconds
        if self.evaluated_probes:
            return self.ddmin_probes * self.evaluated_seconds / self.evaluated_probes
        return self.ddmin_probes * self.evaluation_seconds

    @property
    def speedup(self) -> float:
        """Return the speedup over delta debugging that evaluates the program for every probe."""
        return self.evaluating_ddmin_seconds / self.repair_seconds

    @property
    def trial_speedup(self) -> float:
        """Return the speedup over delta debugging by trial epochs."""
        return self.ddmin_seconds / self.repair_seconds

    @property
    def is_cut_off(self) -> bool:
        """Say whether delta debugging was not waited for."""
        return self.ddmin_size == 0

    def to_json(self) -> dict[str, object]:
        """Return what json.dumps takes."""
        return asdict(self)


@dataclass
class LimitedCase(Case):
    """A case in which nobody looks at worlds for ever: until when, in CPU seconds."""

    cpu_end: float = math.inf

    @contextmanager
    def world(self, taken: frozenset[int]) -> Iterator[EpochResult]:
        """Take the engine to a world and back, unless the time is over."""
        if time.process_time() > self.cpu_end:
            raise TimeoutError
        with super().world(taken) as result:
            yield result


@dataclass(frozen=True, slots=True)
class How:
    """What an evaluation of the program takes, and how long delta debugging may go on in both forms."""

    evaluation_seconds: float
    ddmin_seconds: float
    evaluating_seconds: float = 0.0


def measure_case(
    subject: Subject, engine: LocalMaintainedEngine, number: int, epoch: FaultyEpoch, how: How
) -> Measured:
    """Return what the case takes; the engine is as it was afterwards."""
    with standing_after(engine, epoch):
        case = make_case(subject, engine, epoch, Case)
        begun = time.process_time()
        found = RepairSearch(case, SearchLimits()).by_reasons()[0]
        repair_seconds = time.process_time() - begun
        trials = case.trials

        case = make_case(subject, engine, epoch, Case)
        begun = time.process_time()
        blamed = BlameSearch(case).by_reasons()
        blame_seconds = time.process_time() - begun

        limited = make_case(subject, engine, epoch, LimitedCase)
        begun = time.process_time()
        limited.cpu_end = begun + how.ddmin_seconds
        try:
            ddmin_size = len(RepairSearch(limited, SearchLimits(seconds=600)).by_ddmin()[0].taken)
        except TimeoutError:
            ddmin_size = 0
        ddmin_seconds = time.process_time() - begun
    evaluating = Evaluating(subject, epoch, how.evaluating_seconds)
    evaluated_size = evaluating.run() if how.evaluating_seconds else 0
    result = epoch.result
    changed = sum(len(columns[0]) for side in (result.inserted, result.deleted) for columns in side.values())
    return Measured(
        subject.name, number, len(epoch.faults.unwanted), len(epoch.faults.missing), changed,
        len(found.taken), found.is_optimal, repair_seconds, trials, len(blamed), blame_seconds,
        ddmin_size, ddmin_seconds, limited.trials, how.evaluation_seconds,
        evaluating.probes, evaluating.seconds, evaluated_size,
    )  # fmt: skip
