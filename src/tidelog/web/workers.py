"""Threads for what takes time, so that the server can always answer."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tidelog.web.replies import mistake
from tidelog.web.settings import Limits

Result = TypeVar("Result")


class RequestWorkers:
    """Runs work in a few threads; who waits too long, or comes when too many wait, is told so.

    Work that was given up goes on to its end in its thread: an epoch must not stop half way.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="tidelog-web")
        self._waiting = 0

    async def run(self, work: Callable[[], Result]) -> Result:
        """Return what the work returns."""
        if self._waiting >= self._limits.waiting_requests:
            raise mistake("explorer-busy", "too many requests are waiting", "try again in a moment")
        self._waiting += 1
        future = self._pool.submit(work)
        future.add_done_callback(self._leave(asyncio.get_running_loop()))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._limits.wait_seconds)
        except TimeoutError:
            raise mistake(
                "request-too-slow",
                f"the answer takes longer than {self._limits.wait_seconds:g} seconds",
                "ask for less: filter more, or a smaller depth",
            ) from None

    def close(self) -> None:
        """Take no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _leave(self, loop: asyncio.AbstractEventLoop) -> Callable[[object], None]:
        def count_down() -> None:
            self._waiting -= 1

        def leave(_: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(count_down)

        return leave
