"""Kernels that turn batches of bindings into larger batches.

A batch is a two-dimensional array with one row per binding. A *source* names what a kernel reads: 0 to
w-1 is a column of the batch, w and above a column of the matched entry, and -1-n the n-th constant. A filter
is (comparison, left source, right source).

A kernel stops when the output is full; `state` remembers where to continue.
"""

import numpy as np

from tidelog.kernels.fetch import fetch
from tidelog.storage.hashing import mix
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Integer, Slots, Words, inlined, kernel
from tidelog.storage.postings import LENGTH, OLD, STAMP, START
from tidelog.storage.slots import AHEAD, LOW, after, fetch_contents, fetch_home, home, number_at

EQUAL = 0
UNEQUAL = 1
LESS = 2
LESS_EQUAL = 3


@inlined
def code_of(batch: CodeArray, row: Integer, constants: Int64s, source: Integer) -> np.int64:
    """Return the code that a key's source names."""
    return np.int64(constants[-1 - source]) if source < 0 else np.int64(batch[row, source])


@inlined
def _read(
    batch: CodeArray, row: Integer, entries: CodeArray, entry: Integer, constants: Int64s, source: Integer
) -> np.int64:
    """Return the code that a source names."""
    if source < batch.shape[1]:
        return code_of(batch, row, constants, source)
    return np.int64(entries[entry, source - batch.shape[1]])


@inlined
def compares(comparison: Integer, left: Integer, right: Integer) -> bool:
    """Say whether a comparison of two codes holds."""
    if comparison == EQUAL:
        return bool(left == right)
    if comparison == UNEQUAL:
        return bool(left != right)
    return bool(left < right if comparison == LESS else left <= right)


@inlined
def passes(
    batch: CodeArray, row: Integer, entries: CodeArray, entry: Integer, constants: Int64s, filters: Int32s
) -> bool:
    """Say whether a binding and an entry satisfy all filters."""
    for position in range(filters.shape[0]):
        comparison = filters[position, 0]
        left = _read(batch, row, entries, entry, constants, filters[position, 1])
        right = _read(batch, row, entries, entry, constants, filters[position, 2])
        if not compares(comparison, left, right):
            return False
    return True


@inlined
def _has_key(
    rows: CodeArray, number: Integer, columns: Int32s, batch: CodeArray, row: Integer, constants: Int64s,
    key: Int32s,
) -> bool:  # fmt: skip
    """Say whether a row has the key of a binding in these columns."""
    for position in range(key.shape[0]):
        if rows[number, columns[position]] != code_of(batch, row, constants, key[position]):
            return False
    return True


@inlined
def _fetch_homes(
    slots: Slots, batch: CodeArray, first: Integer, constants: Int64s, key: Int32s, digests: Words
) -> None:
    """Write the digests of the keys of a block of bindings, and fetch their homes."""
    for row in range(first, min(first + AHEAD, batch.shape[0])):
        state = np.uint64(key.shape[0])
        for position in range(key.shape[0]):
            state = mix(state ^ np.uint64(code_of(batch, row, constants, key[position])))
        digests[row - first] = fetch_home(slots, state & LOW)


@kernel
def find_bindings(
    batch: CodeArray, constants: Int64s, key: Int32s, slots: Slots, rows: CodeArray, columns: Int32s,
    found: Int64s,
) -> None:  # fmt: skip
    """Write the number of the row that has the key of each binding in these columns, or -1.

    `key` names a source for each of them; `slots` are by their hash.
    """
    digests, later = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64)
    _fetch_homes(slots, batch, 0, constants, key, later)
    for first in range(0, batch.shape[0], AHEAD):
        digests, later = later, digests
        _fetch_homes(slots, batch, first + AHEAD, constants, key, later)
        count = min(AHEAD, batch.shape[0] - first)
        fetch_contents(slots, digests, count, rows)
        for offset in range(count):
            place = home(slots, digests[offset])
            number = number_at(slots, place)
            while number >= 0 and not _has_key(rows, number, columns, batch, first + offset, constants, key):
                place = after(slots, digests[offset], place)
                number = number_at(slots, place)
            found[first + offset] = number


