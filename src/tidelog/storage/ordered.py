"""An index whose postings are ordered by a column, for joins with an inequality.

A posting is a sorted run of entries followed by a short tail of entries in order of insertion. A range of
the column is found by binary search in the sorted run; the tail is read as a whole. When the tail outgrows a
fraction of the run, the two are merged.
"""

import numpy as np
import numpy.typing as npt

from tidelog.storage.index import Index
from tidelog.storage.join import copy_run, first_place, passes
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Integer, inlined, kernel
from tidelog.storage.postings import LENGTH, START
from tidelog.values.memory import enlarged

# Kinds of bounds on the ordered column.
ABOVE = 0
AT_LEAST = 1
BELOW = 2
AT_MOST = 3

# A tail is merged into the run when it has more entries than this, and than a fraction of the run.
_SHORT_TAIL = 32
_TAIL_SHIFT = 6


class OrderedIndex(Index):
    """Postings by key, each ordered by the codes of one column that is not in the key.

    `sorted_lengths` has for each group the length of its sorted run.
    """

    def __init__(self, key: tuple[int, ...], column: int, arity: int, dtype: npt.DTypeLike) -> None:
        super().__init__(key, arity, dtype)
        self.position = self.rest.index(column)
        self.sorted_lengths: Int64s = np.zeros(self.groups.shape[0], np.int64)

    @property
    def is_divisible(self) -> bool:
        """Say that one thread appends rows: it merges them into runs."""
        return False

    def order_rows(self, rows: CodeArray, first: int, last: int) -> None:
        """Merge the tails that a kernel has made too long by appending these rows."""
        if first < last:
            self._appended(self._group_numbers(rows, first, last))

    def _appended(self, numbers: Int64s) -> None:
        """Merge the tails that have become too long."""
        self.cover_groups()
        merge_tails(self.groups, self.arena, self.sorted_lengths, self.position, numbers)

    def cover_groups(self) -> None:
        """Extend `sorted_lengths` to all groups."""
        if self.sorted_lengths.shape[0] < self.groups.shape[0]:
            self.sorted_lengths = enlarged(
                self.sorted_lengths, self.groups.shape[0], self.sorted_lengths.shape[0]
            )

    def _leave_dense(self) -> None:
        codes = np.flatnonzero(self.groups[:, LENGTH])
        known = self.sorted_lengths[np.minimum(codes, self.sorted_lengths.shape[0] - 1)]
        known[codes >= self.sorted_lengths.shape[0]] = 0
        super()._leave_dense()
        self.sorted_lengths = np.zeros(self.groups.shape[0], np.int64)
        self.sorted_lengths[: known.shape[0]] = known


@kernel
def merge_tails(
    groups: Int64s, arena: CodeArray, sorted_lengths: Int64s, position: int, numbers: Int64s
) -> None:
    """Sort the tails of these groups and merge them into their runs, if they are long enough."""
    for place in range(numbers.shape[0]):
        group = numbers[place]
        length = groups[group, LENGTH]
        run = sorted_lengths[group]
        tail = length - run
        if tail <= max(_SHORT_TAIL, run >> _TAIL_SHIFT):
            continue
        start = groups[group, START]
        order = np.argsort(arena[start + run : start + length, position])
        moved = np.empty((tail, arena.shape[1]), arena.dtype)
        for entry in range(tail):
            for column in range(arena.shape[1]):
                moved[entry, column] = arena[start + run + order[entry], column]
        left = run - 1
        right = tail - 1
        for target in range(start + length - 1, start - 1, -1):
            if right < 0:
                break
            if left >= 0 and arena[start + left, position] > moved[right, position]:
                for column in range(arena.shape[1]):
                    arena[target, column] = arena[start + left, column]
                left -= 1
            else:
                for column in range(arena.shape[1]):
                    arena[target, column] = moved[right, column]
                right -= 1
        sorted_lengths[group] = length


@inlined
def _narrowed(
    batch: CodeArray, row: Integer, constants: Int64s, bounds: Int32s, arena: CodeArray, start: Integer,
    end: Integer, position: Integer,
) -> tuple[Integer, Integer]:  # fmt: skip
    """Return the part of a sorted run that is within the bounds."""
    for number in range(bounds.shape[0]):
        kind = bounds[number, 0]
        source = bounds[number, 1]
        code = constants[-1 - source] if source < 0 else np.int64(batch[row, source])
        place = first_place(arena, start, end, position, code, kind in (ABOVE, AT_MOST))
        if kind in (ABOVE, AT_LEAST):
            start = place
        else:
            end = place
    return start, end


@kernel
def join_ordered(
    batch: CodeArray, found: Int64s, constants: Int64s, groups: Int64s, arena: CodeArray,
    sorted_lengths: Int64s, position: int, bounds: Int32s, alive: Bools, lowest: int, highest: int,
    filters: Int32s, sources: Int32s, state: Int64s, out: CodeArray,
) -> int:  # fmt: skip
    """Write each binding beside the entries of its group that are within the bounds; return how many.

    Like `join.join_postings`, for an ordered index: `bounds` are (kind, source) on the ordered column and
    are among the filters too. `state` counts entries read of the current binding.
    """
    written = 0
    row = state[0]
    skipped = state[1]
    last_column = arena.shape[1] - 1
    while row < batch.shape[0]:
        group = found[row]
        if group >= 0:
            start = groups[group, START]
            run = sorted_lengths[group] if group < sorted_lengths.shape[0] else 0
            end = start + groups[group, LENGTH]
            first, last = _narrowed(batch, row, constants, bounds, arena, start, start + run, position)
            total = last - first + end - start - run
            place = skipped
            while place < total and written < out.shape[0]:
                entry = first + place if place < last - first else start + run + place - (last - first)
                place += 1
                number = arena[entry, last_column]
                if number < lowest or number >= highest:
                    continue
                if (alive.shape[0] == 0 or alive[number] != 0) and passes(
                    batch, row, arena, entry, constants, filters
                ):
                    copy_run(batch, row, arena, (entry, 1), constants, sources, out, written)
                    written += 1
            if place < total:
                state[0] = row
                state[1] = place
                return written
        skipped = 0
        row += 1
    state[0] = row
    state[1] = 0
    return written
