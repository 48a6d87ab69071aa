"""Kernels of an index: from a key to the contiguous posting of its rows.

A posting is a run of entries in one arena; an entry has the columns that are not in the key, so a join reads
memory in order. A full posting moves to one of twice the capacity; the place it leaves is reused: free places
of one capacity are linked through their first cells. Capacities are powers of two, so that the length of a
posting says whether it is full. The first rows are counted before they are placed, so that no posting moves.

Once an evaluation has ended, few postings grow. Then they are moved together and have no room to spare; which
those are, one byte for each group says.

Where rows are known by their numbers, an entry has the row's number last. Plain evaluation only distinguishes
the rows of the last iteration from older ones; there a group knows how many of its entries are old instead.

Groups are the distinct keys. A key of one column whose codes are dense is its own group
number; other keys are found through slots.
"""

import numpy as np

from tidelog.kernels.fetch import fetch
from tidelog.storage.hashing import hash_columns
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Integer, Slots, Words, inlined, kernel
from tidelog.storage.slots import AHEAD, after, fetch_contents, fetch_home, filled, home, number_at

# Columns of the array `groups`.
START = 0
LENGTH = 1
# Only without row numbers: how many entries are older than the row numbered STAMP - 1.
OLD = 2
STAMP = 3
# How many columns there are with row numbers, and without.
NUMBERED = 2
UNNUMBERED = 4

# Positions in the array `arena_state`: the first unused entry, how many groups were touched by the rows being
# appended, then the heads of free lists.
TOP = 0
TOUCHED = 1
FREE = 2
FREE_LISTS = 40


@kernel
def code_range(rows: CodeArray, column: int, first: int, last: int) -> tuple[Integer, Integer]:
    """Return the smallest code of a column in a range of rows, or 0, and the largest, or -1."""
    smallest = np.int64(0)
    largest = np.int64(-1)
    for row in range(first, last):
        code = np.int64(rows[row, column])
        largest = max(largest, code)
        smallest = min(smallest, code)
    return smallest, largest


@kernel
def number_groups(
    slots: Slots, keys: CodeArray, rows: CodeArray, columns: Int32s, first: int, last: int,
    known: int, numbers: Int64s,
) -> int:  # fmt: skip
    """Write the group number of each row's key into `numbers`; return the number of groups.

    Keys not seen before get the next numbers and are copied to `keys`.
    Requires room in `slots` and `keys` for `last - first` more keys.
    """
    digests, later = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64)
    _fetch_homes(slots, rows[first : min(first + AHEAD, last)], columns, later)
    for start in range(first, last, AHEAD):
        end = min(start + AHEAD, last)
        digests, later = later, digests
        _fetch_homes(slots, rows[end : min(end + AHEAD, last)], columns, later)
        fetch_contents(slots, digests, end - start, keys)
        for row in range(start, end):
            digest = digests[row - start]
            place = home(slots, digest)
            group = number_at(slots, place)
            while group >= 0 and not _has_key(keys, group, rows, row, columns):
                place = after(slots, digest, place)
                group = number_at(slots, place)
            if group < 0:
                group = np.int64(known)
                for position in range(columns.shape[0]):
                    keys[group, position] = rows[row, columns[position]]
                slots[place] = filled(slots, digest, group)
                known += 1
            numbers[row - first] = group
    return known


@inlined
def _fetch_homes(slots: Slots, rows: CodeArray, columns: Int32s, digests: Words) -> None:
    """Write the digests of the keys of some rows, and fetch their homes."""
    for row in range(rows.shape[0]):
        digests[row] = fetch_home(slots, hash_columns(rows, row, columns))


@inlined
def _has_key(keys: CodeArray, group: Integer, rows: CodeArray, row: Integer, columns: Int32s) -> bool:
    for position in range(columns.shape[0]):
        if keys[group, position] != rows[row, columns[position]]:
            return False
    return True


@kernel
def dense_numbers(rows: CodeArray, column: int, first: int, last: int, numbers: Int64s) -> None:
    """Write the code of the single key column as group number."""
    for row in range(first, last):
        numbers[row - first] = rows[row, column]


@inlined
def write_entry(
    groups: CodeArray, arena: CodeArray, arena_state: Int64s, rows: CodeArray, row: Integer, rest: Int32s,
    numbers: Int64s, position: Integer, boundary: Integer,
) -> None:  # fmt: skip
    """Write a row behind the entries of its group, where there is room for it."""
    group = numbers[position]
    length = np.int64(groups[group, LENGTH])
    place = groups[group, START] + length
    for column in range(rest.shape[0]):
        arena[place, column] = rows[row, rest[column]]
    if boundary < 0:
        arena[place, rest.shape[0]] = row
    elif groups[group, STAMP] != boundary + 1:
        groups[group, STAMP] = boundary + 1
        groups[group, OLD] = length
        # The numbers before this position are not read again.
        numbers[arena_state[TOUCHED]] = group
        arena_state[TOUCHED] += 1
    groups[group, LENGTH] = length + 1


