"""Kernel parts: instructions that extend or drop a binding, and indexes that grow."""

import numpy as np
from numba import carray  # type: ignore[attr-defined]  # numba does not list it

from tidelog.maintain.small.layout import (
    ADD,
    ALIVE,
    ARITY,
    CAPACITY,
    COUNT,
    DIVIDE,
    DONE,
    FIRST_INDEX,
    INDEX_ARENA,
    INDEX_ARENA_CAPACITY,
    INDEX_ARENA_STATE,
    INDEX_GROUP_CAPACITY,
    INDEX_GROUP_COUNT,
    INDEX_GROUPS,
    INDEX_IS_DENSE,
    INDEX_IS_USED,
    INDEX_KEY_CAPACITY,
    INDEX_KEY_COLUMNS,
    INDEX_KEY_WIDTH,
    INDEX_KEYS,
    INDEX_POSITION,
    INDEX_REST_COLUMNS,
    INDEX_REST_WIDTH,
    INDEX_ROWS_INDEXED,
    INDEX_SLOT_COUNT,
    INDEX_SLOTS,
    INDEX_SORTED_LENGTHS,
    MULTIPLY,
    NEEDS_ROOM,
    NEXT_INDEX,
    REMAINDER,
    ROWS,
    SHORT_INDEX,
    SHORT_KEY,
    SUBTRACT,
    WORK,
)
from tidelog.maintain.small.membership import hash_of, value_of
from tidelog.storage.address import array_pointer, load_byte, load_code, load_int64, load_word
from tidelog.storage.join import EQUAL, LESS, UNEQUAL
from tidelog.storage.kernel import CodeArray, Int64s, Integer, inlined
from tidelog.storage.ordered import ABOVE, AT_LEAST, AT_MOST
from tidelog.storage.postings import FREE_LISTS, LENGTH, START, append_entries, number_groups

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_EMPTY = np.uint64(0)
_ONE = np.uint64(1)


@inlined
def find_posting(
    indexes: Int64s, index: Integer, registers: Int64s, constants: Int64s, code: Int64s, place: Integer,
    like: CodeArray,
) -> Integer:  # fmt: skip
    """Return the group of the key in the registers, or -1."""
    if indexes[index, INDEX_IS_DENSE] != 0:
        group = value_of(registers, constants, code[place])
        if group < 0 or group >= indexes[index, INDEX_GROUP_CAPACITY]:
            return np.int64(-1)
        return group
    width = indexes[index, INDEX_KEY_WIDTH]
    digest = hash_of(registers, constants, code, place, width)
    mask = np.uint64(indexes[index, INDEX_SLOT_COUNT] - 1)
    slot = digest & mask
    while True:
        word = load_word(indexes[index, INDEX_SLOTS], np.int64(slot))
        if word == _EMPTY:
            return np.int64(-1)
        if word >> _HALF == digest:
            group = np.int64(word & _LOW) - 1
            same = True
            for position in range(width):
                value = value_of(registers, constants, code[place + position])
                if np.int64(load_code(indexes[index, INDEX_KEYS], group * width + position, like)) != value:
                    same = False
                    break
            if same:
                return group
        slot = (slot + _ONE) & mask


@inlined
def compare(comparison: Integer, left: np.int64, right: np.int64) -> bool | np.bool:
    """Say whether a comparison holds."""
    if comparison == EQUAL:
        return bool(left == right)
    if comparison == UNEQUAL:
        return bool(left != right)
    if comparison == LESS:
        return left < right
    return left <= right


@inlined
def compute(functor: Integer, left: np.int64, right: np.int64) -> np.int64:
    """Return the value of a functor of numbers; a divisor is not zero."""
    if functor == ADD:
        return left + right
    if functor == SUBTRACT:
        return left - right
    if functor == MULTIPLY:
        return left * right
    if functor in (DIVIDE, REMAINDER):
        if right == -1:
            return np.int64(0) if functor == REMAINDER else -left
        quotient = left // right
        if quotient < 0 and quotient * right != left:
            quotient += 1
        return quotient if functor == DIVIDE else left - quotient * right
    return left


