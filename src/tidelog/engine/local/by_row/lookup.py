"""Kernel parts: find the rows and postings that equal values in registers."""

import numpy as np

from tidelog.engine.local.by_row.layout import (
    NEEDS_ROOM,
    NEEDS_WIDE_CODES,
    IndexRecord,
    RelationRecord,
    Tables,
)
from tidelog.storage.hashing import mix
from tidelog.storage.judge_row import ABSENT_LEVEL
from tidelog.storage.kernel import Integer, inlined
from tidelog.storage.slots import (
    EMPTY,
    FULLEST,
    LOW,
    first_place,
    next_place,
    number_bits,
    number_in,
    tag_of,
    word_of,
)
from tidelog.storage.structs import Elements, elements_at

_NARROW = np.int64(2**31)


@inlined
def gather(tables: Tables, place: Integer, count: Integer) -> None:
    """Gather the values that operands in the code name."""
    for position in range(count):
        tables.gathered[position] = tables.values[tables.code[place + position]]


@inlined
def hash_gathered(tables: Tables, width: Integer) -> np.uint64:
    """Return the hash of the values gathered, as `storage.hashing` computes it."""
    state = np.uint64(width)
    for position in range(width):
        state = mix(state ^ np.uint64(tables.gathered[position]))
    return state & LOW


@inlined
def _is_at(tables: Tables, stored: Integer, first: Integer, columns: Elements, width: Integer) -> bool:
    """Say whether the values gathered are in these columns of the row of stored codes that begins here.

    Without columns they are in the first ones.
    """
    for position in range(width):
        column = np.int64(position) if columns.address == 0 else columns[position]
        if elements_at(stored, tables.codes)[first + column] != tables.gathered[position]:
            return False
    return True


@inlined
def _find_slot(
    tables: Tables, slots: Elements, slot_count: Integer, stored: Integer, arity: Integer,
    columns: Elements, width: Integer, digest: np.uint64,
) -> Integer:  # fmt: skip
    """Return the number of the stored row that has the values gathered in these columns, or -1."""
    bits = number_bits(slot_count)
    tag = tag_of(digest, bits)
    place = first_place(digest, slot_count)
    while True:
        word = np.uint64(slots[np.int64(place)])
        if word == EMPTY:
            return np.int64(-1)
        if word >> bits == tag:
            number = number_in(word, bits)
            if _is_at(tables, stored, number * arity, columns, width):
                return number
        place = next_place(place, slot_count)


@inlined
def find_posting(tables: Tables, index: IndexRecord, relation: RelationRecord, place: Integer) -> Integer:
    """Return the group of the key whose operands are at a place of the code, or -1.

    In a direct index of this relation it is the newest row of the key.
    """
    width, is_direct = index.key_width, index.earlier.address != 0
    if index.is_dense != 0:
        code = tables.values[tables.code[place]]
        if is_direct:
            return np.int64(index.slots[code]) - 1 if 0 <= code < index.slot_count else np.int64(-1)
        return code if 0 <= code < index.group_capacity else np.int64(-1)
    gather(tables, place, width)
    digest = hash_gathered(tables, width)
    if is_direct:
        rows, columns = relation.rows, index.key_columns
        return _find_slot(tables, index.slots, index.slot_count, rows, relation.arity, columns, width, digest)
    first = elements_at(np.int64(0), tables.codes)
    return _find_slot(tables, index.slots, index.slot_count, index.keys, width, first, width, digest)


@inlined
def find_hashed(tables: Tables, relation: RelationRecord, digest: np.uint64) -> Integer:
    """Return the number of the row that was gathered and has this hash, alive or not, or -1."""
    arity, first = relation.arity, elements_at(np.int64(0), tables.codes)
    return _find_slot(tables, relation.slots, relation.slot_count, relation.rows, arity, first, arity, digest)


@inlined
def find_row(tables: Tables, relation: RelationRecord) -> Integer:
    """Return the number of the row that was gathered, alive or not, or -1."""
    return find_hashed(tables, relation, hash_gathered(tables, relation.arity))


@inlined
def find_visible(tables: Tables, relation: RelationRecord) -> Integer:
    """Return the number of the row that was gathered, or -1 if joins see none.

    A hidden row is not a fact, neither of the old epoch nor of the new one.
    """
    found = find_row(tables, relation)
    if found >= 0 and relation.alive.address != 0 and relation.alive[found] == 0:
        return np.int64(-1)
    return found


@inlined
def append_row(tables: Tables, relation: RelationRecord, digest: np.uint64) -> Integer:
    """Append the row that was gathered, which is missing; return its number, or a status, negated."""
    number = np.int64(relation.count)
    if number == relation.capacity or number + 1 > FULLEST * relation.slot_count:
        return np.int64(-NEEDS_ROOM)
    for column in range(relation.arity):
        value = tables.gathered[column]
        if tables.has_narrow_codes and (value >= _NARROW or value < -_NARROW):
            return np.int64(-NEEDS_WIDE_CODES)
        elements_at(relation.rows, tables.codes)[number * relation.arity + column] = value
    place = first_place(digest, relation.slot_count)
    while np.uint64(relation.slots[np.int64(place)]) != EMPTY:
        place = next_place(place, relation.slot_count)
    relation.slots[np.int64(place)] = word_of(digest, number, number_bits(relation.slot_count))
    relation.count = number + 1
    return number


@inlined
def locate_row(tables: Tables, relation: RelationRecord) -> Integer:
    """Return the number of the row that was gathered; append it as absent if it is missing.

    A negative number is a status, negated.
    """
    digest = hash_gathered(tables, relation.arity)
    found = find_hashed(tables, relation, digest)
    if found >= 0:
        return found
    number = append_row(tables, relation, digest)
    if number >= 0:
        relation.alive[number] = 0
        relation.levels[number] = ABSENT_LEVEL
        relation.counts[number] = 0
        relation.hidden_count += 1
    return number
