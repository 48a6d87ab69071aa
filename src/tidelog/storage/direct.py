"""An index that leads from a key straight to rows, for keys that few facts share.

Most links of a tree are functions: a node has one parent, one name, one next sibling. A posting with one
entry says nothing there that the row does not say. A direct index has one number for each key: that of the
newest row with this key, plus one, or 0. Each row that shares its key with older ones has the number of the
one before it, again plus one. Where no two rows do, these are pages that were never written and take no
memory.

The number of a key of one column whose codes are dense is at the place of its code. Numbers of other keys are
in slots, by the hash of the key; the row says which key it is.

A link that changes has two rows until the epoch ends, and its dead row stays until rows are moved together.
So rows may share a key, but few do; an index in which many do is replaced by postings.
"""

from collections.abc import Sequence

import numpy as np

from tidelog.kernels.fetch import fetch
from tidelog.storage.distinct import rows_per_key
from tidelog.storage.hashing import hash_columns
from tidelog.storage.join import code_of, find_bindings, passes
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Integer, Slots, Words, inlined, kernel
from tidelog.storage.lookup import find_key
from tidelog.storage.postings import code_range
from tidelog.storage.slots import (
    AHEAD,
    FULLEST,
    after,
    fetch_contents,
    fetch_home,
    filled,
    grow_slots,
    home,
    number_at,
    slots_built_for,
    slots_for,
)
from tidelog.values.memory import enlarged, enlarged_sparse, roomy, zeros

_SMALLEST = 64
# The codes of a key column are few enough if there are no more than this many per row.
_CODES_PER_ROW = 12
_CODES_FLOOR = 1 << 16
# Rows share keys too often for a direct index if there are so many per key.
_ROWS_PER_KEY = 2
_FEW_ROWS = 8
# None is built where a row picked at random shares its key with so many.
_ROWS_TO_FOLLOW = 8


class DirectIndex:
    """Rows by the columns `key`; `rest` are the others.

    `slots` has the row by code if it `is_dense`, else by hash, and `earlier` the row before a row, all plus
    one; the arrays are replaced as they grow.
    """

    def __init__(self, key: tuple[int, ...], arity: int) -> None:
        self.key = key
        self.rest = tuple(column for column in range(arity) if column not in key)
        self.key_columns: Int32s = np.array(self.key, np.int32)
        self.rest_columns: Int32s = np.array(self.rest, np.int32)
        self.slots: Slots = np.zeros(_SMALLEST, np.uint32)
        self.earlier: Int32s = np.zeros(_SMALLEST, np.int32)
        self.is_dense = len(key) == 1
        self.rows_indexed = 0
        # How many keys there are.
        self.group_count = 0
        self._is_crowded = False
        # How many more rows a kernel may enter, at least, after the next `add_rows`.
        self._room = 0

    @property
    def is_useful(self) -> bool:
        """Say whether few rows share a key, or it is the empty one, where entries would say no more."""
        return not self._is_crowded and not self._shares_keys(self.rows_indexed, self.group_count)

    @property
    def nbytes(self) -> int:
        """Return how many bytes the arrays take."""
        return self.slots.nbytes + self.earlier.nbytes

    def add_rows(self, rows: CodeArray, count: int) -> None:
        """Enter the rows numbered from those already indexed up to `count`, unless many share a key."""
        if self.is_dense and self.rows_indexed < count:
            smallest, largest = code_range(rows, self.key[0], self.rows_indexed, count)
            # There are no more keys than codes, so that many more rows than codes need not be counted.
            if smallest >= 0 and self._shares_keys(count, max(int(largest) + 1, len(self.slots))):
                self._is_crowded = True
                return
            self._admit(int(smallest), int(largest), count)
        first, last = self.rows_indexed, max(self.rows_indexed, count)
        self._make_room(rows, last + self._room)
        self._room = 0
        if first < last:
            arrays = self.slots, self.earlier, rows, self.key_columns
            self.group_count += int(enter_rows(*arrays, self.is_dense, first, last))
            self.rows_indexed = last

    def reserve(self, extra: int) -> None:
        """Let the next `add_rows` make room for `extra` more rows."""
        self._room = extra

    def admit(self, code: int, rows: int) -> None:
        """Make room for a code, in a relation of this many rows, at the latest with the next `add_rows`."""
        if self.is_dense:
            self._admit(code, code, rows)

    def rows_of(self, rows: CodeArray, key: Sequence[int]) -> Int64s:
        """Return the numbers of the rows with this key, in ascending order."""
        if not self.is_dense:
            place = int(find_key(self.slots, rows, self.key_columns, np.array(key, np.int64))) + 1
        else:
            place = int(self.slots[key[0]]) if 0 <= key[0] < len(self.slots) else 0
        found = []
        while place:
            found.append(place - 1)
            place = int(self.earlier[place - 1])
        return np.array(found[::-1], np.int64)

    def _shares_keys(self, rows: int, keys: int) -> bool:
        """Say whether too many rows share a key, of which there are so many; all share the empty one."""
        return len(self.key) > 0 and rows > max(_FEW_ROWS, _ROWS_PER_KEY * keys)

    def _admit(self, smallest: int, largest: int, rows: int) -> None:
        """Make room for codes, or find keys by their hashes from now on if codes are not dense."""
        if smallest < 0 or largest >= _dense_codes(rows):
            self.is_dense = False
            self.slots = np.zeros(_SMALLEST, np.uint32)
            # All rows are entered again.
            self.rows_indexed = self.group_count = 0
        elif largest >= len(self.slots):
            capacity = roomy(largest + 1, len(self.slots), self.slots.itemsize)
            self.slots = enlarged(self.slots, capacity, len(self.slots))

    def _make_room(self, rows: CodeArray, count: int) -> None:
        """Make room for so many rows."""
        if count > len(self.earlier):
            capacity = roomy(count, len(self.earlier), self.earlier.itemsize)
            self.earlier = enlarged_sparse(self.earlier, capacity, len(self.earlier))
        # There may be fewer keys, but the bits of a slot's number must be enough for all rows.
        if not self.is_dense and count > FULLEST * len(self.slots):
            size = slots_for(count, len(self.slots)) if self.rows_indexed else slots_built_for(count)
            larger = zeros((size,), self.slots.dtype)
            grow_slots(self.slots, larger, rows, self.key_columns)
            self.slots = larger


