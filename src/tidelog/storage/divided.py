"""Rows added to an index by several threads, each of which adds those of some keys.

Groups are divided into parts. The positions of rows are ordered by the part of their group, block by block;
then every part is appended by one thread, which no other disturbs. A part takes stretches of the arena for
its postings, and keeps the places that they leave in free lists of its own.
"""

from functools import partial
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np

from tidelog.kernels.fetch import fetch
from tidelog.storage.join import find_bindings
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Integer, inlined, kernel
from tidelog.storage.postings import (
    FREE,
    FREE_LISTS,
    LENGTH,
    START,
    TOP,
    TOUCHED,
    code_range,
    count_entries,
    dense_numbers,
    make_room,
    write_entry,
)
from tidelog.storage.sharing import Share
from tidelog.storage.slots import AHEAD

if TYPE_CHECKING:
    from tidelog.storage.index import Index

# More parts than threads: keys may be uneven.
PARTS: Final = 64
# Neighbouring groups are in one part, so that threads do not write to the same lines of the cache.
_NEIGHBOURS: Final = 4
# How many positions are ordered at a time.
BLOCK: Final = 1 << 14
# A part takes so many entries of the arena at a time, or as many as a posting needs.
_STRETCH: Final = 1 << 12
_NO_CONSTANTS: Int64s = np.empty(0, np.int64)