@kernel
def find_groups(
    batch: CodeArray, constants: Int64s, key: Int32s, slots: Slots, keys: CodeArray, groups: CodeArray,
    is_dense: bool, found: Int64s,
) -> None:  # fmt: skip
    """Write the group number of each binding's key into `found`, -1 where there is none."""
    if is_dense:
        for row in range(batch.shape[0]):
            if row + AHEAD < batch.shape[0]:
                fetch(groups, code_of(batch, row + AHEAD, constants, key[0]))
            code = code_of(batch, row, constants, key[0])
            found[row] = code if 0 <= code < groups.shape[0] and groups[code, LENGTH] > 0 else -1
        return
    find_bindings(batch, constants, key, slots, keys, np.arange(key.shape[0]).astype(np.int32), found)


@inlined
def fetch_posting(found: Int64s, row: Integer, groups: CodeArray, arena: CodeArray) -> None:
    """Fetch the beginning of the posting that a later binding is joined with, if it has one."""
    if row < found.shape[0] and found[row] >= 0:
        fetch(arena, groups[found[row], START])


@kernel
def join_postings(
    batch: CodeArray, found: Int64s, constants: Int64s, groups: CodeArray, arena: CodeArray, alive: Bools,
    lowest: int, highest: int, boundary: int, filters: Int32s, sources: Int32s, state: Int64s, out: CodeArray,
) -> int:  # fmt: skip
    """Write one row per binding and matching entry into `out`; return how many.

    `found` are the groups of `find_groups`. Only entries of rows numbered `lowest` to
    `highest - 1` match, as in `rows_in_view`. `state` is the next binding
    and the next entry of its posting; the work is done when `state[0]` is the number of bindings.
    """
    written = 0
    row = state[0]
    offset = state[1]
    is_plain = alive.shape[0] == 0 and filters.shape[0] == 0
    last_column = arena.shape[1] - 1
    while row < batch.shape[0]:
        fetch_posting(found, row + AHEAD // 2, groups, arena)
        group = found[row]
        if group >= 0:
            start, end = rows_in_view(groups, group, arena, lowest, highest, boundary)
            entry = start + offset
            if is_plain:
                count = min(end - entry, out.shape[0] - written)
                if count > 0:
                    copy_run(batch, row, arena, (entry, count), constants, sources, out, written)
                    written += count
                    entry += count
            else:
                while entry < end and written < out.shape[0]:
                    if (alive.shape[0] == 0 or alive[arena[entry, last_column]] != 0) and passes(
                        batch, row, arena, entry, constants, filters
                    ):
                        copy_run(batch, row, arena, (entry, 1), constants, sources, out, written)
                        written += 1
                    entry += 1
            if entry < end:
                state[0] = row
                state[1] = entry - start
                return written
        offset = 0
        row += 1
    state[0] = row
    state[1] = 0
    return written


@inlined
def rows_in_view(
    groups: CodeArray, group: Integer, arena: CodeArray, lowest: Integer, highest: Integer, boundary: Integer
) -> tuple[Integer, Integer]:
    """Return the first entry of rows numbered `lowest` to `highest - 1`, and the end of them.

    A posting is in the order of row numbers. Without these, `lowest` and `highest` are all rows, or the
    ones on one side of the boundary.
    """
    start = np.int64(groups[group, START])
    length = np.int64(groups[group, LENGTH])
    if boundary >= 0:
        old = np.int64(groups[group, OLD]) if groups[group, STAMP] == boundary + 1 else length
        return start + (old if lowest >= boundary else 0), start + (old if highest <= boundary else length)
    last_column = arena.shape[1] - 1
    first: Integer = start
    end: Integer = start + length
    if length > 0 and arena[end - 1, last_column] >= highest:
        end = first_place(arena, start, end, last_column, highest, False)
    if lowest > 0:
        first = first_place(arena, start, end, last_column, lowest, False)
    return first, end


@inlined
def first_place(
    arena: CodeArray, start: Integer, end: Integer, position: Integer, code: Integer, after: bool
) -> Integer:
    """Return the first entry of a sorted run whose column is at least `code`, or `after` it."""
    while start < end:
        middle = (start + end) // 2
        found = arena[middle, position]
        if found < code or (after and found == code):
            start = middle + 1
        else:
            end = middle
    return start


@inlined
def copy_run(
    batch: CodeArray,
    row: Integer,
    arena: CodeArray,
    run: tuple[Integer, Integer],
    constants: Int64s,
    sources: Int32s,
    out: CodeArray,
    written: Integer,
) -> None:
    """Write a row for each entry of a run, its first one and their number: one binding beside each."""
    entry, count = run
    width = batch.shape[1]
    for column in range(sources.shape[0]):
        source = sources[column]
        if source >= width:
            for position in range(count):
                out[written + position, column] = arena[entry + position, source - width]
        else:
            code = np.int64(batch[row, source]) if source >= 0 else constants[-1 - source]
            for position in range(count):
                out[written + position, column] = code


@kernel
def join_dense_pairs(
    batch: CodeArray, key: int, groups: CodeArray, arena: CodeArray, kept: int, taken: int, taken_first: bool,
    state: Int64s, out: CodeArray,
) -> int:  # fmt: skip
    """Write pairs of one column of each binding and one of each matching entry; return how many.

    This is `join_postings` for the most common case, with nothing left to decide per row: the key is
    one column and its own group number, every entry is in view, and there are no filters. The
    binding's column `kept` comes first unless `taken_first`. `state` is as there.
    """
    written = 0
    row = state[0]
    offset = state[1]
    entry_place = 0 if taken_first else 1
    while row < batch.shape[0]:
        if row + AHEAD < batch.shape[0]:
            fetch(groups, batch[row + AHEAD, key])
            later = np.int64(batch[row + AHEAD // 2, key])
            if 0 <= later < groups.shape[0]:
                fetch(arena, groups[later, START])
        code = np.int64(batch[row, key])
        if 0 <= code < groups.shape[0]:
            length = groups[code, LENGTH] - offset
            start = groups[code, START] + offset
            count = min(length, out.shape[0] - written)
            value = batch[row, kept]
            for position in range(count):
                out[written + position, 1 - entry_place] = value
                out[written + position, entry_place] = arena[start + position, taken]
            written += count
            if count < length:
                state[0] = row
                state[1] = offset + count
                return int(written)
        offset = 0
        row += 1
    state[0] = row
    state[1] = 0
    return int(written)


@kernel
def has_entry(
    batch: CodeArray, found: Int64s, groups: CodeArray, arena: CodeArray, alive: Bools,
    lowest: int, highest: int, boundary: int, result: Bools,
) -> None:  # fmt: skip
    """Write whether each binding's group has an entry numbered `lowest` to `highest - 1`."""
    last_column = arena.shape[1] - 1
    for row in range(batch.shape[0]):
        fetch_posting(found, row + AHEAD // 2, groups, arena)
        group = found[row]
        present = np.uint8(0)
        if group >= 0:
            start, end = rows_in_view(groups, group, arena, lowest, highest, boundary)
            for entry in range(start, end):
                if alive.shape[0] == 0 or alive[arena[entry, last_column]] != 0:
                    present = np.uint8(1)
                    break
        result[row] = present


@kernel
def scan_rows(
    rows: CodeArray, alive: Bools, constants: Int64s, filters: Int32s, sources: Int32s, state: Int64s,
    last: int, out: CodeArray,
) -> int:  # fmt: skip
    """Write the columns named by `sources` of the rows that pass the filters; return how many.

    Here a source of 0 and above is a column of the row. `state[0]` is the next row number.
    """
    written = 0
    row = state[0]
    while row < last and written < out.shape[0]:
        if (alive.shape[0] == 0 or alive[row] != 0) and (
            filters.shape[0] == 0 or passes(rows, row, rows, row, constants, filters)
        ):
            for column in range(sources.shape[0]):
                source = sources[column]
                out[written, column] = rows[row, source] if source >= 0 else constants[-1 - source]
            written += 1
        row += 1
    state[0] = row
    return written


@kernel
def select_rows(batch: CodeArray, keep: Bools, sources: Int32s, constants: Int64s, out: CodeArray) -> int:
    """Write the columns named by `sources` of the kept bindings; return how many."""
    written = 0
    for row in range(batch.shape[0]):
        if keep[row] != 0:
            for column in range(sources.shape[0]):
                source = sources[column]
                out[written, column] = batch[row, source] if source >= 0 else constants[-1 - source]
            written += 1
    return written
