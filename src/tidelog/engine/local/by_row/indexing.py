"""Kernel parts: indexes that grow with their relations."""

import numpy as np

from tidelog.engine.local.by_row.layout import (
    DONE,
    NEEDS_ROOM,
    IndexRecord,
    RelationRecord,
    StratumRecord,
    Tables,
)
from tidelog.storage.address import array_at, array_pointer
from tidelog.storage.direct import enter_by_code, enter_by_hash
from tidelog.storage.hashing import hash_columns
from tidelog.storage.kernel import CodeArray, Int64s, inlined
from tidelog.storage.postings import FREE, FREE_LISTS, NUMBERED, append_entries, number_groups
from tidelog.storage.slots import FULLEST


@inlined
def index_new_rows(tables: Tables, stratum: StratumRecord, like: CodeArray) -> int:
    """Enter the rows appended to the relations of a stratum into their indexes; return a status."""
    for number in range(stratum.first_relation, stratum.first_relation + stratum.relation_count):
        relation = tables.relations[number]
        # Levels come after the indexes below them.
        for is_level in range(2):
            next_index = relation.first_index
            while next_index >= 0:
                index = tables.indexes[next_index]
                if index.is_used != 0 and (index.below >= 0) == (is_level != 0):
                    status = _index_rows(tables, relation, index, like)
                    if status != DONE:
                        tables.counters.short_index = next_index
                        return status
                next_index = index.next
    return DONE


@inlined
def _rows_of(tables: Tables, relation: RelationRecord, index: IndexRecord, like: CodeArray) -> CodeArray:
    """Return the rows of an index: those of its relation or, for a level, the keys of the index below."""
    if index.below < 0:
        shape = relation.count, relation.arity
        return array_at(array_pointer(relation.rows), shape, like.dtype)
    below = tables.indexes[index.below]
    return array_at(array_pointer(below.keys), (below.group_count, below.key_width), like.dtype)


@inlined
def _index_rows(tables: Tables, relation: RelationRecord, index: IndexRecord, like: CodeArray) -> int:
    """Enter the rows that an index lacks; return a status."""
    rows = _rows_of(tables, relation, index, like)
    first, last = index.rows_indexed, rows.shape[0]
    if first == last:
        return DONE
    if index.earlier.address != 0:
        return _enter_rows(tables, relation, index, rows)
    groups = np.empty(last - first, np.int64)
    status = _find_groups(tables, index, rows, groups)
    if status != DONE:
        return status
    shape = index.group_capacity, NUMBERED
    arena = array_at(array_pointer(index.arena), (index.arena_capacity, index.rest_width + 1), like.dtype)
    state = array_at(array_pointer(index.arena_state), (FREE + FREE_LISTS,), np.int64)
    exact = array_at(array_pointer(index.exact), (index.exact_count,), np.uint8)
    rest = array_at(array_pointer(index.rest_columns.address), (index.rest_width,), np.int32)
    if index.wide_groups.address == 0:
        narrow = array_at(array_pointer(index.groups.address), shape, np.int32)
        done = append_entries(narrow, arena, state, exact, rows, rest, groups, first, 0, -1)
    else:
        wide = array_at(array_pointer(index.wide_groups.address), shape, np.int64)
        done = append_entries(wide, arena, state, exact, rows, rest, groups, first, 0, -1)
    index.rows_indexed = first + done
    return DONE if first + done == last else NEEDS_ROOM


@inlined
def _enter_rows(tables: Tables, relation: RelationRecord, index: IndexRecord, rows: CodeArray) -> int:
    """Enter the rows that a direct index lacks; return a status."""
    slots = array_at(array_pointer(index.slots.address), (index.slot_count,), np.uint32)
    earlier = array_at(array_pointer(index.earlier.address), (index.arena_capacity,), np.int32)
    columns = array_at(array_pointer(index.key_columns.address), (index.key_width,), np.int32)
    is_short = index.is_dense == 0 and relation.count > FULLEST * index.slot_count
    if is_short or relation.count > index.arena_capacity:
        tables.counters.short_key = 0
        return NEEDS_ROOM
    for row in range(index.rows_indexed, relation.count):
        if index.is_dense != 0:
            code = np.int64(rows[row, columns[0]])
            if code < 0 or code >= index.slot_count:
                tables.counters.short_key = code
                return NEEDS_ROOM
            index.group_count += enter_by_code(slots, earlier, code, row)
        else:
            digest = hash_columns(rows, row, columns)
            index.group_count += enter_by_hash(slots, earlier, rows, columns, digest, row)
        index.rows_indexed = row + 1
    return DONE


@inlined
def _find_groups(tables: Tables, index: IndexRecord, rows: CodeArray, groups: Int64s) -> int:
    """Write the groups of the rows that an index lacks; return a status."""
    first = index.rows_indexed
    columns = array_at(array_pointer(index.key_columns.address), (index.key_width,), np.int32)
    if index.is_dense != 0:
        for position in range(groups.shape[0]):
            group = np.int64(rows[first + position, columns[0]])
            if group < 0 or group >= index.group_capacity:
                tables.counters.short_key = group
                return NEEDS_ROOM
            groups[position] = group
        return DONE
    needed = index.group_count + groups.shape[0]
    if needed > index.key_capacity or needed > index.group_capacity or needed > FULLEST * index.slot_count:
        return NEEDS_ROOM
    slots = array_at(array_pointer(index.slots.address), (index.slot_count,), np.uint32)
    keys = array_at(array_pointer(index.keys), (index.key_capacity, index.key_width), rows.dtype)
    index.group_count = number_groups(
        slots, keys, rows, columns, first, first + groups.shape[0], index.group_count, groups
    )
    return DONE
