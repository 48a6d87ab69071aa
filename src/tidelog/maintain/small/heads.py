"""Kernel parts: what happens to the annotations of a row."""

from tidelog.maintain.small.layout import DONE, TOO_LARGE, Epoch, Relation, Tables
from tidelog.maintain.small.queue import push
from tidelog.storage.address import load_byte, load_int32, store_byte, store_int32
from tidelog.storage.kernel import Integer, inlined


@inlined
def _touch(tables: Tables, epoch: Epoch, number: Integer, row: Integer) -> int:
    """Remember the count of a row that is touched for the first time; return a status."""
    relation, counters = tables.relations[number], tables.counters
    if load_byte(relation.flags, row) != 0:
        return DONE
    if counters.touched_count == counters.journal_room:
        return TOO_LARGE
    store_byte(relation.flags, row, 1)
    touched = epoch.journal[counters.touched_count]
    touched.relation = number
    touched.row = row
    touched.count = load_int32(relation.counts, row)
    counters.touched_count += 1
    return DONE


@inlined
def lose_derivation(tables: Tables, epoch: Epoch, number: Integer, row: Integer) -> int:
    """Take a derivation from a row; a row that has none left enters the queue at its level."""
    status = _touch(tables, epoch, number, row)
    if status != DONE:
        return status
    relation = tables.relations[number]
    count = load_int32(relation.counts, row) - 1
    store_int32(relation.counts, row, count)
    if count == 0:
        return push(tables, epoch, load_int32(relation.levels, row), number, row)
    return DONE


@inlined
def offer_level(tables: Tables, epoch: Epoch, number: Integer, row: Integer, level: Integer) -> int:
    """Offer a level to a row as `storage.annotations.relax` does."""
    status = _touch(tables, epoch, number, row)
    if status != DONE:
        return status
    relation = tables.relations[number]
    waiting = load_int32(relation.tentative, row)
    current = waiting - 1 if waiting != 0 else load_int32(relation.levels, row)
    if level < current:
        store_int32(relation.tentative, row, level + 1)
        store_int32(relation.tentative_counts, row, 1)
        return push(tables, epoch, level, number, row)
    if level == current:
        counts = relation.tentative_counts if waiting != 0 else relation.counts
        store_int32(counts, row, load_int32(counts, row) + 1)
    return DONE


@inlined
def settle_row(relation: Relation, row: Integer, level: Integer) -> None:
    """Give a row the level that was offered to it, and let joins see it."""
    store_int32(relation.before, row, load_int32(relation.levels, row))
    store_int32(relation.levels, row, level)
    store_int32(relation.counts, row, load_int32(relation.tentative_counts, row))
    store_int32(relation.tentative, row, 0)
    if load_byte(relation.alive, row) == 0:
        store_byte(relation.alive, row, 1)
        relation.hidden_count -= 1
