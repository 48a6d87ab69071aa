"""Kernel parts: instructions that extend or drop a binding."""

import numpy as np

from tidelog.engine.local.by_row.layout import JOIN_WIDTH, Cursor, IndexRecord, RelationRecord, Tables
from tidelog.storage.annotations import status_of
from tidelog.storage.join import compares
from tidelog.storage.judge_row import ABSENT_LEVEL, UNTOUCHED
from tidelog.storage.kernel import Integer, inlined
from tidelog.storage.ordered import ABOVE, AT_LEAST, AT_MOST
from tidelog.storage.postings import LENGTH, NUMBERED, START
from tidelog.storage.structs import Elements, elements_at

_MOST_ROWS = 1 << 10


@inlined
def passes(tables: Tables, place: Integer, count: Integer) -> bool:
    """Say whether all of some comparisons hold, each three words of the code."""
    for at in range(place, place + 3 * count, 3):
        left, right = tables.values[tables.code[at + 1]], tables.values[tables.code[at + 2]]
        if not compares(tables.code[at], left, right):
            return False
    return True


@inlined
def _bound(tables: Tables, index: IndexRecord, cursor: Cursor, kind: Integer, value: Integer) -> None:
    """Leave the entries of a sorted run that are on one side of a value."""
    # The first entry that is at least the value, or after it.
    is_after = kind in (ABOVE, AT_MOST)
    start, end = cursor.entry, cursor.end
    while start < end:
        middle = (start + end) >> 1
        found = elements_at(index.arena, tables.codes)[middle * cursor.width + index.position]
        if found < value or (is_after and found == value):
            start = middle + 1
        else:
            end = middle
    if kind in (ABOVE, AT_LEAST):
        cursor.entry = start
    else:
        cursor.end = start


@inlined
def group_field(index: IndexRecord, group: Integer, field: Integer) -> Integer:
    """Return where the posting of a group begins, or how long it is."""
    place = group * NUMBERED + field
    return index.groups[place] if index.wide_groups.address == 0 else index.wide_groups[place]


