"""What a session took: seconds per phase, and what the engine reported."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from tidelog.engine.protocol import Observer, SilentObserver, StratumStatistics

Phase = Literal["start", "parse", "load", "evaluate", "write"]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a session took so far.

    `seconds` has one number per phase that ran: start (loading the packages of the engine), parse
    (with all checks), load (input facts), evaluate, write. `strata` are those that were finished.
    """

    seconds: Mapping[str, float]
    strata: tuple[StratumStatistics, ...]


class Recorder:
    """An observer that keeps what it is told and passes it on to another."""

    def __init__(self, observer: Observer | None = None) -> None:
        self.observer = observer or SilentObserver()
        self._seconds: dict[str, float] = {}
        self._strata: list[StratumStatistics] = []

    @contextmanager
    def phase(self, phase: Phase) -> Iterator[None]:
        """Add the time spent inside to the phase, also when it ends with an error."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.add(phase, time.perf_counter() - begun)

    def add(self, phase: Phase, seconds: float) -> None:
        """Add seconds to a phase."""
        self._seconds[phase] = self._seconds.get(phase, 0.0) + seconds

    def statistics(self) -> Statistics:
        """Return what is known now."""
        return Statistics(dict(self._seconds), tuple(self._strata))

    def stratum_started(self, stratum: int, strata: int, relations: Sequence[str]) -> None:
        """Pass it on."""
        self.observer.stratum_started(stratum, strata, relations)

    def iteration_finished(self, stratum: int, iteration: int, new_facts: int, total_facts: int) -> None:
        """Pass it on."""
        self.observer.iteration_finished(stratum, iteration, new_facts, total_facts)

    def stratum_finished(self, stratum: int, statistics: StratumStatistics) -> None:
        """Keep it and pass it on."""
        self._strata.append(statistics)
        self.observer.stratum_finished(stratum, statistics)