class Division:
    """Rows, at least one, by the part of their group: `numbers` are their groups, `order` their positions."""

    def __init__(self, numbers: Int64s, share: Share) -> None:
        blocks = -(-len(numbers) // BLOCK)
        counts = np.zeros((blocks, PARTS), np.int64)

        def count(first: int, last: int) -> None:
            for block in range(first, last):
                count_parts(numbers[block * BLOCK : (block + 1) * BLOCK], counts[block])

        share(count, blocks)
        ends = np.cumsum(counts.T.ravel()).reshape(PARTS, blocks).T
        places = np.ascontiguousarray(ends - counts)
        self.numbers, self.order = np.empty_like(numbers), np.empty_like(numbers)

        def order(first: int, last: int) -> None:
            for block in range(first, last):
                begin = block * BLOCK
                piece = numbers[begin : begin + BLOCK]
                order_by_part(piece, begin, places[block], self.numbers, self.order)

        share(order, blocks)
        starts = [0, *ends[-1].tolist()]
        self.parts = [slice(*bounds) for bounds in pairwise(starts)]


class PartedArena:
    """What each part has of an index's arena: its free places, and a stretch while it appends."""

    def __init__(self, index: "Index") -> None:
        self._index = index
        self._states: Int64s = np.full((PARTS, FREE + FREE_LISTS), -1, np.int64)
        self._limits = [0] * PARTS
        self._done = [0] * PARTS
        self._lock = Lock()

    def count(self, division: Division, share: Share) -> None:
        """Count the rows of each group as its length."""

        def count(begin: int, end: int) -> None:
            for where in division.parts[begin:end]:
                count_entries(self._index.groups, division.numbers[where])

        share(count, PARTS)

    def fill(self, rows: CodeArray, first: int, division: Division, share: Share) -> Int64s:
        """Write rows from `first` on to the places they have; else like `append`."""
        self._begin(limit=-1)
        share(partial(self._append_parts, rows, first, division), PARTS)
        return self._touched(division)

    def append(self, rows: CodeArray, first: int, division: Division, share: Share) -> Int64s:
        """Append rows from `first` on; return the groups that got their first new entry."""
        self._begin(limit=0)
        append = partial(self._append_parts, rows, first, division)
        share(append, PARTS)
        while missing := len(division.numbers) - sum(self._done):
            # Whichever part goes on first gets a place for its next posting, so that some row is appended.
            longest = int(self._index.groups[division.numbers, LENGTH].max())
            self._index.enlarge_arena(max(4 * (missing + longest), 2 * PARTS * _STRETCH))
            share(append, PARTS)
        for state, limit in zip(self._states, self._limits, strict=True):
            _free(self._index.arena, state, limit)
        return self._touched(division)

    def _begin(self, limit: int) -> None:
        self._states[:, :FREE] = 0
        self._limits, self._done = [limit] * PARTS, [0] * PARTS

    def _touched(self, division: Division) -> Int64s:
        touched = self._states[:, TOUCHED].tolist()
        pieces = [
            division.numbers[where][:count] for where, count in zip(division.parts, touched, strict=True)
        ]
        return np.concatenate(pieces)

    def _append_parts(self, rows: CodeArray, first: int, division: Division, begin: int, end: int) -> None:
        """Append what is not done of some parts, as far as the arena goes."""
        for part in range(begin, end):
            where = division.parts[part]
            numbers, order = division.numbers[where], division.order[where]
            while self._done[part] < len(numbers):
                self._append(part, rows, first, numbers, order)
                remaining = len(numbers) - self._done[part]
                if remaining and not self._stretch(part, int(numbers[self._done[part]]), remaining):
                    break

    def _append(self, part: int, rows: CodeArray, first: int, numbers: Int64s, order: Int64s) -> None:
        """Append rows of a part until it needs another stretch."""
        index = self._index
        postings = index.groups, index.arena, self._states[part], index.exact
        position, limit = self._done[part], self._limits[part]
        self._done[part] = append_part(
            *postings, rows, index.rest_columns, numbers, order, first, position, limit, index.boundary
        )

    def _stretch(self, part: int, group: int, remaining: int) -> bool:
        """Give a part another stretch, with room for the group's next posting; say whether there was one."""
        index, state = self._index, self._states[part]
        needed = max(2 * int(index.groups[group, LENGTH]), 1)
        wanted = max(needed, min(2 * remaining, _STRETCH))
        with self._lock:
            start = int(index.arena_state[TOP])
            if start + wanted > len(index.arena):
                return False
            index.arena_state[TOP] = start + wanted
        _free(index.arena, state, self._limits[part])
        state[TOP] = start
        self._limits[part] = start + wanted
        return True


def _free(arena: CodeArray, state: Int64s, limit: int) -> None:
    """Put what is left of a part's stretch into its free lists."""
    start = int(state[TOP])
    while start < limit:
        size_class = (limit - start).bit_length() - 1
        arena[start, 0] = state[FREE + size_class]
        state[FREE + size_class] = start
        start += 1 << size_class
    state[TOP] = limit


def shared_code_range(rows: CodeArray, column: int, first: int, last: int, share: Share) -> tuple[int, int]:
    """Return what `code_range` does, found by several threads."""
    found: list[tuple[Integer, Integer]] = []
    share(
        lambda begin, end: found.append(
            code_range(rows, column, first + begin * BLOCK, min(first + end * BLOCK, last))
        ),
        -(-(last - first) // BLOCK),
    )
    return min(int(smallest) for smallest, _ in found), max(int(largest) for _, largest in found)


def shared_groups(index: "Index", rows: CodeArray, first: int, numbers: Int64s, share: Share) -> None:
    """Write the groups of rows from `first` on, found by several threads; -1 for a key without one."""

    def find(begin: int, end: int) -> None:
        begin, end = begin * BLOCK, min(end * BLOCK, len(numbers))
        part = numbers[begin:end]
        if index.is_dense:
            dense_numbers(rows, index.key[0], first + begin, first + end, part)
        else:
            keys = rows[first + begin : first + end]
            table = index.slots, index.keys, index.key_places
            find_bindings(keys, _NO_CONSTANTS, index.key_columns, *table, part)

    share(find, -(-len(numbers) // BLOCK))


@inlined
def _part_of(group: Integer) -> Integer:
    return (group >> _NEIGHBOURS) & (PARTS - 1)


@kernel
def count_parts(numbers: Int64s, counts: Int64s) -> None:
    """Count the groups of each part."""
    for position in range(numbers.shape[0]):
        counts[_part_of(numbers[position])] += 1


@kernel
def order_by_part(numbers: Int64s, first: int, places: Int64s, ordered: Int64s, order: Int64s) -> None:
    """Write groups, and their positions from `first` on, to the next places of their parts."""
    for position in range(numbers.shape[0]):
        part = _part_of(numbers[position])
        ordered[places[part]] = numbers[position]
        order[places[part]] = first + position
        places[part] += 1


@kernel
def append_part(
    groups: CodeArray, arena: CodeArray, arena_state: Int64s, exact: Bools, rows: CodeArray, rest: Int32s,
    numbers: Int64s, order: Int64s, first: int, position: int, limit: int, boundary: int,
) -> int:  # fmt: skip
    """Append the rows of one part as `append_entries` does, from `first + order[position]` on.

    New postings lie before the place `limit`; if that is negative, all rows have a place already. Return the
    position of the first row that did not fit.
    """
    while position < numbers.shape[0]:
        if position + AHEAD < numbers.shape[0]:
            fetch(groups, numbers[position + AHEAD])
            later = numbers[position + AHEAD // 2]
            fetch(arena, np.int64(groups[later, START]) + groups[later, LENGTH])
        if limit >= 0 and not make_room(groups, arena, arena_state, exact, numbers[position], limit):
            return position
        row = first + order[position]
        write_entry(groups, arena, arena_state, rows, row, rest, numbers, position, boundary)
        position += 1
    return position
