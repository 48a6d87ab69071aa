"""A relation keyed for one search signature."""

import numpy as np
import numpy.typing as npt

from tidelog.storage.bulk import (
    KNOWN,
    STATE_SIZE,
    count_codes,
    enter_groups,
    fill_dense,
    group_rows,
    order_by_code,
    place_exactly,
)
from tidelog.storage.divided import Division, PartedArena, shared_code_range, shared_groups
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Slots
from tidelog.storage.postings import (
    FREE,
    FREE_LISTS,
    LENGTH,
    NUMBERED,
    START,
    TOP,
    TOUCHED,
    UNNUMBERED,
    append_entries,
    code_range,
    count_entries,
    dense_numbers,
    fill_entries,
    number_groups,
    place_postings,
    trim_postings,
)
from tidelog.storage.sharing import Share, by_one_thread
from tidelog.storage.slots import FULLEST, grow_slots, slots_for
from tidelog.values.memory import enlarge, enlarged, give_back, roomy, zeros

_SMALLEST = 64
# A single key column is its own group number while its codes stay below this many per row.
_DENSE_FACTOR = 8
_DENSE_FLOOR = 1 << 16
# Once an evaluation has ended, there must be a group for one in so many codes, unless there are few codes.
_CODES_PER_GROUP = 4
_CODES_TO_LEAVE = 1 << 12
# Rows are appended in pieces, so that the scratch array of group numbers stays small.
_PIECE = 1 << 18
# Threads share so many rows or more, in larger pieces.
ROWS_TO_DIVIDE = 1 << 15
_PIECE_TO_DIVIDE = 1 << 21
# So many rows are counted before they are placed, if they are the first.
_ROWS_TO_COUNT = 1 << 12
# Less to spare is not worth moving postings.
_BYTES_TO_TRIM = 1 << 22
# Places in a larger arena do not fit 32 bits.
_NARROW_PLACES = 1 << 31


