"""What a session took: seconds per phase, and what the engine reported."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import Observer, SilentObserver, StratumStatistics
from tidelog.program.suggest import counted
from tidelog.progress import PROGRESS

if TYPE_CHECKING:
    from tidelog.engine.profile.recorder import ProfileRecorder

Phase = Literal["start", "parse", "load", "evaluate", "write"]
_WORDS: Final[Mapping[Phase, str]] = {
    "start": "loading the engine",
    "parse": "reading the program",
    "load": "loading facts",
    "evaluate": "evaluating",
    "write": "writing",
}


@dataclass(frozen=True, slots=True)
class SessionStatistics:
    """How long the phases and strata of a session took so far.

    `seconds` has one number per phase that ran: start (loading the packages of the engine), parse
    (with all checks), load (input facts), evaluate, write. `strata` are those that were finished.
    """

    seconds: Mapping[str, float]
    strata: tuple[StratumStatistics, ...]


class SessionRecorder:
    """An observer that keeps what it is told, shows it as progress and passes it on to another.

    With `profiles` an engine that can writes a profile of its evaluation to `profile`.
    """

    def __init__(self, observer: Observer | None = None, *, profiles: bool = False) -> None:
        self.observer = observer or SilentObserver()
        self.profile = _profile_recorder() if profiles else None
        self._seconds: dict[str, float] = {}
        self._strata: list[StratumStatistics] = []
        self._stratum = ""
        self._last_report = time.perf_counter()

    @contextmanager
    def phase(self, phase: Phase) -> Iterator[None]:
        """Add the time spent inside to the phase, also when it ends with an error."""
        begun = time.perf_counter()
        try:
            with PROGRESS.activity(_WORDS[phase]):
                yield
        finally:
            self.add(phase, time.perf_counter() - begun)

    def add(self, phase: Phase, seconds: float) -> None:
        """Add seconds to a phase."""
        self._seconds[phase] = self._seconds.get(phase, 0.0) + seconds

    def statistics(self) -> SessionStatistics:
        """Return what is known now."""
        return SessionStatistics(dict(self._seconds), tuple(self._strata))

    def stratum_started(self, stratum: int, strata: int, relations: Sequence[str]) -> None:
        """Show which stratum it is, and pass it on."""
        names = ", ".join(relations)
        self._stratum = f"stratum {stratum + 1}/{strata} {names[:40]}{'...' if len(names) > 40 else ''}"
        self._last_report = time.perf_counter()
        PROGRESS.detail(self._stratum)
        self.observer.stratum_started(stratum, strata, relations)

    def iteration_finished(self, stratum: int, iteration: int, new_facts: int, total_facts: int) -> None:
        """Show the iteration, the facts so far and how quickly new ones are found, and pass it on."""
        if PROGRESS.is_shown:
            now = time.perf_counter()
            rate = new_facts / max(now - self._last_report, 1e-6)
            self._last_report = now
            facts = f"{counted(total_facts, 'fact')} | {rate:,.0f}/s"
            PROGRESS.detail(f"{self._stratum} | iteration {iteration} | {facts}")
        self.observer.iteration_finished(stratum, iteration, new_facts, total_facts)

    def stratum_finished(self, stratum: int, statistics: StratumStatistics) -> None:
        """Keep it and pass it on."""
        self._strata.append(statistics)
        self.observer.stratum_finished(stratum, statistics)


def _profile_recorder() -> "ProfileRecorder":
    from tidelog.engine.profile.recorder import ProfileRecorder  # noqa: PLC0415 - most runs write none

    return ProfileRecorder()
