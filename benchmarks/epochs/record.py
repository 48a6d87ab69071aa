"""One epoch as it was measured."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.engine.epoch import Action, EpochResult, MaintenanceSettings, RelationChange
from tidelog.engine.protocol import SilentObserver
from tidelog.maintain import LocalMaintainedEngine


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one epoch changed and took."""

    workload: str
    experiment: str
    strategy: str
    # Input facts changed.
    size: int
    # "delete" or "insert"
    direction: str
    seconds: float
    cpu_seconds: float
    # Facts that appeared or vanished in relations with rules.
    impact: int
    # Derivations enumerated, over all strata.
    work: int
    recomputed: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds on the clock and seconds of the processor."""

    seconds: float
    cpu_seconds: float


class Stopwatch:
    """Measures from its making to `stop`."""

    def __init__(self) -> None:
        self._cpu = time.process_time()
        self._start = time.perf_counter()

    def stop(self) -> Taken:
        """Return what passed since the start."""
        return Taken(time.perf_counter() - self._start, time.process_time() - self._cpu)


@dataclass(frozen=True, slots=True)
class EpochKey:
    """What an epoch is measured for."""

    workload: str
    experiment: str
    size: int
    direction: str
    seed: int = 0


def apply_epoch(
    engine: LocalMaintainedEngine,
    changes: Mapping[str, RelationChange],
    settings: MaintenanceSettings,
    key: EpochKey,
) -> Epoch:
    """Apply one change and return what it took."""
    watch = Stopwatch()
    result = engine.apply(changes, settings, SilentObserver())
    taken = watch.stop()
    return Epoch(
        key.workload,
        key.experiment,
        settings.strategy.value,
        key.size,
        key.direction,
        taken.seconds,
        taken.cpu_seconds,
        impact(result, changes),
        sum(stratum.work for stratum in result.strata),
        sum(stratum.action is Action.RECOMPUTED for stratum in result.strata),
        key.seed,
    )


def impact(result: EpochResult, changes: Mapping[str, RelationChange]) -> int:
    """Return how many facts appeared or vanished beyond the input facts that were changed.

    An input fact that stays as a derived one does not appear among the changed facts, so the
    number is at least zero.
    """
    changed = sum(len(columns[0]) for side in (result.inserted, result.deleted) for columns in side.values())
    asked = sum(len(side[0]) for change in changes.values() for side in (change.inserted, change.deleted))
    return max(changed - asked, 0)
