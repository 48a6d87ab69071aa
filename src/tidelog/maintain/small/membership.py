"""Kernel parts: values in registers, and the rows that equal them."""

import numpy as np

from tidelog.maintain.small.layout import (
    ABSENT_LEVEL,
    ALIVE,
    ARITY,
    CAPACITY,
    COUNT,
    COUNTS,
    DELETED,
    LEVELS,
    NEEDS_ROOM,
    NEEDS_WIDE_CODES,
    PREVIOUS,
    ROWS,
    SLOT_COUNT,
    SLOTS,
)
from tidelog.storage.address import (
    load_byte,
    load_code,
    load_word,
    store_byte,
    store_code,
    store_int32,
    store_word,
)
from tidelog.storage.hashing import mix
from tidelog.storage.kernel import CodeArray, Int64s, Integer, inlined

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_EMPTY = np.uint64(0)
_ONE = np.uint64(1)
_NARROW = np.int64(2**31)


@inlined
def value_of(registers: Int64s, constants: Int64s, register: Integer) -> np.int64:
    """Return what a register or a constant holds."""
    if register < 0:
        return np.int64(constants[-1 - register])
    return np.int64(registers[register])


@inlined
def hash_of(registers: Int64s, constants: Int64s, code: Int64s, place: Integer, width: Integer) -> np.uint64:
    """Return the hash of the values of registers, as `storage.hashing` computes it."""
    state = np.uint64(width)
    for position in range(width):
        state = mix(state ^ np.uint64(value_of(registers, constants, code[place + position])))
    return state & _LOW


@inlined
def find_row(
    relations: Int64s, relation: Integer, registers: Int64s, constants: Int64s, code: Int64s, place: Integer,
    digest: np.uint64, like: CodeArray,
) -> Integer:  # fmt: skip
    """Return the number of the row whose columns are in the registers, alive or not, or -1."""
    slots = relations[relation, SLOTS]
    mask = np.uint64(relations[relation, SLOT_COUNT] - 1)
    rows = relations[relation, ROWS]
    width = relations[relation, ARITY]
    slot = digest & mask
    while True:
        word = load_word(slots, np.int64(slot))
        if word == _EMPTY:
            return np.int64(-1)
        if word >> _HALF == digest:
            row = np.int64(word & _LOW) - 1
            same = True
            for column in range(width):
                value = value_of(registers, constants, code[place + column])
                if np.int64(load_code(rows, row * width + column, like)) != value:
                    same = False
                    break
            if same:
                return row
        slot = (slot + _ONE) & mask


@inlined
def find_visible(
    relations: Int64s, relation: Integer, registers: Int64s, constants: Int64s, code: Int64s, place: Integer,
    like: CodeArray,
) -> Integer:  # fmt: skip
    """Return the number of the row whose columns are in the registers, or -1 if joins see none.

    A hidden row is no fact, neither of the old epoch nor of the new one.
    """
    digest = hash_of(registers, constants, code, place, relations[relation, ARITY])
    found = np.int64(find_row(relations, relation, registers, constants, code, place, digest, like))
    alive = relations[relation, ALIVE]
    if found >= 0 and alive != 0 and load_byte(alive, found) == 0:
        return np.int64(-1)
    return found


@inlined
def locate_row(
    relations: Int64s, relation: Integer, registers: Int64s, constants: Int64s, code: Int64s, place: Integer,
    like: CodeArray,
) -> Integer:  # fmt: skip
    """Return the number of the row in the registers, appended as absent if it is not there.

    A negative number is a status, negated.
    """
    width = relations[relation, ARITY]
    digest = hash_of(registers, constants, code, place, width)
    found = find_row(relations, relation, registers, constants, code, place, digest, like)
    if found >= 0:
        return found
    number = np.int64(relations[relation, COUNT])
    if number == relations[relation, CAPACITY] or (number + 1) * 2 > relations[relation, SLOT_COUNT]:
        return np.int64(-NEEDS_ROOM)
    for column in range(width):
        value = value_of(registers, constants, code[place + column])
        if like.itemsize == 4 and (value >= _NARROW or value < -_NARROW):
            return np.int64(-NEEDS_WIDE_CODES)
        store_code(relations[relation, ROWS], number * width + column, value, like)
    store_byte(relations[relation, ALIVE], number, 0)
    store_int32(relations[relation, LEVELS], number, ABSENT_LEVEL)
    store_int32(relations[relation, PREVIOUS], number, ABSENT_LEVEL)
    store_int32(relations[relation, COUNTS], number, 0)
    mask = np.uint64(relations[relation, SLOT_COUNT] - 1)
    slot = digest & mask
    while load_word(relations[relation, SLOTS], np.int64(slot)) != _EMPTY:
        slot = (slot + _ONE) & mask
    store_word(relations[relation, SLOTS], np.int64(slot), (digest << _HALF) | np.uint64(number + 1))
    relations[relation, COUNT] = number + 1
    relations[relation, DELETED] += 1
    return number
