"""Ranges of items that threads take one by one, so that none waits for another before all are taken."""

import threading

from tidelog.engine.local.steps import BUFFER_ROWS
from tidelog.storage.sharing import Task

# A table that several threads fill is divided into ranges of so many items, a large page of them: two threads
# that write to one such page for the first time would both clear it. A smaller table is divided evenly.
_SMALLEST_RANGE = 1 << 12
_LARGEST_RANGE = 1 << 19
# With so many ranges for each thread, none is left with much to do when the others are done.
_RANGES_PER_THREAD = 16


class Morsels:
    """Ranges of items, `count` of them: whoever is done takes the next."""

    def __init__(self, first: int, last: int, smallest: int, jobs: int, largest: int = BUFFER_ROWS) -> None:
        self._last = last
        self._size = max(smallest, min(largest, (last - first) // (_RANGES_PER_THREAD * jobs)))
        starts = range(first, last, self._size)
        self.count = len(starts)
        self._starts = iter(starts)
        self._lock = threading.Lock()
        self.halted = False

    def run(self, task: Task) -> None:
        """Run a task over morsels until there are no more."""
        while not self.halted:
            with self._lock:
                start = next(self._starts, None)
            if start is None:
                return
            task(start, min(start + self._size, self._last))


class SharedRanges:
    """A task over a number of items, which some threads do together; any of them may fail."""

    def __init__(self, task: Task, count: int, threads: int) -> None:
        self._task = task
        size = max(_SMALLEST_RANGE, min(_LARGEST_RANGE, -(-count // threads)))
        self._morsels = Morsels(0, count, size, threads, size)
        self._error: BaseException | None = None
        # How many threads help the one that called for it; it counts them with a lock of its own.
        self.helping = 0

    def help(self) -> None:
        """Do ranges until there are no more."""
        try:
            self._morsels.run(self._task)
        except BaseException as error:  # noqa: BLE001 - the thread that called for help raises it
            self._morsels.halted = True
            self._error = error

    def check(self) -> None:
        """Raise what any of the threads has raised."""
        if self._error is not None:
            raise self._error
