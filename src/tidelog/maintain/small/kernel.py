"""Kernel parts: one epoch of one stratum, row by row, level by level.

It does what `maintain.sweeps` describes, in the same three sweeps and over the same annotations,
but follows chains of joins one binding at a time. A level of a few rows then costs a microsecond
instead of a few dozen kernel calls.
"""

import numpy as np

from tidelog.engine.local.by_row.indexing import index_new_rows
from tidelog.engine.local.by_row.layout import (
    DONE,
    LEVEL_WORK,
    TOO_LARGE,
    Epoch,
    RelationRecord,
    StratumRecord,
    Tables,
)
from tidelog.maintain.small.derivations import spend, stands, walk
from tidelog.maintain.small.heads import COUNTING, change_level, lose_derivation, offer_level, settle_row
from tidelog.maintain.small.queue import level_of, pop, relation_of, row_of
from tidelog.storage.annotations import level_before, set_status, status_of
from tidelog.storage.judge_row import (
    ABSENT_LEVEL,
    AFFECTED,
    CURRENT,
    GAINING,
    HOLDING,
    LOSING,
    SETTLING,
    UNTOUCHED,
)
from tidelog.storage.kernel import CodeArray, Integer, inlined


@inlined
def _take_inputs(tables: Tables, epoch: Epoch, stratum: StratumRecord, reading: Integer) -> int:
    """Lose what is no longer an input fact, or offer a level to what has become one."""
    for number in range(stratum.first_relation, stratum.first_relation + stratum.relation_count):
        relation = tables.relations[number]
        place, count = relation.first_input_inserted, relation.input_inserted_count
        if reading == LOSING:
            place, count = relation.first_input_deleted, relation.input_deleted_count
        for position in range(place, place + count):
            row = epoch.changed[position]
            if reading == LOSING:
                status = lose_derivation(tables, epoch, number, row)
            else:
                status = offer_level(tables, epoch, number, row, np.int64(0))
            if status != DONE:
                return status
    return DONE


@inlined
def _take_changes(tables: Tables, epoch: Epoch, stratum: StratumRecord, reading: Integer) -> int:
    """Take input facts and rows of earlier strata that take derivations away, or make them possible."""
    for number in range(stratum.first_forward, stratum.first_forward + stratum.forward_count):
        forward = tables.forwards[number]
        relation = tables.relations[forward.relation]
        place, count = relation.first_inserted, relation.inserted_count
        if (reading == LOSING) != (forward.is_negated != 0):
            place, count = relation.first_deleted, relation.deleted_count
        for position in range(place, place + count):
            status = walk(tables, epoch, forward.chain, epoch.changed[position], reading)
            if status != DONE:
                return status
    status = spend(tables.counters)
    return _take_inputs(tables, epoch, stratum, reading) if status == DONE else status


@inlined
def _is_affected(tables: Tables, relation: RelationRecord, row: Integer, level: Integer) -> int:
    """Say whether a row that lost a derivation has none of its level left; or return a status, negated.

    A row that was not counted yet looks for one, and is not counted then either: the first is enough.
    """
    if status_of(relation.marks, row) != UNTOUCHED:
        return 0
    if relation.marks[row] & COUNTING == 0:
        return 1
    for back in range(relation.first_back, relation.first_back + relation.back_count):
        found = stands(tables, tables.backs[back], row, level)
        if found != 0:
            relation.marks[row] -= COUNTING
            return min(found, 0)
    return 1


@inlined
def _take(
    tables: Tables, epoch: Epoch, relation: RelationRecord, row: Integer, level: Integer, reading: Integer
) -> int:
    """Return the mark of a row that waited if it is processed at this level, which settles an offer, or 0.

    A negative number is a status, negated.
    """
    if reading == LOSING:
        found = _is_affected(tables, relation, row, level)
        return CURRENT if found > 0 else found
    return settle_row(epoch, relation, row, level)


