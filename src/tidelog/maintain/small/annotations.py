"""Kernel parts: what happens to the annotations of a row."""

from tidelog.maintain.small.layout import (
    ABSENT_LEVEL,
    COUNTS,
    DONE,
    FLAGS,
    JOURNAL,
    LEVELS,
    TENTATIVE,
    TENTATIVE_COUNTS,
    TOO_LARGE,
)
from tidelog.maintain.small.queue import push
from tidelog.storage.address import load_byte, load_int32, store_byte, store_int32
from tidelog.storage.kernel import Int64s, Integer, inlined


@inlined
def _touch(relations: Int64s, relation: Integer, row: Integer, journal: Int64s, counters: Int64s) -> int:
    """Remember the count of a row that is touched for the first time; return a status."""
    if load_byte(relations[relation, FLAGS], row) != 0:
        return DONE
    count = counters[JOURNAL]
    if count == journal.shape[0]:
        return TOO_LARGE
    store_byte(relations[relation, FLAGS], row, 1)
    journal[count, 0] = relation
    journal[count, 1] = row
    journal[count, 2] = load_int32(relations[relation, COUNTS], row)
    counters[JOURNAL] = count + 1
    return DONE


@inlined
def lose_derivation(
    relations: Int64s, relation: Integer, row: Integer, queue: Int64s, journal: Int64s, counters: Int64s
) -> int:
    """Take a derivation from a row; a row that has none left enters the queue at its level."""
    status = _touch(relations, relation, row, journal, counters)
    if status != DONE:
        return status
    count = load_int32(relations[relation, COUNTS], row) - 1
    store_int32(relations[relation, COUNTS], row, count)
    if count == 0:
        return push(queue, counters, load_int32(relations[relation, LEVELS], row), relation, row)
    return DONE


@inlined
def offer_level(
    relations: Int64s, relation: Integer, row: Integer, label: Integer, queue: Int64s, journal: Int64s,
    counters: Int64s,
) -> int:  # fmt: skip
    """Offer a label to a row as `storage.annotations.relax` does."""
    status = _touch(relations, relation, row, journal, counters)
    if status != DONE:
        return status
    waiting = load_int32(relations[relation, TENTATIVE], row)
    current = waiting - 1 if waiting != 0 else load_int32(relations[relation, LEVELS], row)
    if label < current:
        store_int32(relations[relation, TENTATIVE], row, label + 1)
        store_int32(relations[relation, TENTATIVE_COUNTS], row, 1)
        return push(queue, counters, label, relation, row)
    if label == current:
        field = TENTATIVE_COUNTS if waiting != 0 else COUNTS
        store_int32(relations[relation, field], row, load_int32(relations[relation, field], row) + 1)
    return DONE


@inlined
def holds(relations: Int64s, relation: Integer, row: Integer, field: int, is_negated: Integer) -> bool:
    """Say whether a literal of an earlier stratum holds in the epoch whose levels are in `field`."""
    present = row >= 0 and load_int32(relations[relation, field], row) != ABSENT_LEVEL
    return present != (is_negated != 0)
