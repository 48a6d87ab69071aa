"""The CPU seconds of this process, of Java and of Spark's workers, which come and go."""

import threading
from types import TracebackType
from typing import Final, Self

import psutil

_LOOK_AGAIN_SECONDS: Final = 0.2


class CpuMeter:
    """Counts CPU seconds while it is open; what a process does in its last moments may be missed.

    with CpuMeter() as meter:
        ...
    meter.seconds
    """

    def __init__(self) -> None:
        self._first: dict[int, float] = {}
        self._last: dict[int, float] = {}
        self._done = threading.Event()
        self._watching = threading.Thread(target=self._watch, daemon=True)

    @property
    def seconds(self) -> float:
        """Return the CPU seconds of all processes seen."""
        return sum(last - self._first[process] for process, last in self._last.items())

    def __enter__(self) -> Self:
        self._look()
        self._first = dict(self._last)
        self._watching.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._watching.join()
        self._look()

    def _watch(self) -> None:
        while not self._done.wait(_LOOK_AGAIN_SECONDS):
            self._look()

    def _look(self) -> None:
        me = psutil.Process()
        for process in (me, *me.children(recursive=True)):
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            # A process that was not there at the beginning has done all of its work since.
            self._first.setdefault(process.pid, 0.0)
            self._last[process.pid] = times.user + times.system
