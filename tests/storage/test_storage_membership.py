"""Membership kernels: the number of every row, against a dictionary from rows to numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples, distinct, random_rows, row_lists, widths
from support.kernel_oracles import oracle_of
from tidelog.storage.hashing import hash_columns, hash_row
from tidelog.storage.join import find_bindings
from tidelog.storage.kernel import kernel
from tidelog.storage.membership import (
    insert_rows,
    move_rows,
    moves_into_gaps,
    number_rows,
)
from tidelog.storage.slots import grow_slots

NO_BYTES = np.empty(0, np.uint8)
NO_COUNTS = np.empty(0, np.int32)
NO_CONSTANTS = np.empty(0, np.int64)


class Table:
    """The arrays that the kernels share, large enough for a test."""

    def __init__(self, arity, dtype=np.int32, size=256, *, counting=False, alive=False):
        self.slots = np.zeros(2 * size, np.uint32)
        self.rows = np.zeros((size, arity), dtype)
        self.counts = np.zeros(size, np.int32) if counting else NO_COUNTS
        self.alive = np.ones(size, np.uint8) if alive else NO_BYTES
        self.numbers = np.array([0, size], np.int64)
        self.shared = np.zeros(1, np.int64)

    @property
    def count(self):
        """Return the next row number."""
        return int(self.numbers[0])

    def insert(self, candidates, weights=NO_COUNTS, first_new=0, step=1):
        """Insert candidates and return how many were new."""
        return insert_rows(
            self.slots, self.rows, self.alive, self.counts, candidates, weights,
            first_new, self.numbers, self.shared, step,
        )  # fmt: skip

    def find(self, probes):
        """Return the row number of each probe, or -1."""
        found = np.empty(len(probes), np.int64)
        columns = np.arange(self.rows.shape[1], dtype=np.int32)
        find_bindings(probes, NO_CONSTANTS, columns, self.slots, self.rows, columns, found)
        return found.tolist()


@kernel
def hashes_of(rows, columns, out):
    """Write two hashes of the first row: of all columns, and of those given."""
    out[0] = hash_row(rows, 0)
    out[1] = hash_columns(rows, 0, columns)


@pytest.mark.parametrize("row", [(3, 4), (-1, 7), (2**31 - 1, -(2**31)), (0, 0)])
def test_hash_of_a_key_is_the_same_wherever_its_codes_come_from(row):
    """A row, its columns, and the same codes in another width hash alike, to 32 bits."""
    every = np.array([0, 1], np.int32)
    out = np.zeros((2, 2), np.uint64)

    for number, dtype in enumerate((np.int32, np.int64)):
        hashes_of(as_rows([row], 2, dtype), every, out[number])

    assert len(set(out.ravel().tolist())) == 1
    assert int(out[0, 0]) < 2**32


@oracle_of(insert_rows, find_bindings)
@given(data=st.data(), arity=st.integers(0, 3), dtype=widths)
def test_inserted_rows_are_numbered_in_order_of_appearance(data, arity, dtype):
    """Rows get the next numbers, equal rows one number, and are found by it."""
    batches = data.draw(st.lists(row_lists(arity, max_size=70), max_size=3))
    probes = data.draw(row_lists(arity, max_size=70))
    table = Table(arity, dtype)
    expected = {}

    for batch in batches:
        fresh = [row for row in distinct(batch) if row not in expected]
        assert table.insert(as_rows(batch, arity, dtype)) == len(fresh)
        expected.update({row: len(expected) + place for place, row in enumerate(fresh)})

    assert as_tuples(table.rows[: table.count]) == list(expected)
    assert table.find(as_rows(probes, arity, dtype)) == [expected.get(row, -1) for row in probes]


@given(rows=row_lists(2, max_size=60), more=row_lists(2, max_size=60), data=st.data())
def test_derivations_of_new_rows_are_counted(rows, more, data):
    """Candidates add their weight to rows of this iteration and nothing to earlier ones."""
    table = Table(2, counting=True)
    table.insert(as_rows(rows, 2), first_new=0)
    before = table.count
    weights = data.draw(st.lists(st.integers(1, 5), min_size=len(more), max_size=len(more)))

    table.insert(as_rows(more, 2), np.array(weights, np.int32), first_new=before)

    old = {row: rows.count(row) for row in rows}
    expected = [
        old.get(row) or sum(w for other, w in zip(more, weights, strict=True) if other == row)
        for row in as_tuples(table.rows[: table.count])
    ]
    assert table.counts[: table.count].tolist() == expected


def test_deleted_row_is_inserted_anew():
    """A row marked as deleted gets a new number, and counts anew, when its content comes again."""
    table = Table(1, alive=True, counting=True)
    table.insert(as_rows([(7,), (8,)], 1))
    table.alive[0] = 0

    inserted = table.insert(as_rows([(7,), (8,), (7,)], 1))

    assert inserted == 1
    assert table.find(as_rows([(7,), (8,)], 1)) == [2, 1]
    assert table.alive[:3].tolist() == [0, 1, 1]
    assert table.counts[:3].tolist() == [1, 2, 2]


def test_numbers_come_in_blocks_and_the_rest_is_known():
    """A thread fetches blocks of numbers; what it did not use is reported."""
    table = Table(1)
    table.numbers[:] = 0
    table.shared[0] = 10

    table.insert(as_rows([(1,), (2,), (3,)], 1), step=2)

    assert table.find(as_rows([(1,), (2,), (3,)], 1)) == [10, 11, 12]
    assert table.numbers.tolist() == [13, 14]
    assert table.shared[0] == 14


@given(data=st.data())
def test_numbers_that_threads_left_unused_are_filled(data):
    """Afterwards rows have the first numbers, and no more rows than necessary have moved."""
    bounds = sorted(data.draw(st.sets(st.integers(0, 30), min_size=2, max_size=6)))
    last = bounds[-1]
    blocks = [np.array(bounds[place : place + 2]) for place in range(0, len(bounds) - 1, 2)]
    unused = {number for first, end in blocks for number in range(first, end)}
    used = set(range(last)) - unused

    moves = moves_into_gaps(data.draw(st.permutations(blocks)), last)

    sources = [move.source + offset for move in moves for offset in range(move.length)]
    targets = [move.target + offset for move in moves for offset in range(move.length)]
    assert (used - set(sources)) | set(targets) == set(range(len(used)))
    assert used >= set(sources)
    assert unused >= set(targets)
    assert len(sources) == len(targets) == sum(number >= len(used) for number in used)


wide_codes = st.integers(0, 3) | st.sampled_from([2**32, 2**40, -(2**40), 2**63 - 1, -(2**63)])


@given(rows=row_lists(2, of=wide_codes, max_size=63), probes=row_lists(2, of=wide_codes, max_size=20))
def test_wide_rows_are_told_apart_in_a_full_table(rows, probes):
    """Codes of 64 bits are compared whole, and a table with one empty slot still ends every search."""
    expected = distinct(rows)
    table = Table(2, np.int64, size=64)
    table.slots = np.zeros(1 << len(expected).bit_length(), np.uint32)

    inserted = table.insert(as_rows(rows, 2, np.int64))

    assert inserted == len(expected)
    numbers = {row: number for number, row in enumerate(expected)}
    assert table.find(as_rows([*rows, *probes], 2, np.int64)) == [
        numbers.get(row, -1) for row in [*rows, *probes]
    ]


@oracle_of(grow_slots)
@given(row_lists(2, max_size=60))
def test_growing_keeps_all_slots(rows):
    """A larger table has as many words as the smaller one, where a search looks for them."""
    table = Table(2, size=64)
    table.insert(as_rows(rows, 2))
    larger = np.zeros(3 * table.slots.size + 1, np.uint32)

    grow_slots(table.slots, larger, table.rows, np.arange(2, dtype=np.int32))

    assert np.count_nonzero(larger) == len(distinct(rows))
    table.slots = larger
    assert table.find(as_rows(rows, 2)) == [distinct(rows).index(row) for row in rows]


def test_grown_table_finds_the_same_rows():
    """Moving slots to a larger table keeps every row's number."""
    rows = as_rows(distinct(as_tuples(random_rows(200, 2, 40))), 2)
    table = Table(2)
    table.insert(rows)

    larger = np.zeros(4 * table.slots.size, np.uint32)
    grow_slots(table.slots, larger, table.rows, np.arange(2, dtype=np.int32))
    table.slots = larger

    assert table.find(rows) == list(range(len(rows)))
    assert table.find(as_rows([(99, 99)], 2)) == [-1]


