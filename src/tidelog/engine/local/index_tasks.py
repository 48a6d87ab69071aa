"""Which indexes threads build side by side, each by one of them, and which they build together."""

from collections.abc import Callable, Sequence
from functools import partial
from heapq import heapreplace
from typing import Final, NamedTuple

from tidelog.engine.local.workers import Workers
from tidelog.storage.sharing import Share, by_one_thread

# Dividing the rows of an index by their keys takes about so much of what appending them takes. As long as the
# threads that are done first wait for less, they build whole indexes.
_DIVIDING: Final = 0.25


class IndexTask(NamedTuple):
    """Rows that are added to an index, and about what that takes compared with others."""

    cost: int
    add: Callable[[Share], object]


def run_index_tasks(tasks: Sequence[IndexTask], workers: Workers, rows: int) -> None:
    """Add about so many rows to indexes."""
    share = workers.sharing(rows)
    # What takes longest is begun first, so that no thread is left with it at the end.
    waiting = sorted(tasks, key=lambda task: task.cost, reverse=True)
    while share is not by_one_thread and waiting and _is_uneven(waiting, workers.jobs):
        waiting.pop(0).add(share)
    workers.run_all([partial(task.add, by_one_thread) for task in waiting], rows)


def _is_uneven(tasks: Sequence[IndexTask], threads: int) -> bool:
    """Say whether threads wait long for the last of them if each takes whole tasks."""
    busy_until = [0] * threads
    for task in tasks:
        heapreplace(busy_until, busy_until[0] + task.cost)
    return max(busy_until) * threads > (1 + _DIVIDING) * sum(task.cost for task in tasks)
