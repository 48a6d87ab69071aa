"""Work on ranges of items, done by one thread or by several together."""

from collections.abc import Callable

# Does the items numbered from one to before another.
Task = Callable[[int, int], None]
# Has a task done for this many items, range by range; returns when all are done.
Share = Callable[[Task, int], None]
# Returns what shares the work on so many rows.
Sharing = Callable[[int], Share]


def by_one_thread(task: Task, count: int) -> None:
    """Do all items in the calling thread."""
    if count:
        task(0, count)


def alone(rows: int) -> Share:
    """Let the calling thread do the work on any number of rows."""
    del rows
    return by_one_thread