class Index:
    """Postings by key; `key` are column positions, the other columns are in the entries.

    `is_dense` says that the single key column is the group number itself; otherwise `slots`
    and `keys` lead from a key to its group. The arrays are replaced as the index grows.

    `boundary` is -1 if entries have row numbers. Otherwise it is the number of the first row that was added
    last: all rows, those before it, or those from it on can be told apart.
    """

    def __init__(
        self, key: tuple[int, ...], arity: int, dtype: npt.DTypeLike, *, is_numbered: bool = True
    ) -> None:
        self.key = key
        self.key_columns: Int32s = np.array(key, np.int32)
        # Where their codes are in `keys`.
        self.key_places: Int32s = np.arange(len(key), dtype=np.int32)
        self.rest = tuple(column for column in range(arity) if column not in key)
        self.rest_columns: Int32s = np.array(self.rest, np.int32)
        self.is_dense = len(key) == 1
        self.rows_indexed = 0
        self.group_count = 0
        self.slots: Slots = np.zeros(2 * _SMALLEST, np.uint32)
        self.keys: CodeArray = np.empty((_SMALLEST, len(key)), dtype)
        # An entry without any column would have no place for the links of free postings.
        self.boundary = -1 if is_numbered or not self.rest else 0
        # Four bytes are enough for row numbers, and for places until `enlarge_arena` needs more.
        columns = NUMBERED if self.boundary < 0 else UNNUMBERED
        self.groups: CodeArray = np.zeros((_SMALLEST, columns), np.int32)
        self.arena: CodeArray = np.empty((_SMALLEST, len(self.rest) + (self.boundary < 0)), dtype)
        self.arena_state: Int64s = np.full(FREE + FREE_LISTS, -1, np.int64)
        self.arena_state[:FREE] = 0
        # Marks those of the first groups whose postings have no room to spare.
        self.exact: Bools = np.zeros(0, np.uint8)
        self.levels: dict[tuple[int, ...], Index] = {}
        # The groups of the rows added last, in pieces, if that is known.
        self._touched: list[Int64s] | None = None
        self._keeps_touched = False
        # What is free in the arena for threads that append to it together.
        self._parted: PartedArena | None = None

    def add_rows(
        self, rows: CodeArray, count: int, *, are_last: bool = False, share: Share = by_one_thread
    ) -> None:
        """Append the rows numbered from those already indexed up to `count`.

        If these `are_last`, and the first ones too, postings get no room for others.
        """
        if count - self.rows_indexed < ROWS_TO_DIVIDE or not self.is_divisible:
            share = by_one_thread
        if self.boundary >= 0 and self.rows_indexed < count:
            self.boundary = self.rows_indexed
            self._touched = [] if self._keeps_touched else None
        if not self.rows_indexed and count >= _ROWS_TO_COUNT:
            are_exact = are_last and self.boundary < 0
            if not (are_exact and share is by_one_thread and self._add_at_once(rows, count)):
                self._add_first_rows(rows, count, are_exact=are_exact, share=share)
            if are_last:
                self._leave_sparse()
        while self.rows_indexed < count:
            self._append_piece(rows, min(count, self.rows_indexed + _piece(share)), share)
        for level in self.levels.values():
            level.add_rows(self.keys, self.group_count, share=share)

    @property
    def is_divisible(self) -> bool:
        """Say whether threads may append rows together."""
        return True

    def _append_piece(self, rows: CodeArray, last: int, share: Share) -> None:
        """Append the rows up to number `last` to the postings of their groups."""
        first = self.rows_indexed
        numbers = self._group_numbers(rows, first, last, share=share)
        if share is not by_one_thread:
            self._finish_divided(self._parts().append(rows, first, Division(numbers, share), share), last)
            return
        self.arena_state[TOUCHED] = position = 0
        while True:
            position = append_entries(
                self.groups,
                self.arena,
                self.arena_state,
                self.exact,
                rows,
                self.rest_columns,
                numbers,
                first,
                position,
                self.boundary,
            )
            if position == numbers.shape[0]:
                break
            self.enlarge_arena(2 * (last - first - position))
        self._finish_piece(numbers, last)

    def _parts(self) -> PartedArena:
        if self._parted is None:
            self._parted = PartedArena(self)
        return self._parted

    def _add_at_once(self, rows: CodeArray, count: int) -> bool:
        """Append rows to an empty index, with no room to spare; return False if codes are not dense."""
        largest = [_largest_dense(rows, column, count) for column in self.key]
        if len(largest) not in {1, 2} or min(largest) < 0 or (len(largest) > 1 and sum(largest) > count):
            return False
        self.enlarge_arena(count)
        used = largest[0] + 1
        if self.is_dense:
            self._enlarge_groups(used, count)
            count_codes(self.groups, rows, self.key[0], count)
            place_exactly(self.groups)
            fill_dense(self.groups, self.arena, rows, self.key[0], self.rest_columns, count)
            used = self.groups.shape[0]
        else:
            used = self._group_at_once(rows, count, largest)
        self.exact = np.full(used, 1, np.uint8)
        self.arena_state[TOP] = self.rows_indexed = count
        return True

    def _group_at_once(self, rows: CodeArray, count: int, largest: list[int]) -> int:
        """Append rows to an empty index by two columns; return how many groups there are."""
        # By the column with fewer codes: rows of one code are then read nearly in the order they are in.
        first = int(largest[1] < largest[0])
        ends, order = np.zeros(largest[first] + 1, np.int64), np.empty(count, np.int32)
        order_by_code(rows, self.key[first], ends, order)
        beside, state = np.full(largest[1 - first] + 1, -1, np.int32), np.zeros(STATE_SIZE, np.int64)
        is_done = False
        while not is_done:
            self.group_count = int(state[KNOWN])
            self._make_room_for_keys(max(len(beside), self.group_count))
            postings = self.slots, self.keys, self.groups, self.arena
            columns = self.key_columns, self.rest_columns
            other = self.key[1 - first]
            is_done = group_rows(*postings, rows, *columns, order, ends, other, beside, state)
        self.group_count = int(state[KNOWN])
        enter_groups(self.slots, self.keys, self.key_places, self.group_count)
        return self.group_count

    def _add_first_rows(self, rows: CodeArray, count: int, *, are_exact: bool, share: Share) -> None:
        """Append rows to an empty index: count those of each group, then write them to their places."""
        pieces = [(first, min(first + _piece(share), count)) for first in range(0, count, _piece(share))]
        if self.is_dense:
            largest = int(code_range(rows, self.key[0], 0, count)[1])
            # Once, so that groups without a row are never copied.
            self._enlarge_groups(min(largest, _dense_codes(count) - 1) + 1, count)
        for first, last in pieces:
            numbers = self._group_numbers(rows, first, last, share=share)
            if share is by_one_thread:
                count_entries(self.groups, numbers)
            else:
                self._parts().count(Division(numbers, share), share)
        used = self.groups.shape[0] if self.is_dense else self.group_count
        places, counted = np.empty(used, np.int64), np.flatnonzero(self.groups[:used, LENGTH])
        top = place_postings(self.groups[:used], places, are_exact)
        self.exact = np.full(used if are_exact else 0, 1, np.uint8)
        self.enlarge_arena(top)
        self.arena_state[TOP] = top
        # Others are not written: they may be on pages that take no memory.
        self.groups[counted, START] = places[counted]
        for first, last in pieces:
            numbers = self._group_numbers(rows, first, last, are_known=True, share=share)
            if share is not by_one_thread:
                self._finish_divided(self._parts().fill(rows, first, Division(numbers, share), share), last)
                continue
            self.arena_state[TOUCHED] = 0
            rest = self.rest_columns
            fill_entries(self.groups, self.arena, self.arena_state, rows, rest, numbers, first, self.boundary)
            self._finish_piece(numbers, last)

    @property
    def nbytes(self) -> int:
        """Return how many bytes the arrays take."""
        own = sum(array.nbytes for array in (self.slots, self.keys, self.groups, self.arena))
        return own + sum(level.nbytes for level in self.levels.values())

    def trim(self) -> None:
        """Give back the memory that postings have to spare; few of them are expected to grow."""
        self._leave_sparse()
        top = int(self.arena_state[TOP])
        slack = (top - self.rows_indexed) * self.arena.shape[1] * self.arena.itemsize
        if self.boundary >= 0 or slack < _BYTES_TO_TRIM:
            return
        used = np.flatnonzero(self.groups[:, LENGTH])
        order = used[np.argsort(self.groups[used, START])]
        end = trim_postings(self.groups, self.arena, order)
        self.arena_state[FREE:] = -1
        self.arena_state[TOP] = end
        self._parted = None
        self.exact = np.zeros(self.groups.shape[0] if self.is_dense else self.group_count, np.uint8)
        self.exact[used] = 1
        give_back(self.arena, end, self.arena.shape[0])

    def _finish_divided(self, touched: Int64s, last: int) -> None:
        """Note that the rows before number `last` are indexed, the newest of them first in these groups."""
        self.rows_indexed = last
        if self._touched is not None:
            self._touched.append(touched)

    def _finish_piece(self, numbers: Int64s, last: int) -> None:
        """Note that the rows before number `last`, the newest of them in these groups, are indexed."""
        self.rows_indexed = last
        self._appended(numbers)
        if self._touched is not None:
            self._touched.append(numbers[: self.arena_state[TOUCHED]].copy())

    def level(self, key: tuple[int, ...]) -> "Index":
        """Return the level above this index by some columns of its key, built on first use.

        It leads from these columns to the other columns of the keys that have them, each with its group
        number, so that this index serves joins by fewer columns too. A key of one column has no level.
        """
        level = self.levels.get(key)
        if level is None:
            places = tuple(self.key.index(column) for column in key)
            level = self.levels[key] = Index(places, len(self.key), self.keys.dtype)
            # As narrow as the groups that it leads to, so that kernels take both.
            level.groups = level.groups.astype(self.groups.dtype)
        level.add_rows(self.keys, self.group_count, are_last=self.exact.size > 0)
        return level

    def cost_of_rows(self, count: int) -> int:
        """Return about what it takes to add the rows up to `count`, compared with other indexes."""
        return (count - self.rows_indexed) * (len(self.rest) + (0 if self.is_dense else 4 + len(self.levels)))

    def touched_groups(self) -> Int64s | None:
        """Return the groups of the rows added last, None if they are not known.

        An index keeps track of them once it was asked.
        """
        self._keeps_touched = True
        if self._touched is not None and len(self._touched) != 1:
            self._touched = [np.concatenate(self._touched or [np.empty(0, np.int64)])]
        return None if self._touched is None else self._touched[0]

    def keys_of(self, groups: Int64s) -> CodeArray:
        """Return the keys of some groups, a row for each."""
        if self.is_dense:
            return groups.astype(self.keys.dtype).reshape(-1, 1)
        keys: CodeArray = self.keys[groups]
        return keys

    def _appended(self, numbers: Int64s) -> None:
        """Update what other kinds of indexes keep after rows were appended to these groups."""

    def boundary_between(self, lowest: int, highest: int) -> int:
        """Return the boundary by which kernels find the entries of rows `lowest` to `highest - 1`."""
        is_known = highest >= self.rows_indexed or highest == self.boundary
        assert self.boundary < 0 or (is_known and lowest in {0, self.boundary}), "rows cannot be told apart"
        return self.boundary

    def statistics(self) -> tuple[int, int]:
        """Return the number of rows and of distinct keys."""
        if self.is_dense:
            return self.rows_indexed, int(np.count_nonzero(self.groups[:, LENGTH]))
        return self.rows_indexed, self.group_count

    def _group_numbers(
        self,
        rows: CodeArray,
        first: int,
        last: int,
        *,
        are_known: bool = False,
        share: Share = by_one_thread,
    ) -> Int64s:
        """Return the groups of rows; those of keys that are not known are new."""
        if share is not by_one_thread:
            return self._shared_numbers(rows, first, last, share)
        numbers = np.empty(last - first, np.int64)
        if self.is_dense:
            smallest, largest = code_range(rows, self.key[0], first, last)
            if smallest >= 0 and largest < _dense_codes(last):
                self._enlarge_groups(int(largest) + 1, last)
                dense_numbers(rows, self.key[0], first, last, numbers)
                return numbers
            self._leave_dense()
        if not are_known:
            self._make_room_for_keys(last - first)
        self.group_count = number_groups(
            self.slots, self.keys, rows, self.key_columns, first, last, self.group_count, numbers
        )
        return numbers

    def _shared_numbers(self, rows: CodeArray, first: int, last: int, share: Share) -> Int64s:
        """Return the groups of rows, found by threads together; one of them numbers the keys that are new."""
        numbers = np.empty(last - first, np.int64)
        if self.is_dense:
            smallest, largest = shared_code_range(rows, self.key[0], first, last, share)
            if smallest >= 0 and largest < _dense_codes(last):
                self._enlarge_groups(largest + 1, last)
            else:
                self._leave_dense()
        shared_groups(self, rows, first, numbers, share)
        unknown = np.flatnonzero(numbers < 0)
        if unknown.size:
            numbers[unknown] = self._group_numbers(rows[first + unknown], 0, unknown.size)
        return numbers

    def reserve(self, extra: int) -> None:
        """Make room for `extra` more rows with keys of their own."""
        if not self.is_dense:
            self._make_room_for_keys(extra)
        if int(self.arena_state[TOP]) + 2 * extra > self.arena.shape[0]:
            self.enlarge_arena(2 * extra)

    def admit(self, code: int, rows: int) -> None:
        """Make room for a key of one column without a group yet, in a relation of this many rows."""
        if self.is_dense and 0 <= code < _dense_codes(rows):
            self._enlarge_groups(code + 1, rows)
        elif self.is_dense:
            self._leave_dense()

    def _make_room_for_keys(self, extra: int) -> None:
        needed = self.group_count + extra
        for name in ("groups", "keys"):
            array = getattr(self, name)
            if needed > len(array):
                capacity = roomy(needed, len(array), array.shape[1] * array.itemsize)
                enlarge(self, (name,), capacity, self.group_count)
        if needed > FULLEST * len(self.slots):
            table = zeros((slots_for(needed, len(self.slots)),), np.dtype(np.uint32))
            grow_slots(self.slots, table, self.keys, self.key_places)
            self.slots = table

    def _leave_sparse(self) -> None:
        """Find groups through slots where few codes have one: groups are mostly empty then."""
        codes = len(self.groups)
        if self.is_dense and codes > _CODES_TO_LEAVE and codes > _CODES_PER_GROUP * self.statistics()[1]:
            self._leave_dense()

    def _leave_dense(self) -> None:
        """Find groups through slots from now on, no longer by code."""
        codes = np.flatnonzero(self.groups[:, LENGTH])
        groups = self.groups[codes]
        self.exact = self.exact[codes[codes < len(self.exact)]]
        self.is_dense = False
        # They have other numbers from here on.
        self._touched = None
        self.group_count = 0
        self.groups = np.zeros((_SMALLEST, groups.shape[1]), groups.dtype)
        keys = codes.astype(self.keys.dtype).reshape(-1, 1)
        whole = Index((0,), 1, self.keys.dtype)
        whole.is_dense = False
        whole._group_numbers(keys, 0, keys.shape[0])
        self.slots, self.keys, self.group_count = whole.slots, whole.keys, whole.group_count
        self._enlarge_groups(self.group_count, self.rows_indexed)
        self.groups[: groups.shape[0]] = groups

    def _enlarge_groups(self, needed: int, rows: int) -> None:
        """Make room for so many groups of a relation with so many rows; those of dense codes may be few."""
        if needed > self.groups.shape[0]:
            before = self.groups
            shape = max(needed, len(before) * 2), before.shape[1]
            self.groups = zeros(shape, before.dtype, is_sparse=rows < shape[0])
            used = np.flatnonzero(before[:, LENGTH])
            self.groups[used] = before[used]

    def enlarge_arena(self, entries: int) -> None:
        """Make room for so many more entries."""
        top = int(self.arena_state[TOP])
        row_bytes = self.arena.shape[1] * self.arena.itemsize
        needed = top + entries + 4096
        capacity = roomy(needed, self.arena.shape[0], row_bytes)
        if needed <= _NARROW_PLACES:
            capacity = min(capacity, _NARROW_PLACES)
        else:
            self.groups = self.groups.astype(np.int64, copy=False)
        self.arena = enlarged(self.arena, capacity, top)


def _piece(share: Share) -> int:
    """Return how many rows are appended at a time."""
    return _PIECE if share is by_one_thread else _PIECE_TO_DIVIDE


def _largest_dense(rows: CodeArray, column: int, count: int) -> int:
    """Return the largest code of a column, -1 if its codes are not dense."""
    smallest, largest = code_range(rows, column, 0, count)
    return int(largest) if smallest >= 0 and largest < _dense_codes(count) else -1


def _dense_codes(rows: int) -> int:
    """Return how many codes of a single key column may be group numbers in a relation of so many rows."""
    return max(_DENSE_FACTOR * rows, _DENSE_FLOOR)