@pytest.mark.parametrize("is_shared", [False, True])
@oracle_of(number_rows)
def test_numbering_distinct_rows_equals_inserting_them(is_shared):
    """A table made from rows at hand, range by range, finds each of them, and only those before the last."""
    rows = as_rows(distinct(as_tuples(random_rows(150, 3, 9))), 3)
    table = Table(3)
    table.rows[: len(rows)] = rows

    for first, last in ((40, len(rows) - 1), (0, 17), (17, 40), (3, 3)):
        number_rows(table.slots, table.rows, first, last, is_shared)

    assert table.find(rows) == [*range(len(rows) - 1), -1]


@oracle_of(move_rows)
@given(rows=row_lists(2, min_size=1, max_size=40, of=st.integers(0, 5)), data=st.data())
def test_moved_rows_take_everything_along(rows, data):
    """However many rows get other numbers, each is found by its last one, with its count."""
    table = Table(2, counting=True)
    table.insert(as_rows(rows, 2))
    numbers = {row: number for number, row in enumerate(distinct(rows))}

    for target in range(100, 100 + data.draw(st.integers(1, 5))):
        row = data.draw(st.sampled_from(sorted(numbers)))
        move_rows(table.slots, table.rows, table.counts, numbers[row], target, 1)
        numbers[row] = target

    assert table.find(as_rows(list(numbers), 2)) == list(numbers.values())
    assert [int(table.counts[number]) for number in numbers.values()] == [rows.count(row) for row in numbers]


def test_moved_row_is_found_under_its_new_number():
    """A row given another number takes its content and count along."""
    table = Table(2, counting=True)
    table.insert(as_rows([(1, 2), (3, 4), (3, 4)], 2))

    move_rows(table.slots, table.rows, table.counts, 1, 5, 1)

    assert table.find(as_rows([(1, 2), (3, 4)], 2)) == [0, 5]
    assert table.counts[5] == 2