def direct_index(key: tuple[int, ...], rows: CodeArray, count: int) -> DirectIndex | None:
    """Return the direct index of rows by some columns, None if it would not be useful."""
    if key and rows_per_key(rows[:count], key) > _ROWS_TO_FOLLOW:
        return None
    index = DirectIndex(key, rows.shape[1])
    index.add_rows(rows, count)
    return index if index.is_useful else None


def _dense_codes(rows: int) -> int:
    """Return how many codes the key column of so many rows may have."""
    return max(_CODES_PER_ROW * rows, _CODES_FLOOR)


@kernel
def enter_rows(
    slots: Slots, earlier: Int32s, rows: CodeArray, columns: Int32s, is_dense: bool, first: int, last: int
) -> int:
    """Enter rows `first` to `last - 1` in this order; return how many keys were new.

    Requires room for their keys in `slots` and for their numbers in `earlier`.
    """
    added = 0
    if is_dense:
        for row in range(first, last):
            if row + AHEAD < last:
                fetch(slots, rows[row + AHEAD, columns[0]])
            added += enter_by_code(slots, earlier, np.int64(rows[row, columns[0]]), row)
        return added
    digests, later = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64)
    _fetch_homes(slots, rows, columns, first, last, later)
    for begin in range(first, last, AHEAD):
        end = min(begin + AHEAD, last)
        digests, later = later, digests
        _fetch_homes(slots, rows, columns, end, last, later)
        fetch_contents(slots, digests, end - begin, rows)
        for row in range(begin, end):
            added += enter_by_hash(slots, earlier, rows, columns, digests[row - begin], row)
    return added


@inlined
def _fetch_homes(
    slots: Slots, rows: CodeArray, columns: Int32s, first: Integer, last: Integer, digests: Words
) -> None:
    """Write the digests of the keys of a block of rows, and fetch their homes."""
    for row in range(first, min(first + AHEAD, last)):
        digests[row - first] = fetch_home(slots, hash_columns(rows, row, columns))


@inlined
def enter_by_code(slots: Slots, earlier: Int32s, code: Integer, row: Integer) -> int:
    """Enter a row, the newest of all, under its code; return 1 if it is the first one there.

    A row that is there already changes nothing: two names of one index enter the same rows.
    """
    before = np.int64(slots[code])
    if before > row:
        return 0
    slots[code] = row + 1
    if before != 0:
        earlier[row] = before
        return 0
    return 1


