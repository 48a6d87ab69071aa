"""Kernel parts: what happens to the annotations of a row.

Most rows that an epoch meets are far from each other, and memory that was never written is mapped when it is
first used. So the flags in its mark say which of its other annotations are worth reading.
"""

from tidelog.engine.local.by_row.layout import DONE, TOO_LARGE, Epoch, Offer, RelationRecord, Tables
from tidelog.maintain.small.queue import push
from tidelog.storage.annotations import TO_COUNT, TOUCHED, UNCOUNTED, count_after_loss
from tidelog.storage.judge_row import ABSENT_LEVEL, CURRENT, IMPROVED, UNTOUCHED
from tidelog.storage.kernel import Integer, inlined

# More flags of a touched row, which is in the journal: it has an offer, it waits to be counted after a loss,
# its level changed and the one of before is kept. Many touched rows keep their level.
OFFERED = 8
COUNTING = 16
KEPT = 32


@inlined
def touch(tables: Tables, epoch: Epoch, number: Integer, row: Integer) -> int:
    """Remember the count of a row that is touched for the first time; return a status."""
    relation, counters = tables.relations[number], tables.counters
    if relation.marks[row] & TOUCHED != 0:
        return DONE
    if counters.touched_count == counters.journal_room:
        return TOO_LARGE
    relation.marks[row] |= TOUCHED
    touched = epoch.journal[counters.touched_count]
    touched.relation = number
    touched.row = row
    touched.count = relation.counts[row]
    counters.touched_count += 1
    return DONE


@inlined
def change_level(relation: RelationRecord, row: Integer, level: Integer) -> None:
    """Give a touched row another level; the first time in an epoch that of before is kept."""
    if relation.marks[row] & KEPT == 0:
        relation.marks[row] |= KEPT
        relation.before[row] = ~relation.levels[row]
    relation.levels[row] = level


@inlined
def lose_derivation(tables: Tables, epoch: Epoch, number: Integer, row: Integer) -> int:
    """Take a derivation from a row; one that has none left, or was not counted, waits at its level."""
    status = touch(tables, epoch, number, row)
    if status != DONE:
        return status
    relation = tables.relations[number]
    before, mark = relation.counts[row], relation.marks[row]
    count = count_after_loss(before, relation.levels[row])
    if count == TO_COUNT:
        if mark & COUNTING != 0:
            return DONE
        relation.marks[row] = mark | COUNTING
    elif count != before:
        relation.counts[row] = count
    return push(tables, epoch, relation.levels[row], number, row) if count <= 0 else DONE


@inlined
def offer_level(tables: Tables, epoch: Epoch, number: Integer, row: Integer, level: Integer) -> int:
    """Offer a level to a row as `storage.annotations.relax` does."""
    status = touch(tables, epoch, number, row)
    if status != DONE:
        return status
    relation = tables.relations[number]
    if relation.marks[row] & OFFERED != 0:
        offer = epoch.offers[relation.counts[row]]
        if level == offer.level:
            offer.count += 1
        if level >= offer.level:
            return DONE
    else:
        if level == relation.levels[row] and relation.counts[row] != UNCOUNTED:
            relation.counts[row] += 1
        if level >= relation.levels[row]:
            return DONE
        offer = _give_offer(tables, epoch, relation, row)
    offer.level = level
    offer.count = 1
    return push(tables, epoch, level, number, row)


@inlined
def _give_offer(tables: Tables, epoch: Epoch, relation: RelationRecord, row: Integer) -> Offer:
    """Return an offer for a row that has none; the place of its count leads there until it is settled."""
    counters = tables.counters
    place = counters.offer_count
    counters.offer_count += 1
    relation.counts[row] = place
    relation.marks[row] |= OFFERED
    return epoch.offers[place]


@inlined
def settle_row(epoch: Epoch, relation: RelationRecord, row: Integer, level: Integer) -> int:
    """Give a row this level if it is the one offered, and let joins see it; return its status then."""
    if relation.marks[row] & OFFERED == 0 or epoch.offers[relation.counts[row]].level != level:
        return UNTOUCHED
    status = CURRENT if relation.levels[row] == ABSENT_LEVEL else IMPROVED
    change_level(relation, row, level)
    relation.counts[row] = epoch.offers[relation.counts[row]].count
    relation.marks[row] -= OFFERED
    show_row(relation, row)
    return status


@inlined
def show_row(relation: RelationRecord, row: Integer) -> None:
    """Let joins see a row."""
    if relation.alive[row] == 0:
        relation.alive[row] = 1
        relation.hidden_count -= 1
