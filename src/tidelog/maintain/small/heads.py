"""Kernel parts: what happens to the annotations of a row."""

from tidelog.engine.local.by_row.layout import DONE, TOO_LARGE, Epoch, RelationRecord, Tables
from tidelog.maintain.small.queue import push
from tidelog.storage.annotations import TO_COUNT, UNCOUNTED, count_after_loss
from tidelog.storage.kernel import Integer, inlined


@inlined
def _touch(tables: Tables, epoch: Epoch, number: Integer, row: Integer) -> int:
    """Remember the count of a row that is touched for the first time; return a status."""
    relation, counters = tables.relations[number], tables.counters
    if relation.flags[row] != 0:
        return DONE
    if counters.touched_count == counters.journal_room:
        return TOO_LARGE
    relation.flags[row] = 1
    touched = epoch.journal[counters.touched_count]
    touched.relation = number
    touched.row = row
    touched.count = relation.counts[row]
    counters.touched_count += 1
    return DONE


@inlined
def lose_derivation(tables: Tables, epoch: Epoch, number: Integer, row: Integer) -> int:
    """Take a derivation from a row; one that has none left, or was not counted, waits at its level."""
    status = _touch(tables, epoch, number, row)
    if status != DONE:
        return status
    relation = tables.relations[number]
    before = relation.counts[row]
    count = count_after_loss(before, relation.levels[row])
    relation.counts[row] = count
    if count <= 0 and before != TO_COUNT:
        return push(tables, epoch, relation.levels[row], number, row)
    return DONE


@inlined
def offer_level(tables: Tables, epoch: Epoch, number: Integer, row: Integer, level: Integer) -> int:
    """Offer a level to a row as `storage.annotations.relax` does."""
    status = _touch(tables, epoch, number, row)
    if status != DONE:
        return status
    relation = tables.relations[number]
    waiting = relation.tentative[row]
    current = waiting - 1 if waiting != 0 else relation.levels[row]
    if level < current:
        relation.tentative[row] = level + 1
        relation.tentative_counts[row] = 1
        return push(tables, epoch, level, number, row)
    if level == current:
        if waiting != 0:
            relation.tentative_counts[row] += 1
        elif relation.counts[row] != UNCOUNTED:
            relation.counts[row] += 1
    return DONE


@inlined
def settle_row(relation: RelationRecord, row: Integer, level: Integer) -> None:
    """Give a row the level that was offered to it, and let joins see it."""
    relation.before[row] = relation.levels[row]
    relation.levels[row] = level
    relation.counts[row] = relation.tentative_counts[row]
    relation.tentative[row] = 0
    if relation.alive[row] == 0:
        relation.alive[row] = 1
        relation.hidden_count -= 1