@inlined
def enter_by_hash(
    slots: Slots, earlier: Int32s, rows: CodeArray, columns: Int32s, digest: np.uint64, row: Integer
) -> int:
    """Enter a row as `enter_by_code` does, under its key with this hash."""
    place = home(slots, digest)
    before = number_at(slots, place)
    while before >= 0 and not _same_key(rows, before, row, columns):
        place = after(slots, digest, place)
        before = number_at(slots, place)
    if before >= row:
        return 0
    slots[place] = filled(slots, digest, row)
    if before >= 0:
        earlier[row] = before + 1
        return 0
    return 1


@inlined
def _same_key(rows: CodeArray, left: Integer, right: Integer, columns: Int32s) -> bool:
    for position in range(columns.shape[0]):
        if rows[left, columns[position]] != rows[right, columns[position]]:
            return False
    return True


@kernel
def find_newest(
    batch: CodeArray, constants: Int64s, key: Int32s, slots: Slots, rows: CodeArray, columns: Int32s,
    is_dense: bool, found: Int64s,
) -> None:  # fmt: skip
    """Write the number of the newest row with each binding's key into `found`, -1 where there is none."""
    if not is_dense:
        find_bindings(batch, constants, key, slots, rows, columns, found)
        return
    for binding in range(batch.shape[0]):
        if binding + AHEAD < batch.shape[0]:
            later = code_of(batch, binding + AHEAD, constants, key[0])
            if 0 <= later < slots.shape[0]:
                fetch(slots, later)
        code = code_of(batch, binding, constants, key[0])
        found[binding] = np.int64(slots[code]) - 1 if 0 <= code < slots.shape[0] else np.int64(-1)


@kernel
def join_direct(
    batch: CodeArray, found: Int64s, constants: Int64s, earlier: Int32s, rows: CodeArray, alive: Bools,
    lowest: int, highest: int, filters: Int32s, sources: Int32s, state: Int64s, out: CodeArray,
) -> int:  # fmt: skip
    """Write one row per binding and matching row into `out`; return how many.

    `found` are the rows of `find_newest`. As `join_postings`, but sources of the batch's width and above are
    columns of the row, and the one after the last column is its number. `state` is the next binding and, plus
    one, the next row for it.
    """
    written = 0
    width, arity = batch.shape[1], rows.shape[1]
    binding = state[0]
    place = state[1]
    while binding < batch.shape[0]:
        if binding + AHEAD < batch.shape[0] and found[binding + AHEAD] >= 0:
            fetch(rows, found[binding + AHEAD])
        if place == 0:
            place = found[binding] + 1
        while place > lowest:
            row = place - 1
            is_seen = row < highest and (alive.shape[0] == 0 or alive[row] != 0)
            if is_seen and passes(batch, binding, rows, row, constants, filters):
                if written == out.shape[0]:
                    state[0] = binding
                    state[1] = place
                    return written
                for column in range(sources.shape[0]):
                    source = sources[column]
                    if source < 0:
                        out[written, column] = constants[-1 - source]
                    elif source < width:
                        out[written, column] = batch[binding, source]
                    elif source < width + arity:
                        out[written, column] = rows[row, source - width]
                    else:
                        out[written, column] = row
                written += 1
            place = np.int64(earlier[row])
        place = np.int64(0)
        binding += 1
    state[0] = binding
    state[1] = 0
    return written


@kernel
def has_row(found: Int64s, earlier: Int32s, alive: Bools, lowest: int, highest: int, result: Bools) -> None:
    """Write whether there is a row numbered `lowest` to `highest - 1` with each binding's key.

    `found` are the rows of `find_newest`.
    """
    for binding in range(found.shape[0]):
        place = found[binding] + 1
        present = np.uint8(0)
        while place > lowest and present == 0:
            row = place - 1
            if row < highest and (alive.shape[0] == 0 or alive[row] != 0):
                present = np.uint8(1)
            place = np.int64(earlier[row])
        result[binding] = present


@kernel
def count_rows(found: Int64s, earlier: Int32s, most: int, counts: Int64s) -> None:
    """Write how many rows have each binding's key, dead ones too, and `most` where there are more."""
    for binding in range(found.shape[0]):
        place = found[binding] + 1
        count = np.int64(0)
        while place > 0 and count < most:
            count += 1
            place = np.int64(earlier[place - 1])
        counts[binding] = count
