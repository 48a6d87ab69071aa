"""One thread that does what takes long, while the server goes on reading."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Condition, Thread
from typing import TypeVar

from tidelog.dataclass import dataclass

T = TypeVar("T")
_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Task:
    work: Callable[[], object]
    future: "Future[object]"


class Worker:
    """Runs tasks one after another, in the order in which they were put.

    A task put under a key replaces one that waits under the same key: of many edits only the last text
    is looked at. What a task raises is logged, and the thread goes on.
    """

    def __init__(self) -> None:
        self._tasks: OrderedDict[Hashable, _Task] = OrderedDict()
        self._changed = Condition()
        self._is_closed = False
        self._thread = Thread(target=self._run, name="tidelog-lsp", daemon=True)
        self._thread.start()

    def put(self, key: Hashable, work: Callable[[], object]) -> None:
        """Do something soon; it takes the place of what waits under the key."""
        self._put(key, _Task(work, Future()))

    def ask(self, work: Callable[[], T]) -> "Future[T]":
        """Return a future for the result of something to do; a cancelled one is not begun."""
        future: Future[T] = Future()
        self._put(future, _Task(work, future))  # type: ignore[arg-type]  # the future of its own result
        return future

    def close(self) -> None:
        """Drop what waits, and end the thread after what it is doing."""
        with self._changed:
            self._is_closed = True
            for task in self._tasks.values():
                task.future.cancel()
            self._tasks.clear()
            self._changed.notify()

    def _put(self, key: Hashable, task: _Task) -> None:
        with self._changed:
            if self._is_closed:
                task.future.cancel()
                return
            self._tasks[key] = task
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._tasks and not self._is_closed:
                    self._changed.wait()
                if self._is_closed:
                    return
                _, task = self._tasks.popitem(last=False)
            if not task.future.set_running_or_notify_cancel():
                continue
            try:
                task.future.set_result(task.work())
            except Exception as error:
                _LOGGER.exception("a task of the language server failed")
                task.future.set_exception(error)
