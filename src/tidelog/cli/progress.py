"""Progress on a terminal: stratum, iteration, facts, rate, memory."""

import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tidelog.engine.protocol import StratumStatistics

if TYPE_CHECKING:
    from rich.live import Live

# Most programs are done before this; they should neither flicker nor wait for rich to be imported.
_PATIENCE_SECONDS = 0.5


class Progress:
    """An observer that shows one changing line on stderr while it is entered as a context.

    The line is redrawn by a thread of its own, so that it moves during a long iteration too.
    """

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._stratum = 0
        self._strata = 0
        self._relations: Sequence[str] = ()
        self._iteration = 0
        self._facts = 0
        self._rate = 0.0
        self._last_report = self._begun
        self._live: Live | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(_PATIENCE_SECONDS, self._show)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._timer.finished.set()
            if self._live is not None:
                self._live.stop()

    def stratum_started(self, stratum: int, strata: int, relations: Sequence[str]) -> None:
        """Show which stratum it is."""
        self._stratum, self._strata, self._relations, self._iteration = stratum + 1, strata, relations, 0

    def iteration_finished(self, stratum: int, iteration: int, new_facts: int, total_facts: int) -> None:  # noqa: ARG002 - the observer protocol
        """Show the iteration, the facts so far and how quickly new ones come."""
        now = time.monotonic()
        self._rate = new_facts / max(now - self._last_report, 1e-6)
        self._iteration, self._facts, self._last_report = iteration, total_facts, now

    def stratum_finished(self, stratum: int, statistics: StratumStatistics) -> None:
        """Wait for the next one."""

    def line(self) -> str:
        """Return the line to show now.

        stratum 2/5 path | iteration 7 | 1,204,211 facts | 2,100,000/s | 310 MiB | 12 s
        """
        import psutil  # noqa: PLC0415 - only needed where progress is shown

        memory = f"{psutil.Process().memory_info().rss / 2**20:,.0f} MiB"
        elapsed = f"{time.monotonic() - self._begun:.0f} s"
        if not self._strata:
            return f"loading facts | {memory} | {elapsed}"
        names = ", ".join(self._relations)
        return " | ".join(
            [
                f"stratum {self._stratum}/{self._strata} {names[:40]}{'...' if len(names) > 40 else ''}",
                f"iteration {self._iteration}",
                f"{self._facts:,} facts",
                f"{self._rate:,.0f}/s",
                memory,
                elapsed,
            ]
        )

    def _show(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - only needed by a run that takes a while
        from rich.live import Live  # noqa: PLC0415 - as above
        from rich.text import Text  # noqa: PLC0415 - as above

        with self._lock:
            if self._timer.finished.is_set():
                return
            self._live = Live(
                get_renderable=lambda: Text(self.line(), no_wrap=True, overflow="ellipsis"),
                console=Console(stderr=True),
                transient=True,
                refresh_per_second=5,
            )
            self._live.start()