@inlined
def _take_level(tables: Tables, epoch: Epoch, first: Integer, reading: Integer) -> Integer:
    """Mark the rows that wait at the lowest level as current; return where they end, or a status, negated."""
    counters = tables.counters
    level = level_of(epoch.queue[0])
    last = first
    while counters.queue_count > 0 and level_of(epoch.queue[0]) == level:
        item = pop(tables, epoch)
        relation, row = tables.relations[relation_of(item, counters)], row_of(item)
        mark = _take(tables, epoch, relation, row, level, reading)
        if mark < 0:
            return np.int64(mark)
        if mark != UNTOUCHED:
            if last == counters.queue_room:
                return np.int64(-TOO_LARGE)
            set_status(relation.marks, row, mark)
            epoch.taken[last] = item
            last += 1
    if reading == SETTLING:
        counters.highest = max(np.int64(counters.highest), level)
    return last


@inlined
def _use_rows(tables: Tables, epoch: Epoch, first: Integer, last: Integer, reading: Integer) -> int:
    """Follow the derivations that use the rows taken, and mark these as processed."""
    counters = tables.counters
    for position in range(first, last):
        item = epoch.taken[position]
        relation = tables.relations[relation_of(item, counters)]
        for use in range(relation.first_use, relation.first_use + relation.use_count):
            status = walk(tables, epoch, tables.uses[use], row_of(item), reading)
            if status != DONE:
                return status
    mark = AFFECTED if reading == LOSING else UNTOUCHED
    for position in range(first, last):
        item = epoch.taken[position]
        set_status(tables.relations[relation_of(item, counters)].marks, row_of(item), mark)
    counters.level_count += 1
    counters.work += LEVEL_WORK
    return spend(counters)


@inlined
def _find_affected(tables: Tables, epoch: Epoch) -> int:
    """Mark the facts whose level grows or that vanish, keep them as taken, and take their levels."""
    counters = tables.counters
    while counters.queue_count > 0:
        last = _take_level(tables, epoch, counters.taken_count, LOSING)
        if last < 0:
            return int(-last)
        status = _use_rows(tables, epoch, counters.taken_count, last, LOSING)
        if status != DONE:
            return status
        counters.taken_count = last
    for position in range(counters.taken_count):
        item = epoch.taken[position]
        change_level(tables.relations[relation_of(item, counters)], row_of(item), ABSENT_LEVEL)
    return DONE


@inlined
def _ask_backward(tables: Tables, epoch: Epoch) -> int:
    """Offer affected facts the levels of derivations that are possible without other affected ones."""
    # Affected facts have no level now, and joins go no further from them.
    tables.counters.level_limit = ABSENT_LEVEL
    status = _walk_backward(tables, epoch)
    tables.counters.level_limit = 0
    return status


@inlined
def _walk_backward(tables: Tables, epoch: Epoch) -> int:
    """Do what `_ask_backward` says, with the limit of levels set."""
    for position in range(tables.counters.taken_count):
        item = epoch.taken[position]
        relation, row = tables.relations[relation_of(item, tables.counters)], row_of(item)
        for back in range(relation.first_back, relation.first_back + relation.back_count):
            rule = tables.rules[tables.chains[tables.backs[back]].rule]
            if rule.asks_backward != 0 or level_before(relation.levels, relation.before, row) == 0:
                status = walk(tables, epoch, tables.backs[back], row, HOLDING)
                if status != DONE:
                    return status
        status = spend(tables.counters)
        if status != DONE:
            return status
    return DONE


@inlined
def _settle_offers(tables: Tables, epoch: Epoch, stratum: StratumRecord, like: CodeArray) -> int:
    """Settle offers in increasing order; a settled fact makes offers to the heads it helps derive."""
    while tables.counters.queue_count > 0:
        last = _take_level(tables, epoch, np.int64(0), SETTLING)
        if last < 0:
            return int(-last)
        status = index_new_rows(tables, stratum, like)
        if status == DONE:
            status = _use_rows(tables, epoch, np.int64(0), last, SETTLING)
        if status != DONE:
            return status
    return DONE


@inlined
def update_stratum(tables: Tables, epoch: Epoch, stratum: StratumRecord, like: CodeArray) -> int:
    """Update one stratum and return a status."""
    status = _take_changes(tables, epoch, stratum, LOSING)
    if status == DONE:
        status = _find_affected(tables, epoch)
    if status == DONE:
        status = _ask_backward(tables, epoch)
    if status == DONE:
        status = _take_changes(tables, epoch, stratum, GAINING)
    if status == DONE:
        status = _settle_offers(tables, epoch, stratum, like)
    return status
