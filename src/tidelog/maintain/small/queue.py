"""Kernel parts: rows waiting in the order of their levels."""

import numpy as np

from tidelog.maintain.small.layout import (
    DONE,
    FIRST_OWN,
    LEVEL_LIMIT,
    QUEUE,
    RELATION_BITS,
    RELATION_LIMIT,
    ROW_BITS,
    TOO_LARGE,
)
from tidelog.storage.kernel import Int64s, Integer, inlined


@inlined
def push(queue: Int64s, counters: Int64s, level: Integer, relation: Integer, row: Integer) -> int:
    """Put a row into the queue; return a status."""
    count = counters[QUEUE]
    if count == queue.shape[0] or level >= LEVEL_LIMIT:
        return TOO_LARGE
    item = (((level << RELATION_BITS) | (relation - counters[FIRST_OWN])) << ROW_BITS) | row
    place = count
    while place > 0:
        parent = (place - 1) >> 1
        if queue[parent] <= item:
            break
        queue[place] = queue[parent]
        place = parent
    queue[place] = item
    counters[QUEUE] = count + 1
    return DONE


@inlined
def pop(queue: Int64s, counters: Int64s) -> Integer:
    """Take the least place out of a queue that is not empty."""
    count = counters[QUEUE] - 1
    counters[QUEUE] = count
    result = np.int64(queue[0])
    item = queue[count]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= count:
            break
        if child + 1 < count and queue[child + 1] < queue[child]:
            child += 1
        if queue[child] >= item:
            break
        queue[place] = queue[child]
        place = child
    queue[place] = item
    return result


@inlined
def level_of(item: Integer) -> Integer:
    """Return the level of a place in the queue."""
    return item >> (ROW_BITS + RELATION_BITS)


@inlined
def relation_of(item: Integer, counters: Int64s) -> Integer:
    """Return the relation of a place in the queue."""
    return np.int64(((item >> ROW_BITS) & (RELATION_LIMIT - 1)) + counters[FIRST_OWN])


@inlined
def row_of(item: Integer) -> Integer:
    """Return the row of a place in the queue."""
    return item & np.int64(0xFFFFFFFF)