@inlined
def _first_place(
    indexes: Int64s, index: Integer, start: Integer, end: Integer, value: Integer, after: bool,
    like: CodeArray,
) -> np.int64:  # fmt: skip
    """Return the first entry of a sorted run that is at least a value, or `after` it."""
    arena = indexes[index, INDEX_ARENA]
    width = indexes[index, INDEX_REST_WIDTH] + 1
    position = indexes[index, INDEX_POSITION]
    while start < end:
        middle = (start + end) >> 1
        found = np.int64(load_code(arena, middle * width + position, like))
        if found < value or (after and found == value):
            start = middle + 1
        else:
            end = middle
    return np.int64(start)


@inlined
def open_posting(
    indexes: Int64s, code: Int64s, constants: Int64s, registers: Int64s, cursors: Int64s, depth: Integer,
    at: Integer, group: Integer, like: CodeArray,
) -> None:  # fmt: skip
    """Set the cursor of a depth to the entries of a group that the bounds of the join leave."""
    index = code[at + 1]
    filters_at = at + 4 + code[at + 2] + 2 * code[at + 3 + code[at + 2]]
    bounds_at = filters_at + 2 + 3 * code[filters_at]
    groups = indexes[index, INDEX_GROUPS]
    start = load_int64(groups, group * 3 + START)
    end = start + load_int64(groups, group * 3 + LENGTH)
    cursors[depth, 0] = at
    cursors[depth, 3] = code[bounds_at - 1]
    cursors[depth, 4] = end
    cursors[depth, 5] = end
    if code[bounds_at] > 0:
        run = start + load_int64(indexes[index, INDEX_SORTED_LENGTHS], group)
        cursors[depth, 4] = run
        end = run
        for number in range(code[bounds_at]):
            kind = code[bounds_at + 1 + 2 * number]
            value = value_of(registers, constants, code[bounds_at + 2 + 2 * number])
            after = kind in (ABOVE, AT_MOST)
            place = _first_place(indexes, index, start, end, value, after, like)
            if kind in (ABOVE, AT_LEAST):
                start = place
            else:
                end = place
    cursors[depth, 1] = start
    cursors[depth, 2] = end


@inlined
def next_entry(
    relations: Int64s, indexes: Int64s, code: Int64s, constants: Int64s, registers: Int64s, cursors: Int64s,
    depth: Integer, counters: Int64s, like: CodeArray,
) -> Integer:  # fmt: skip
    """Bind the next entry of the join at a depth; return the instruction after it, or -1 at the end."""
    place = cursors[depth, 0]
    index = code[place + 1]
    relation = cursors[depth, 3]
    alive = relations[relation, ALIVE]
    rest = indexes[index, INDEX_REST_WIDTH]
    arena = indexes[index, INDEX_ARENA]
    keys = code[place + 2]
    binds_at = place + 3 + keys
    binds = code[binds_at]
    filters_at = binds_at + 1 + 2 * binds
    filters = code[filters_at]
    while True:
        if cursors[depth, 1] == cursors[depth, 2]:
            if cursors[depth, 4] == cursors[depth, 5]:
                break
            # The tail of an ordered posting comes after the part of its run that is within bounds.
            cursors[depth, 1] = cursors[depth, 4]
            cursors[depth, 2] = cursors[depth, 5]
            cursors[depth, 4] = cursors[depth, 5]
        entry = cursors[depth, 1] * (rest + 1)
        cursors[depth, 1] += 1
        if alive != 0 and load_byte(alive, np.int64(load_code(arena, entry + rest, like))) == 0:
            continue
        for bind in range(binds):
            column = code[binds_at + 1 + 2 * bind]
            registers[code[binds_at + 2 + 2 * bind]] = load_code(arena, entry + column, like)
        passes = True
        for number in range(filters):
            at = filters_at + 1 + 3 * number
            left = value_of(registers, constants, code[at + 1])
            right = value_of(registers, constants, code[at + 2])
            if not compare(code[at], left, right):
                passes = False
                break
        if passes:
            return np.int64(filters_at + 1 + 3 * filters)
        counters[WORK] += 1
    return np.int64(-1)


