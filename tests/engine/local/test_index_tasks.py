"""Which indexes threads build side by side, and which they build together."""

import pytest

from tidelog.engine.local.index_tasks import IndexTask, run_index_tasks, tasks_to_divide
from tidelog.engine.local.workers import Workers
from tidelog.storage.sharing import by_one_thread


def tasks(*costs: int, is_dense: bool = True) -> list[IndexTask]:
    """Return tasks that do nothing."""
    return [IndexTask(cost, is_dense, lambda _: None) for cost in costs]


@pytest.mark.parametrize(
    ("costs", "is_dense", "threads", "divided"),
    [
        ((8,), True, 2, 1),
        ((8, 8), True, 2, 0),
        ((8, 8, 8, 8), True, 2, 0),
        ((80, 8, 8), True, 2, 1),
        ((8, 8, 8, 8), True, 32, 4),
        ((8,), False, 2, 0),
        ((8,), False, 32, 1),
        ((8, 8, 8, 8), False, 32, 0),
        ((800, 8, 8, 8), False, 32, 1),
        ((), True, 4, 0),
    ],
)
def test_an_index_is_divided_if_threads_would_wait_for_it(costs, is_dense, threads, divided):
    """Whole indexes are built side by side as long as no thread waits long for the last of them."""
    assert len(tasks_to_divide(tasks(*costs, is_dense=is_dense), threads)) == divided


@pytest.mark.parametrize(("rows", "are_shared"), [(1 << 20, True), (100, False)])
def test_every_index_is_built_once(rows, are_shared):
    """By all threads, or by one of them; few rows are left to the thread that calls."""
    added = []
    workers = Workers(2)
    waiting = [
        IndexTask(cost, True, lambda share, cost=cost: added.append((cost, share is not by_one_thread)))
        for cost in (5, 90, 4)
    ]

    run_index_tasks(waiting, workers, rows)
    workers.close()

    assert sorted(added) == [(4, False), (5, False), (90, are_shared)]