@inlined
def posting_size(tables: Tables, index: IndexRecord, group: Integer) -> Integer:
    """Return how many facts a group has; about how many, if it is one of a level.

    Through a direct index, where few have many, rows are counted up to a limit.
    """
    if index.below >= 0:
        below = tables.indexes[index.below]
        return group_field(index, group, LENGTH) * (below.rows_indexed // max(below.group_count, 1))
    if index.earlier.address == 0:
        return group_field(index, group, LENGTH)
    if index.key_width == 0:
        return index.rows_indexed
    size = np.int64(0)
    row = group
    while row >= 0 and size < _MOST_ROWS:
        size += 1
        row = index.earlier[row] - 1
    return size


@inlined
def is_limited(tables: Tables, relation: Integer) -> bool:
    """Say whether the levels of a relation's rows decide which derivations are listed."""
    counters = tables.counters
    is_own = counters.first_own <= relation < counters.first_own + counters.own_count
    return bool(counters.level_limit > 0 and is_own)


@inlined
def is_within(tables: Tables, levels: Elements, marks: Elements, row: Integer) -> bool:
    """Say whether a row has a level below the limit and is not marked.

    Hidden rows have no level. Nor have affected ones by the time that the limit is to have any: then no
    other rows are marked, and the marks need not be read.
    """
    limit = tables.counters.level_limit
    return bool(levels[row] < limit and (limit == ABSENT_LEVEL or status_of(marks, row) == UNTOUCHED))


@inlined
def _is_passed_over(tables: Tables, cursor: Cursor, row: Integer) -> bool:
    """Say whether a join goes on without a row."""
    if cursor.is_limited != 0:
        return not is_within(tables, cursor.levels, cursor.marks, row)
    return bool(cursor.alive[row] == 0)


@inlined
def open_join(tables: Tables, at: Integer, group: Integer) -> None:
    """Open a join at the entries of a group, as far as its bounds leave them."""
    code, counters = tables.code, tables.counters
    index = tables.indexes[code[at + 1]]
    cursor = tables.cursors[counters.open_joins]
    counters.open_joins += 1
    cursor.alive = tables.relations[code[at + 2]].alive
    # The entries of a level lead to groups.
    cursor.is_limited = int(index.below < 0 and is_limited(tables, code[at + 2]))
    cursor.hides_rows = int(index.below < 0 and (cursor.alive.address != 0 or cursor.is_limited != 0))
    cursor.levels = tables.relations[code[at + 2]].levels
    cursor.marks = tables.relations[code[at + 2]].marks
    cursor.binds = at + JOIN_WIDTH + code[at + 3]
    cursor.bind_count = code[at + 4]
    cursor.filter_count = code[at + 5]
    bounds = cursor.binds + 2 * cursor.bind_count + 3 * cursor.filter_count
    cursor.next = bounds + 2 * code[at + 6]
    cursor.earlier = index.earlier
    if index.earlier.address != 0:
        _open_direct(index, cursor, tables.relations[code[at + 2]], group)
        return
    cursor.arena = index.arena
    cursor.width = index.rest_width + 1
    cursor.entry = group_field(index, group, START)
    cursor.tail_end = cursor.entry + group_field(index, group, LENGTH)
    cursor.tail = cursor.tail_end
    if bounds < cursor.next:
        cursor.tail = cursor.entry + index.sorted_lengths[group]
    cursor.end = cursor.tail
    for bound in range(bounds, cursor.next, 2):
        _bound(tables, index, cursor, code[bound], tables.values[code[bound + 1]])


@inlined
def _open_direct(index: IndexRecord, cursor: Cursor, relation: RelationRecord, row: Integer) -> None:
    """Open a join at the rows of a key, from its newest row on."""
    cursor.arena = relation.rows
    cursor.width = relation.arity
    cursor.columns = index.rest_columns
    cursor.rest_width = index.rest_width
    cursor.entry = row


@inlined
def _next_row(tables: Tables, cursor: Cursor) -> bool:
    """Bind the next row of a join through a direct index; return False after the last."""
    code, values = tables.code, tables.values
    filters = cursor.binds + 2 * cursor.bind_count
    while cursor.entry >= 0:
        row = cursor.entry
        cursor.entry = cursor.earlier[row] - 1
        if cursor.hides_rows != 0 and _is_passed_over(tables, cursor, row):
            continue
        for bind in range(cursor.binds, filters, 2):
            place = code[bind]
            value: Integer = row
            if place < cursor.rest_width:
                column = cursor.columns[place]
                value = elements_at(cursor.arena, tables.codes)[row * cursor.width + column]
            values[code[bind + 1]] = value
        tables.counters.work += 1
        if passes(tables, filters, cursor.filter_count):
            return True
    return False


@inlined
def next_entry(tables: Tables, cursor: Cursor) -> bool:
    """Bind the next entry of an open join; return False after the last."""
    if cursor.earlier.address != 0:
        return _next_row(tables, cursor)
    code, values = tables.code, tables.values
    while True:
        if cursor.entry == cursor.end:
            if cursor.tail == cursor.tail_end:
                return False
            # The tail of an ordered posting comes after the part of its run that is within bounds.
            cursor.entry = cursor.tail
            cursor.end = cursor.tail_end
            cursor.tail = cursor.tail_end
        entry = cursor.entry * cursor.width
        cursor.entry += 1
        if cursor.hides_rows != 0:
            row = elements_at(cursor.arena, tables.codes)[entry + cursor.width - 1]
            if _is_passed_over(tables, cursor, row):
                continue
        filters = cursor.binds + 2 * cursor.bind_count
        for bind in range(cursor.binds, filters, 2):
            values[code[bind + 1]] = elements_at(cursor.arena, tables.codes)[entry + code[bind]]
        tables.counters.work += 1
        if passes(tables, filters, cursor.filter_count):
            return True
