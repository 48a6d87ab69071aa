"""The memory of a process and of all that it started, together: Python, Java and Spark's workers."""

import threading
import time
from types import TracebackType
from typing import Final, Self

import psutil

_LOOK_AGAIN_SECONDS: Final = 0.1
# Looking takes longer the more memory there is; it must not take much of what is measured.
_MOST_SHARE: Final = 0.05


class TreeMemory:
    """Notes the most memory that a process and its children have had together while it is open.

    Pages that several of them share are counted once, where the operating system can tell (the proportional
    set size of Linux). What is held for less than the time between two looks may be missed.
    """

    def __init__(self, process: int) -> None:
        self.peak_bytes = 0
        self._process = process
        self._done = threading.Event()
        self._watching = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self.look()
        self._watching.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._watching.join()
        self.look()

    def look(self) -> None:
        """Note what is held now."""
        held = 0
        try:
            top = psutil.Process(self._process)
            tree = [top, *top.children(recursive=True)]
        except psutil.Error:
            return
        for process in tree:
            try:
                held += _bytes_of(process)
            except psutil.Error:
                continue  # it has ended since
        self.peak_bytes = max(self.peak_bytes, held)

    def _watch(self) -> None:
        wait = _LOOK_AGAIN_SECONDS
        while not self._done.wait(wait):
            begun = time.perf_counter()
            self.look()
            wait = max(_LOOK_AGAIN_SECONDS, (time.perf_counter() - begun) / _MOST_SHARE)


def _bytes_of(process: psutil.Process) -> int:
    found = process.memory_full_info()
    return int(getattr(found, "pss", found.rss))
