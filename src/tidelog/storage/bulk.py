"""Kernels that build the postings of many rows at once, with no room to spare.

Rows are counted before they are placed, so that no posting moves. For a key of two columns, rows are first
put in the order of one of them: the groups of one code are then found by the other column in an array that
stays in the cache, and each is entered into slots once, where rows in any order would be hashed one by one.
"""

import numpy as np

from tidelog.kernels.fetch import fetch
from tidelog.storage.hashing import hash_columns
from tidelog.storage.kernel import CodeArray, Int32s, Int64s, Integer, Slots, Words, inlined, kernel
from tidelog.storage.postings import LENGTH, START
from tidelog.storage.slots import AHEAD, FULLEST, fetch_home, filled, free_place

# Positions in the state of `group_rows`: the next code, how many groups there are, the first unused entry.
CODE = 0
KNOWN = 1
TOP = 2
STATE_SIZE = 3


@kernel
def count_codes(groups: CodeArray, rows: CodeArray, column: int, count: int) -> None:
    """Count the first `count` rows of each code of a column as the length of its group."""
    for row in range(count):
        groups[rows[row, column], LENGTH] += 1


@kernel
def place_exactly(groups: CodeArray) -> None:
    """Place the postings of groups one after the other, with no room to spare; ensures that lengths are 0.

    Groups without a row are not written: they may be on pages that take no memory.
    """
    top = np.int64(0)
    for group in range(groups.shape[0]):
        length = groups[group, LENGTH]
        if length > 0:
            groups[group, START] = top
            groups[group, LENGTH] = 0
            top += length


@kernel
def fill_dense(
    groups: CodeArray, arena: CodeArray, rows: CodeArray, column: int, rest: Int32s, count: int
) -> None:
    """Write the first `count` rows behind the entries of their groups, which are codes of a column.

    Requires room for them there.
    """
    for row in range(count):
        if row + AHEAD < count:
            later = np.int64(rows[row + AHEAD, column])
            fetch(arena, groups[later, START] + groups[later, LENGTH])
        group = np.int64(rows[row, column])
        place = groups[group, START] + groups[group, LENGTH]
        for position in range(rest.shape[0]):
            arena[place, position] = rows[row, rest[position]]
        arena[place, rest.shape[0]] = row
        groups[group, LENGTH] += 1


@kernel
def order_by_code(rows: CodeArray, column: int, ends: Int64s, order: Int32s) -> None:
    """Write the numbers of as many rows as `order` takes, by the code in a column, ascending for each code.

    Requires zeros in `ends`, one for each code. Ensures that the rows of a code end there.
    """
    count = order.shape[0]
    for row in range(count):
        ends[rows[row, column]] += 1
    top = np.int64(0)
    for place in range(ends.shape[0]):
        length = ends[place]
        ends[place] = top
        top += length
    for row in range(count):
        code = np.int64(rows[row, column])
        order[ends[code]] = row
        ends[code] += 1


@kernel
def group_rows(
    slots: Slots, keys: CodeArray, groups: CodeArray, arena: CodeArray, rows: CodeArray, key: Int32s,
    rest: Int32s, order: Int32s, ends: Int64s, other: int, beside: Int32s, state: Int64s,
) -> bool:  # fmt: skip
    """Write the rows in `order`, whose codes end at `ends`, into postings by a key of two columns.

    One is the column that rows are ordered by, the `other` is looked up in `beside`, which has the group of
    each of its codes for the last code of the first that it occurred with.
    Return False if there is no room for another key; the caller makes some and calls again.
    Requires room for all rows in the arena; groups that are not known yet are 0, and `beside` is -1 at first.
    """
    known, top = state[KNOWN], state[TOP]
    room = min(keys.shape[0], groups.shape[0], np.int64(FULLEST * slots.shape[0]))
    for code in range(state[CODE], ends.shape[0]):
        begin, placed = (ends[code - 1] if code > 0 else np.int64(0)), known
        if known + min(ends[code] - begin, beside.shape[0]) > room:
            state[CODE], state[KNOWN], state[TOP] = code, known, top
            return False
        for position in range(begin, ends[code]):
            if position + AHEAD < order.shape[0]:
                fetch(rows, order[position + AHEAD])
            row = np.int64(order[position])
            group = np.int64(beside[rows[row, other]])
            if group < placed:
                group = known
                known += 1
                beside[rows[row, other]] = group
                for column in range(key.shape[0]):
                    keys[group, column] = rows[row, key[column]]
            groups[group, LENGTH] += 1
        for new in range(placed, known):
            groups[new, START] = top
            top += groups[new, LENGTH]
            groups[new, LENGTH] = 0
        for position in range(begin, ends[code]):
            row = np.int64(order[position])
            group = np.int64(beside[rows[row, other]])
            place = groups[group, START] + groups[group, LENGTH]
            for column in range(rest.shape[0]):
                arena[place, column] = rows[row, rest[column]]
            arena[place, rest.shape[0]] = row
            groups[group, LENGTH] += 1
    state[CODE], state[KNOWN], state[TOP] = ends.shape[0], known, top
    return True


@kernel
def enter_groups(slots: Slots, keys: CodeArray, columns: Int32s, count: int) -> None:
    """Enter the distinct keys of the first groups into slots, which have room for them."""
    digests, later = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64)
    _fetch_homes(slots, keys, columns, 0, count, later)
    for first in range(0, count, AHEAD):
        digests, later = later, digests
        _fetch_homes(slots, keys, columns, first + AHEAD, count, later)
        for group in range(first, min(first + AHEAD, count)):
            digest = digests[group - first]
            slots[free_place(slots, digest)] = filled(slots, digest, group)


@inlined
def _fetch_homes(
    slots: Slots, keys: CodeArray, columns: Int32s, first: Integer, count: Integer, digests: Words
) -> None:
    for group in range(first, min(first + AHEAD, count)):
        digests[group - first] = fetch_home(slots, hash_columns(keys, group, columns))