@inlined
def make_room(
    groups: CodeArray, arena: CodeArray, arena_state: Int64s, exact: Bools, group: Integer, limit: Integer
) -> bool:
    """Make room for one more entry of a group; say whether there was any before the place `limit`."""
    length = np.int64(groups[group, LENGTH])
    is_exact = group < exact.shape[0] and exact[group] != 0
    if not is_exact and length & (length - 1) != 0:
        return True
    size_class = 0
    if length > 0:
        size_class = 1
        while (1 << size_class) <= length:
            size_class += 1
    capacity = np.int64(1) << size_class
    start = arena_state[FREE + size_class]
    if start >= 0:
        arena_state[FREE + size_class] = arena[start, 0]
    else:
        start = arena_state[TOP]
        if start + capacity > limit:
            return False
        arena_state[TOP] = start + capacity
    if is_exact:
        exact[group] = 0
    old = np.int64(groups[group, START])
    for entry in range(length):
        for column in range(arena.shape[1]):
            arena[start + entry, column] = arena[old + entry, column]
    if length > 0:
        arena[old, 0] = arena_state[FREE + size_class - 1]
        arena_state[FREE + size_class - 1] = old
    groups[group, START] = start
    return True


@kernel
def append_entries(
    groups: CodeArray, arena: CodeArray, arena_state: Int64s, exact: Bools, rows: CodeArray, rest: Int32s,
    numbers: Int64s, first: int, position: int, boundary: int,
) -> int:  # fmt: skip
    """Append rows from `first + position` on to the postings of their groups.

    Rows from `boundary` on are new; without one, entries have row numbers. Groups that get their first new
    entry are collected at the beginning of `numbers`. The first groups are marked in `exact` if their
    postings have no room to spare.
    Return the position of the first row that did not fit the arena, or the number of rows.
    """
    while position < numbers.shape[0]:
        if position + AHEAD < numbers.shape[0]:
            fetch(groups, numbers[position + AHEAD])
            later = numbers[position + AHEAD // 2]
            fetch(arena, np.int64(groups[later, START]) + groups[later, LENGTH])
        if not make_room(groups, arena, arena_state, exact, numbers[position], arena.shape[0]):
            return position
        write_entry(groups, arena, arena_state, rows, first + position, rest, numbers, position, boundary)
        position += 1
    return position


@kernel
def count_entries(groups: CodeArray, numbers: Int64s) -> None:
    """Count the rows of each group as its length."""
    for position in range(numbers.shape[0]):
        if position + AHEAD < numbers.shape[0]:
            fetch(groups, numbers[position + AHEAD])
        groups[numbers[position], LENGTH] += 1


@kernel
def place_postings(groups: CodeArray, places: Int64s, are_exact: bool) -> int:
    """Write the place of each group's posting, one after the other, into `places`; return where they end.

    A posting has the capacity that `append_entries` gives one of its length, or no room to spare. Ensures
    that lengths are 0.
    """
    top = np.int64(0)
    for group in range(groups.shape[0]):
        places[group] = top
        length = np.int64(groups[group, LENGTH])
        if length > 0:
            capacity = np.int64(1)
            while capacity < length:
                capacity <<= 1
            top += length if are_exact else capacity
            groups[group, LENGTH] = 0
    return int(top)


@kernel
def fill_entries(
    groups: CodeArray, arena: CodeArray, arena_state: Int64s, rows: CodeArray, rest: Int32s,
    numbers: Int64s, first: int, boundary: int,
) -> None:  # fmt: skip
    """Append rows from `first` on to postings that have room for them; else as `append_entries`."""
    for position in range(numbers.shape[0]):
        if position + AHEAD < numbers.shape[0]:
            fetch(groups, numbers[position + AHEAD])
            later = numbers[position + AHEAD // 2]
            fetch(arena, np.int64(groups[later, START]) + groups[later, LENGTH])
        write_entry(groups, arena, arena_state, rows, first + position, rest, numbers, position, boundary)


@kernel
def trim_postings(groups: CodeArray, arena: CodeArray, order: Int64s) -> int:
    """Move the postings of all groups together, which `order` has as they lie in the arena.

    Return where they end. Ensures that no posting has room to spare, and that there are no free places.
    """
    top = np.int64(0)
    for group in order:
        start, length = np.int64(groups[group, START]), np.int64(groups[group, LENGTH])
        if top < start:
            for entry in range(length):
                for column in range(arena.shape[1]):
                    arena[top + entry, column] = arena[start + entry, column]
            groups[group, START] = top
        top += length
    return int(top)
