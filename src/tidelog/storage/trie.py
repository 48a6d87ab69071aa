"""A relation as a trie: rows sorted by columns in some order, equal beginnings stored once.

A trie is a few batches, each over a range of row numbers. New rows become a batch of their own,
and batches of similar size are merged, so that a row is moved a logarithmic number of times and
extending a large trie by a small delta costs what the delta costs.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tidelog.storage.kernel import CodeArray, Int32s, Int64s, kernel

_MOST_BITS = 11
# A batch is merged into the one before it unless that one is this many times larger.
_FACTOR = 4

# A level of a batch: the addresses of its values and of their starts, the number of values, the address of
# the row numbers; and for a cursor over it where it is, and where it must stop.
CURSOR: Final = np.dtype(
    [(name, np.int64) for name in ("values", "starts", "size", "numbers", "place", "end")]
)


@kernel
def sort_numbers(rows: CodeArray, numbers: Int32s, columns: Int32s) -> Int32s:
    """Return the row numbers in the order of the rows' columns; equal rows keep their order.

    Radix sort from the last column to the first; digits in which all codes agree are skipped.
    """
    count = numbers.shape[0]
    current = numbers.copy()
    other = np.empty(count, np.int32)
    bits = 4
    while bits < _MOST_BITS and (1 << bits) < count:
        bits += 1
    places = np.zeros((1 << bits) + 1, np.int64)
    mask = np.uint64((1 << bits) - 1)
    for position in range(columns.shape[0] - 1, -1, -1):
        column = columns[position]
        if count == 0:
            break
        least = np.int64(rows[current[0], column])
        largest = least
        for place in range(1, count):
            code = np.int64(rows[current[place], column])
            least = min(least, code)
            largest = max(largest, code)
        spread = np.uint64(largest) - np.uint64(least)
        shift = np.uint64(0)
        while spread >> shift != np.uint64(0):
            places[:] = 0
            for place in range(count):
                offset = np.uint64(np.int64(rows[current[place], column])) - np.uint64(least)
                places[np.int64((offset >> shift) & mask) + 1] += 1
            for digit in range(1, places.shape[0]):
                places[digit] += places[digit - 1]
            for place in range(count):
                offset = np.uint64(np.int64(rows[current[place], column])) - np.uint64(least)
                bucket = np.int64((offset >> shift) & mask)
                other[places[bucket]] = current[place]
                places[bucket] += 1
            current, other = other, current
            shift += np.uint64(bits)
            if shift >= np.uint64(64):
                break
    return current


@kernel
def merge_numbers(rows: CodeArray, left: Int32s, right: Int32s, columns: Int32s) -> Int32s:
    """Return two sorted lists of row numbers as one; equal rows of `left` come first."""
    merged = np.empty(left.shape[0] + right.shape[0], np.int32)
    at_left = 0
    at_right = 0
    for place in range(merged.shape[0]):
        if at_left == left.shape[0]:
            is_left = False
        elif at_right == right.shape[0]:
            is_left = True
        else:
            is_left = True
            for position in range(columns.shape[0]):
                one = rows[left[at_left], columns[position]]
                two = rows[right[at_right], columns[position]]
                if one != two:
                    is_left = one < two
                    break
        if is_left:
            merged[place] = left[at_left]
            at_left += 1
        else:
            merged[place] = right[at_right]
            at_right += 1
    return merged


@kernel
def build_levels(
    rows: CodeArray, numbers: Int32s, columns: Int32s, values: CodeArray, starts: Int32s, counts: Int64s
) -> None:
    """Write the levels of a trie over sorted row numbers; `counts` says how many values each has.

    The values of level d begin at d times the number of rows. The entry of `starts` beside a value is
    the place of its first child on the next level, or of its first row number on the last; one entry
    more closes the level. Requires room for every row on every level.
    """
    depth = columns.shape[0]
    total = numbers.shape[0]
    counts[:] = 0
    for place in range(total):
        row = numbers[place]
        level = 0
        if place > 0:
            before = numbers[place - 1]
            while level < depth and rows[row, columns[level]] == rows[before, columns[level]]:
                level += 1
        for below in range(level, depth):
            values[below * total + counts[below]] = rows[row, columns[below]]
            child = place if below == depth - 1 else counts[below + 1]
            starts[below * (total + 1) + counts[below]] = child
            counts[below] += 1
    for level in range(depth):
        child = total if level == depth - 1 else counts[level + 1]
        starts[level * (total + 1) + counts[level]] = child


class TrieBatch:
    """The rows numbered from `first` to `last - 1` (some of them, if filtered) as one trie.

    `table` has a record for each level.
    """

    __slots__ = ("first", "last", "numbers", "starts", "table", "values")

    def __init__(self, rows: CodeArray, numbers: Int32s, columns: Int32s, first: int, last: int) -> None:
        depth, total = columns.shape[0], numbers.shape[0]
        values = np.empty(depth * total, rows.dtype)
        starts = np.empty(depth * (total + 1), np.int32)
        counts = np.empty(depth, np.int64)
        build_levels(rows, numbers, columns, values, starts, counts)
        self.first = first
        self.last = last
        self.numbers = numbers
        # Copies, since upper levels need far less than the room they were written into.
        sizes = [int(count) for count in counts]
        self.values = [values[d * total : d * total + size].copy() for d, size in enumerate(sizes)]
        self.starts = [
            starts[d * (total + 1) : d * (total + 1) + size + 1].copy() for d, size in enumerate(sizes)
        ]
        self.table: npt.NDArray[np.void] = np.zeros(depth, CURSOR)
        self.table["values"] = [level.ctypes.data for level in self.values]
        self.table["starts"] = [level.ctypes.data for level in self.starts]
        self.table["size"] = sizes
        self.table["numbers"] = numbers.ctypes.data

    def __len__(self) -> int:
        return len(self.numbers)


class Trie:
    """An index that is sorted: `columns` is the order in which the columns are its levels.

    Deleted rows stay in it; readers must check whether a row is alive.
    """

    def __init__(self, columns: Sequence[int]) -> None:
        self.columns: Int32s = np.array(columns, np.int32)
        self.rows_indexed = 0
        self.batches: list[TrieBatch] = []

    def add_rows(self, rows: CodeArray, count: int) -> None:
        """Append the rows numbered from those already indexed up to `count`."""
        if count <= self.rows_indexed:
            return
        batch = sorted_batch(rows, self.rows_indexed, count, self.columns)
        self.rows_indexed = count
        append_batch(self.batches, batch, rows, self.columns)

    def view(self, rows: CodeArray, first: int, last: int) -> list[TrieBatch]:
        """Return batches with the rows numbered `first` to `last - 1`, and perhaps others.

        A range that matches no batch, and is small compared with those it cuts, gets a batch of its own.
        """
        chosen = [batch for batch in self.batches if batch.first < last and first < batch.last]
        outside = sum(len(batch) for batch in chosen) - (last - first)
        if outside > last - first:
            return [sorted_batch(rows, first, last, self.columns)]
        return chosen


def sorted_batch(rows: CodeArray, first: int, last: int, columns: Int32s) -> TrieBatch:
    """Return a range of rows as a batch of its own."""
    numbers = sort_numbers(rows, np.arange(first, last, dtype=np.int32), columns)
    return TrieBatch(rows, numbers, columns, first, last)


def append_batch(batches: list[TrieBatch], batch: TrieBatch, rows: CodeArray, columns: Int32s) -> None:
    """Append a batch to others; merge it with those before it that are not much larger."""
    first, numbers = batch.first, batch.numbers
    while batches and len(batches[-1]) < _FACTOR * len(numbers):
        before = batches.pop()
        first, numbers = before.first, merge_numbers(rows, before.numbers, numbers, columns)
    if numbers is not batch.numbers:
        batch = TrieBatch(rows, numbers, columns, first, batch.last)
    batches.append(batch)
