"""Kernel parts: rows waiting in the order of their levels."""

import numpy as np

from tidelog.engine.local.by_row.layout import (
    DONE,
    LEVEL_LIMIT,
    RELATION_BITS,
    RELATION_LIMIT,
    ROW_BITS,
    TOO_LARGE,
    Counters,
    Epoch,
    Tables,
)
from tidelog.storage.kernel import Integer, inlined


@inlined
def push(tables: Tables, epoch: Epoch, level: Integer, relation: Integer, row: Integer) -> int:
    """Put a row into the queue; return a status."""
    queue, counters = epoch.queue, tables.counters
    place = counters.queue_count
    if place == counters.queue_room or level >= LEVEL_LIMIT:
        return TOO_LARGE
    counters.queue_count += 1
    item = (((level << RELATION_BITS) | (relation - counters.first_own)) << ROW_BITS) | row
    while place > 0:
        parent = (place - 1) >> 1
        if queue[parent] <= item:
            break
        queue[place] = queue[parent]
        place = parent
    queue[place] = item
    return DONE


@inlined
def pop(tables: Tables, epoch: Epoch) -> np.int64:
    """Take the least place out of a queue that is not empty."""
    queue = epoch.queue
    tables.counters.queue_count -= 1
    count = tables.counters.queue_count
    result = queue[0]
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
def level_of(item: np.int64) -> np.int64:
    """Return the level of a place in the queue."""
    return item >> (ROW_BITS + RELATION_BITS)


@inlined
def relation_of(item: np.int64, counters: Counters) -> Integer:
    """Return the relation of a place in the queue."""
    return ((item >> ROW_BITS) & (RELATION_LIMIT - 1)) + counters.first_own


@inlined
def row_of(item: np.int64) -> np.int64:
    """Return the row of a place in the queue."""
    return item & np.int64(0xFFFFFFFF)