@inlined
def index_new_rows(
    relations: Int64s, indexes: Int64s, first: Integer, last: Integer, counters: Int64s, like: CodeArray
) -> int:
    """Enter the rows appended to a range of relations into their indexes; return a status."""
    for relation in range(first, last):
        index = np.int64(relations[relation, FIRST_INDEX])
        while index >= 0:
            is_behind = indexes[index, INDEX_ROWS_INDEXED] < relations[relation, COUNT]
            if is_behind and indexes[index, INDEX_IS_USED] != 0:
                status = _index_rows(relations, indexes, relation, index, counters, like)
                if status != DONE:
                    counters[SHORT_INDEX] = index
                    return status
            index = np.int64(indexes[index, NEXT_INDEX])
    return DONE


@inlined
def _index_rows(
    relations: Int64s, indexes: Int64s, relation: Integer, index: Integer, counters: Int64s, like: CodeArray
) -> int:
    """Enter the rows that an index lacks; return a status."""
    count = relations[relation, COUNT]
    first = indexes[index, INDEX_ROWS_INDEXED]
    arity = relations[relation, ARITY]
    rows = carray(
        array_pointer(relations[relation, ROWS]), (relations[relation, CAPACITY], arity), like.dtype
    )
    width = indexes[index, INDEX_KEY_WIDTH]
    group_capacity = indexes[index, INDEX_GROUP_CAPACITY]
    columns = carray(array_pointer(indexes[index, INDEX_KEY_COLUMNS]), (width,), np.int32)
    numbers = np.empty(count - first, np.int64)
    if indexes[index, INDEX_IS_DENSE] != 0:
        for row in range(first, count):
            group = np.int64(rows[row, columns[0]])
            if group < 0 or group >= group_capacity:
                counters[SHORT_KEY] = group
                return NEEDS_ROOM
            numbers[row - first] = group
    else:
        known = indexes[index, INDEX_GROUP_COUNT]
        needed = known + count - first
        if (
            needed > indexes[index, INDEX_KEY_CAPACITY]
            or needed > group_capacity
            or needed * 2 > indexes[index, INDEX_SLOT_COUNT]
        ):
            return NEEDS_ROOM
        slots = carray(
            array_pointer(indexes[index, INDEX_SLOTS]), (indexes[index, INDEX_SLOT_COUNT],), np.uint64
        )
        keys = carray(
            array_pointer(indexes[index, INDEX_KEYS]), (indexes[index, INDEX_KEY_CAPACITY], width), like.dtype
        )
        indexes[index, INDEX_GROUP_COUNT] = number_groups(
            slots, keys, rows, columns, first, count, known, numbers
        )
    groups = carray(array_pointer(indexes[index, INDEX_GROUPS]), (group_capacity, 3), np.int64)
    rest_width = indexes[index, INDEX_REST_WIDTH]
    arena = carray(
        array_pointer(indexes[index, INDEX_ARENA]),
        (indexes[index, INDEX_ARENA_CAPACITY], rest_width + 1),
        like.dtype,
    )
    arena_state = carray(array_pointer(indexes[index, INDEX_ARENA_STATE]), (1 + FREE_LISTS,), np.int64)
    rest = carray(array_pointer(indexes[index, INDEX_REST_COLUMNS]), (rest_width,), np.int32)
    done = append_entries(groups, arena, arena_state, rows, rest, numbers, first, 0)
    indexes[index, INDEX_ROWS_INDEXED] = first + done
    if done < count - first:
        return NEEDS_ROOM
    return DONE
