"""Threads that read facts: the calling one, and others that work ahead of it.

Tasks are done in any order, and the calling thread takes their results in the order of the facts.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Result = TypeVar("Result")


class Started(Generic[Result]):
    """A task that another thread may have begun."""

    def __init__(self, task: Callable[[], Result], future: "Future[Result] | None" = None) -> None:
        self._task = task
        self._future = future

    def result(self) -> Result:
        """Return what the task returns; the calling thread runs it if no other has begun it."""
        if self._future is None or self._future.cancel():
            return self._task()
        return self._future.result()


class LoadThreads:
    """`jobs` threads, one of which is the calling one; the others run from the first task to `close`."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool: ThreadPoolExecutor | None = None

    @property
    def are_running(self) -> bool:
        """Say whether there are other threads already."""
        return self._pool is not None

    def start(self, task: Callable[[], Result]) -> Started[Result]:
        """Have a task run by another thread, if there is one, before its result is asked for."""
        if self.jobs < 2:
            return Started(task)
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - small inputs need no threads

            self._pool = ThreadPoolExecutor(self.jobs - 1, thread_name_prefix="tidelog-load")
        return Started(task, self._pool.submit(task))

    def close(self) -> None:
        """End the other threads; what they have not begun is dropped."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
