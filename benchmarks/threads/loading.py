"""CPU seconds of the threads that load facts."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from tidelog.io.threads import LoadThreads, Started
from tidelog.session import once
from tidelog.session.load import load_facts


@dataclass
class LoadClocks:
    """CPU seconds of loading: what only the calling thread can do, and what any of them can."""

    calling: float = 0.0
    together: float = 0.0
    wall_seconds: float = 0.0


class _OwnTasks(threading.local):
    """CPU seconds that the present thread has spent on tasks that any thread can run."""

    seconds = 0.0


@contextmanager
def timed_loading(clocks: LoadClocks) -> Iterator[None]:
    """Time what is loaded while the `with` block lasts."""
    own = _OwnTasks()
    # Of all threads; appending needs no lock.
    pieces: list[float] = []
    load = load_facts

    class TimedThreads(LoadThreads):
        """Threads whose tasks are timed, whichever of them runs one."""

        def start(self, task: Callable[[], Any]) -> Started[Any]:
            def run() -> Any:
                begun = time.thread_time()
                result = task()
                taken = time.thread_time() - begun
                pieces.append(taken)
                own.seconds += taken
                return result

            return super().start(run)

    def timed_load(*arguments: Any, **options: Any) -> Any:
        wall, cpu, tasks = time.perf_counter(), time.thread_time(), own.seconds
        result = load(*arguments, **options)
        clocks.wall_seconds += time.perf_counter() - wall
        clocks.calling += time.thread_time() - cpu - (own.seconds - tasks)
        clocks.together += sum(pieces)
        return result

    with (
        mock.patch("tidelog.io.threads.LoadThreads", TimedThreads),
        mock.patch.object(once, "load_facts", timed_load),
    ):
        yield
