"""Which indexes threads build side by side, each by one of them, and which they build together."""

from collections.abc import Callable, Sequence
from functools import partial
from heapq import heapreplace
from itertools import accumulate
from typing import Final, NamedTuple

from tidelog.engine.local.workers import Workers
from tidelog.storage.sharing import Share, by_one_thread

# Dividing the rows of an index by their keys takes about so much of what appending them takes.
_DIVIDING: Final = 0.25
# About so much is done by one thread when all extend an index: more where it numbers the keys that are new.
_ALONE: Final = 0.05
_ALONE_NUMBERING: Final = 0.5


class IndexTask(NamedTuple):
    """Rows that are added to an index, about what that takes compared with others, and how keys are found."""

    cost: int
    is_dense: bool
    add: Callable[[Share], object]


def run_index_tasks(tasks: Sequence[IndexTask], workers: Workers, rows: int) -> None:
    """Add about so many rows to indexes."""
    share = workers.sharing(rows)
    # What takes longest is begun first, so that no thread is left with it at the end.
    waiting = sorted(tasks, key=lambda task: task.cost, reverse=True)
    for task in tasks_to_divide(waiting, workers.jobs) if share is not by_one_thread else ():
        task.add(share)
        waiting.remove(task)
    workers.run_all([partial(task.add, by_one_thread) for task in waiting], rows)


def tasks_to_divide(tasks: Sequence[IndexTask], threads: int) -> Sequence[IndexTask]:
    """Return the first of these tasks, the longest ones, that all threads had better do together."""
    divided = [0.0, *accumulate(_divided(task, threads) for task in tasks)]
    taken = [divided[number] + _side_by_side(tasks[number:], threads) for number in range(len(tasks) + 1)]
    return tasks[: taken.index(min(taken))]


def _divided(task: IndexTask, threads: int) -> float:
    """Return how long threads take together."""
    alone = _ALONE if task.is_dense else _ALONE_NUMBERING
    return task.cost * (alone + (1 + _DIVIDING) / threads)


def _side_by_side(tasks: Sequence[IndexTask], threads: int) -> int:
    """Return how long threads take if each takes whole tasks."""
    busy_until = [0] * threads
    for task in tasks:
        heapreplace(busy_until, busy_until[0] + task.cost)
    return max(busy_until)
