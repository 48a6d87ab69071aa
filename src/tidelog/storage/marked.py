"""The kernels of a join whose matches are checked against the facts of another key, marked beforehand.

In a triangle e(x, y), e(y, z), e(z, x) the bindings that follow each other often have the same x. If all z
with e(z, x) are marked once, each z of e(y, z) is checked by a look at its mark, not by a search in a table.
"""

from typing import Final

import numpy as np

from tidelog.storage.join import passes, rows_in_view
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Integer, inlined, kernel
from tidelog.storage.postings import LENGTH

# What is kept of a join between two calls: the next binding, the next entry of its posting, the number of the
# last marking, the group that is marked, and how many entries were looked at.
ROW: Final = 0
ENTRY: Final = 1
MARKING: Final = 2
MARKED: Final = 3
TRIED: Final = 4
STATES: Final = 5
NO_GROUP: Final = -1
_LAST_MARKING: Final = 2**31 - 1


@kernel
def split_by_marking(
    found: Int64s, groups: CodeArray, marked: Int64s, marked_groups: CodeArray, searched: Bools
) -> int:
    """Say which bindings are cheaper to check by searches, and drop those that match nothing.

    `found` are the groups that the bindings are joined with, `marked` those to be marked for the check. It
    pays to mark a posting if the bindings in a row that share it match at least as many facts as it has.
    Bindings that are searched for, and those without a match, have no group in `found` afterwards. Return
    how many are searched for.
    """
    count = 0
    first = 0
    while first < found.shape[0]:
        group = marked[first]
        last = first
        matches = 0
        while last < found.shape[0] and marked[last] == group:
            if found[last] >= 0:
                matches += groups[found[last], LENGTH]
            last += 1
        is_short = group < 0 or matches < marked_groups[group, LENGTH]
        for row in range(first, last):
            searched[row] = is_short and group >= 0 and found[row] >= 0
            count += searched[row]
            if is_short:
                found[row] = NO_GROUP
        first = last
    return count


@inlined
def _mark(
    state: Int64s, marks: Int32s, arena: CodeArray, column: Integer, bounds: tuple[Integer, Integer]
) -> None:
    """Mark the codes in a column of some entries, and no others."""
    if state[MARKING] == _LAST_MARKING:
        marks[:] = 0
        state[MARKING] = 0
    state[MARKING] += 1
    for entry in range(bounds[0], bounds[1]):
        marks[arena[entry, column]] = state[MARKING]


@inlined
def write_matches(
    batch: CodeArray,
    row: Integer,
    arena: CodeArray,
    entries: Int64s,
    constants: Int64s,
    sources: Int32s,
    out: CodeArray,
) -> None:
    """Write a row for each of some entries: one binding beside each."""
    width = batch.shape[1]
    for column in range(sources.shape[0]):
        source = sources[column]
        if source >= width:
            for position in range(entries.shape[0]):
                out[position, column] = arena[entries[position], source - width]
        else:
            code = np.int64(batch[row, source]) if source >= 0 else constants[-1 - source]
            for position in range(entries.shape[0]):
                out[position, column] = code


@kernel
def join_marked(
    batch: CodeArray, constants: Int64s, found: Int64s, groups: CodeArray, arena: CodeArray,
    view: tuple[int, int, int], marked: Int64s, marked_groups: CodeArray, marked_arena: CodeArray,
    marked_view: tuple[int, int, int], columns: tuple[int, int], marks: Int32s, filters: Int32s,
    sources: Int32s, state: Int64s, out: CodeArray,
) -> int:  # fmt: skip
    """Write one row per binding and matching entry whose code is in the other posting; return how many.

    `found` and `marked` are as in `split_by_marking`, views as in `rows_in_view`; `columns` are those
    of the entries with the code that both must have. Requires `marks` to have a place for every code of the
    marked entries, none of which is negative. The work is done when `state[ROW]` is the number of bindings.
    """
    written = 0
    row = state[ROW]
    offset = state[ENTRY]
    matching = np.empty(out.shape[0], np.int64)
    column = columns[0]
    most = np.uint64(marks.shape[0])
    while row < batch.shape[0]:
        if found[row] >= 0:
            if marked[row] != state[MARKED]:
                bounds = rows_in_view(marked_groups, marked[row], marked_arena, *marked_view)
                _mark(state, marks, marked_arena, columns[1], bounds)
                state[MARKED] = marked[row]
            start, end = rows_in_view(groups, found[row], arena, *view)
            entry = start + offset
            begin = written
            marking = np.int32(state[MARKING])
            while entry < end and written < out.shape[0]:
                # A negative code is larger than any that has a mark.
                code = np.uint64(np.int64(arena[entry, column]))
                is_marked = code < most and marks[code] == marking
                if is_marked and filters.shape[0] > 0:
                    is_marked = passes(batch, row, arena, entry, constants, filters)
                # Written in any case: whether it is marked cannot be predicted.
                matching[written] = entry
                written += 1 if is_marked else 0
                entry += 1
            state[TRIED] += entry - start - offset
            if written > begin:
                write_matches(
                    batch, row, arena, matching[begin:written], constants, sources, out[begin:written]
                )
            if entry < end:
                state[ROW] = row
                state[ENTRY] = entry - start
                return written
        offset = 0
        row += 1
    state[ROW] = row
    state[ENTRY] = 0
    return written
