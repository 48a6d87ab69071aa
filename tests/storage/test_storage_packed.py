"""Membership as packed words: the same facts as slots give, and back to slots when words are too narrow."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.code_rows import WIDTHS, as_rows, as_tuples, distinct, random_rows, row_lists
from support.kernel_oracles import oracle_of
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import IS_COMPILED
from tidelog.storage.packed import (
    PackedWords,
    enter_words,
    find_words,
    grow_words,
    insert_words,
    packed_words,
)
from tidelog.storage.pairs import PairBits, find_pairs
from tidelog.storage.relation import NO_COUNTS

NO_CONSTANTS = np.empty(0, np.int64)
codes = st.one_of(st.integers(0, 6), st.integers(0, 2**20 - 1))
narrow = st.one_of(st.integers(0, 6), st.integers(0, 2**11 - 1))
BITS = np.array([11, 11, 11], np.int64)
ROOM = 600


@pytest.fixture
def _small_relations_use_words(monkeypatch):
    """Let relations turn to words however small they are, and keep tables small enough to grow."""
    monkeypatch.setattr("tidelog.storage.packed._SMALLEST_ROWS", 1)


@oracle_of(insert_words, enter_words, grow_words)
@pytest.mark.parametrize("entry", [np.uint32, np.uint64])
@given(
    dtype=st.sampled_from(WIDTHS),
    old=row_lists(3, narrow, max_size=40),
    batches=st.lists(row_lists(3, narrow, max_size=90), max_size=3),
)
def test_words_are_inserted_once(entry, dtype, old, batches):
    """Rows not present get the next row numbers, also after the table has moved to a larger one."""
    table = np.zeros(1 << 9, entry)
    rows = np.zeros((ROOM, 3), dtype)
    held = distinct(old)
    rows[: len(held)] = as_rows(held, 3, dtype)
    assert enter_words(table, BITS, rows[: len(held)], False)
    numbers = np.array([len(held), ROOM], np.int64)

    for batch in batches:
        candidates = as_rows(batch, 3, dtype)
        handled = insert_words(table, BITS, rows, candidates, numbers, np.zeros(1, np.int64), 1)
        assert handled == len(batch)
        held = distinct([*held, *batch])
        larger = np.zeros(2 * len(table), entry)
        assert grow_words(table, larger, 0, len(table), False)
        table = larger

    assert as_tuples(rows[: numbers[0]]) == held
    again = np.zeros(len(table), entry)
    assert enter_words(again, BITS, rows[: numbers[0]], False)
    assert np.count_nonzero(table) == np.count_nonzero(again) == len(held)
    present = np.zeros(len(held), np.uint8)
    for each in (table, again):
        find_words(each, BITS, rows[: len(held)], NO_CONSTANTS, np.arange(3, dtype=np.int32), present)
        assert present.all()


@pytest.mark.parametrize("entry", [np.uint32, np.uint64])
@pytest.mark.parametrize("factor", [2, 4])
def test_threads_that_grow_a_table_meet_only_at_the_ends_of_their_ranges(entry, factor):
    """What others enter is nowhere inside a range where entries are written without atomic operations."""
    size, threads, farthest = 1 << 12, 3, 255
    table, larger = np.zeros(size, entry), np.zeros(factor * size, entry)
    rows = as_rows(distinct(as_tuples(random_rows(int(0.6 * size), 3, 1 << 10))), 3)
    assert enter_words(table, BITS, rows, False)
    bounds = [size * thread // threads for thread in range(threads + 1)]
    written = []
    for first, last in pairwise(bounds):
        alone = np.zeros(len(larger), entry)
        assert grow_words(table, alone, first, last, True)
        written.append(set((np.flatnonzero(alone) % size).tolist()))

    assert all(grow_words(table, larger, first, last, True) for first, last in pairwise(bounds))

    for number, (first, last) in enumerate(pairwise(bounds)):
        inside = set(range(first + farthest, last - farthest))
        assert all(inside.isdisjoint(others) for place, others in enumerate(written) if place != number)
    present = np.zeros(len(rows), np.uint8)
    find_words(larger, BITS, rows, NO_CONSTANTS, np.arange(3, dtype=np.int32), present)
    assert present.all()
    assert np.count_nonzero(larger) == len(rows)


@pytest.mark.parametrize("kernel", ["insert", "enter", "grow"])
def test_entries_do_not_lie_too_far_from_home(kernel):
    """A table that is too full takes no more than it can find again."""
    rows = random_rows(1100, 3, 1 << 10)
    distinct_rows = as_rows(distinct(as_tuples(rows)), 3)
    table, numbers = np.zeros(1 << 10, np.uint64), np.array([0, 2000], np.int64)

    if kernel == "enter":
        assert not enter_words(table, BITS, distinct_rows, False)
    elif kernel == "grow":
        larger = np.zeros(1 << 11, np.uint64)
        assert enter_words(larger, BITS, distinct_rows, False)
        assert not grow_words(larger, table, 0, len(larger), False)
    else:
        into = np.zeros((2000, 3), np.int32)
        handled = insert_words(table, BITS, into, rows, numbers, np.zeros(1, np.int64), 1)
        assert 512 < handled < 1030
        assert as_tuples(into[: numbers[0]]) == distinct(as_tuples(rows[:handled]))


@oracle_of(find_words, find_pairs)
@given(
    held=row_lists(2, st.integers(0, 70), max_size=50),
    batch=row_lists(2, st.integers(-2, 90), max_size=100),
    constant=st.integers(-1, 75),
)
def test_operands_are_found_where_their_row_is_present(held, batch, constant):
    """Operands are columns of a batch in any order, or constants; what lies outside is absent."""
    rows, known = as_rows(distinct(held), 2), set(held)
    table, widths, pairs = np.zeros(1 << 8, np.uint32), np.array([7, 7], np.int64), PairBits(71, 71)
    assert enter_words(table, widths, rows, False)
    pairs.mark(rows)
    bindings = as_rows(batch, 2)

    for key in ((0, 1), (1, 0), (1, -1), (-1, -1)):
        expected = [
            tuple(row[source] if source >= 0 else constant for source in key) in known for row in batch
        ]
        sources, constants = np.array(key, np.int32), np.array([constant], np.int64)
        present = np.full(len(batch), 7, np.uint8)
        find_words(table, widths, bindings, constants, sources, present)
        assert present.tolist() == expected
        present[:] = 7
        size = pairs.height, pairs.width, pairs.words_per_row
        find_pairs(pairs.words, *size, bindings, constants, sources, present)
        assert present.tolist() == expected


@pytest.mark.parametrize("outside", [(1 << 11, 0, 0), (0, 1 << 11, 0), (0, 0, -1)])
@pytest.mark.parametrize("place", [0, 3, 64, 70])
def test_insertion_stops_at_a_row_that_does_not_fit(outside, place):
    """The number of candidates handled is the place of the first one that is too wide."""
    rows = np.zeros((100, 3), np.int64)
    batch = [(number % 5, number, 2) for number in range(80)]
    numbers = np.array([0, 100], np.int64)
    candidates = as_rows([*batch[:place], outside, *batch[place:]], 3, np.int64)

    handled = insert_words(
        np.zeros(256, np.uint32), BITS, rows, candidates, numbers, np.zeros(1, np.int64), 1
    )

    assert handled == place
    assert as_tuples(rows[: numbers[0]]) == batch[:place]


def test_words_are_used_only_where_rows_fit_them():
    """Small relations, negative codes and rows that need more than 63 bits keep their slots."""
    rows, many = random_rows(100, 3, 64), 1 << 20

    assert packed_words(many, lambda: [rows], rows[:0]) is not None
    assert packed_words(100, lambda: [rows], rows[:0]) is None
    assert packed_words(many, lambda: [rows], as_rows([(0, -1, 0)], 3)) is None
    assert packed_words(many, lambda: [rows], as_rows([(1 << 30, 1 << 30, 7)], 3)) is None
    assert packed_words(many, lambda: [np.empty((1, 0), np.int32)], np.empty((0, 0), np.int32)) is None


def test_entries_are_narrow_where_the_table_is_large_enough():
    """What the place of an entry says of its word need not be stored; columns share the bits to spare."""
    rows = as_rows([(1 << 10, 1 << 10, 1 << 10)], 3)

    small, large = (packed_words(needed, lambda: [rows], rows[:0]) for needed in (1 << 12, 1 << 18))

    assert small.table.dtype == large.table.dtype == np.uint32
    assert small.widths.tolist() == [12, 12, 12]
    assert large.widths.tolist() == [14, 14, 14]
    assert len(small.table) == 1 << 13
    wide = packed_words(1 << 12, lambda: [rows], as_rows([(1 << 20, 1 << 20, 0)], 3))
    assert wide.table.dtype == np.uint64
    assert wide.widths.sum() <= 63


@pytest.mark.usefixtures("_small_relations_use_words")
@pytest.mark.parametrize("dtype", WIDTHS)
@settings(max_examples=100 if IS_COMPILED else 20)
@given(batches=st.lists(row_lists(3, codes, max_size=70), max_size=6))
def test_relation_with_words_holds_the_same_rows(dtype, batches):
    """Rows are numbered in the order of their insertion, whatever membership is in use."""
    relation = StoredRelation(3, dtype)
    relation.needs_numbers = False

    for batch in batches:
        relation.insert(as_rows(batch, 3, dtype))

    expected = distinct([row for batch in batches for row in batch])
    assert as_tuples(relation.live_rows()) == expected
    assert relation.find(as_rows(expected, 3, dtype)).tolist() == list(range(len(expected)))


@pytest.mark.usefixtures("_small_relations_use_words")
@settings(max_examples=100 if IS_COMPILED else 20)
@given(
    arity=st.sampled_from([2, 3]),
    expected=st.integers(0, 400),
    largest=st.sampled_from([0, 5, 2**11, 2**20]),
    batches=st.lists(row_lists(3, codes, max_size=70), max_size=6),
)
def test_a_relation_may_expect_other_rows_than_it_gets(arity, expected, largest, batches):
    """What a relation expects is where its table begins, not what it can hold."""
    relation = StoredRelation(arity, np.int32)
    relation.needs_numbers = False
    relation.expect(as_rows([(largest,) * arity], arity), expected)

    for batch in batches:
        relation.insert(as_rows([row[:arity] for row in batch], arity))

    held = distinct([row[:arity] for batch in batches for row in batch])
    assert as_tuples(relation.live_rows()) == held
    assert relation.find(as_rows(held, arity)).tolist() == list(range(len(held)))


def test_membership_of_expected_rows_does_not_grow():
    """A table of words is made once for all rows that are expected, and bits where they take less."""
    rows, dense = random_rows(20_000, 3, 1 << 20), random_rows(1 << 18, 2, 1 << 10)
    relation, pairs = StoredRelation(3, np.int32), StoredRelation(2, np.int32)
    relation.needs_numbers = pairs.needs_numbers = False
    relation.expect(rows, len(rows))
    pairs.expect(dense, len(dense))

    relation.insert(rows[:100])
    pairs.insert(dense[:100])
    words, bits = relation._presence, pairs._presence
    relation.insert(rows)
    pairs.insert(dense)

    assert isinstance(words, PackedWords)
    assert isinstance(bits, PairBits)
    assert (relation._presence, pairs._presence) == (words, bits)


def test_nothing_is_expected_of_rows_that_words_do_not_take():
    """Negative codes and relations without columns leave membership as it is."""
    relation, flag = StoredRelation(2, np.int32), StoredRelation(0, np.int32)
    relation.needs_numbers = flag.needs_numbers = False

    relation.expect(as_rows([(-1, 2)], 2), 1 << 20)
    flag.expect(as_rows([()], 0), 1)
    relation.insert(as_rows([(number, -number) for number in range(100)], 2))

    assert relation._presence is None
    assert relation.count == 100
    assert flag._expected == 0


@pytest.mark.usefixtures("_small_relations_use_words")
def test_a_column_that_outgrows_its_bits_gets_more():
    """Words are packed again with wider columns; only rows that fit no word end them."""
    relation = StoredRelation(3, np.int64)
    relation.needs_numbers = False
    few, wide, too_wide = (as_rows([(code, 1, 1) for code in range(first, first + 200)], 3, np.int64)
                           for first in (0, 1 << 40, 1 << 62))  # fmt: skip

    relation.insert(few)
    before = relation._presence.widths.tolist()
    relation.insert(np.concatenate([few, wide, few]))
    after = relation._presence.widths.tolist()
    inserted = relation.insert(np.concatenate([too_wide, few]))

    assert before[0] < 41
    assert after[0] >= 41
    assert inserted == 200
    assert relation._presence is None
    assert as_tuples(relation.live_rows()) == as_tuples(np.concatenate([few, wide, too_wide]))


@pytest.mark.usefixtures("_small_relations_use_words")
@settings(max_examples=100 if IS_COMPILED else 20)
@given(batches=st.lists(row_lists(3, st.one_of(codes, st.just(-1)), max_size=70), max_size=6))
def test_shared_insertion_into_words_leaves_no_holes(batches):
    """Threads share words as they share slots, also when one of them meets a row that does not fit."""
    relation = StoredRelation(3, np.int32)
    relation.needs_numbers = False
    relation.insert(random_rows(100, 3, 5))
    blocks = relation.open_shared(2)

    for number, batch in enumerate(batches):
        candidates = as_rows(batch, 3)
        while len(candidates):
            if not relation.room_shared(len(candidates), 2):
                relation.reserve_shared(len(candidates), blocks)
            handled = relation.insert_shared(candidates, NO_COUNTS, 0, blocks[number % 2])
            candidates = candidates[handled:]
            if len(candidates):
                relation.admit_shared(candidates, blocks)
    relation.close_shared(blocks)

    expected = set(as_tuples(random_rows(100, 3, 5))) | {row for batch in batches for row in batch}
    assert relation.count == len(expected)
    assert set(as_tuples(relation.live_rows())) == expected


@pytest.mark.usefixtures("_small_relations_use_words")
def test_checks_see_all_rows_of_words_and_those_in_view_of_slots():
    """Presence has no numbers, so a check against it sees every row; slots answer for a range of numbers."""
    relation = StoredRelation(2, np.int32)
    relation.needs_numbers = False
    relation.insert(as_rows([(number, number) for number in range(200)], 2))
    probes, key = as_rows([(3, 3), (150, 150), (3, 4)], 2), np.array([0, 1], np.int32)

    by_words = relation.are_present(probes, NO_CONSTANTS, key, 0, 100).tolist()
    used_words = isinstance(relation._presence, PackedWords)
    relation.require_numbers()

    assert used_words
    assert by_words == [1, 1, 0]
    assert relation.are_present(probes, NO_CONSTANTS, key, 0, 100).tolist() == [1, 0, 0]


@pytest.mark.usefixtures("_small_relations_use_words")
def test_deleting_a_row_brings_the_slots_back():
    """Which rows are alive is known by number."""
    relation = StoredRelation(2, np.int32)
    relation.needs_numbers = False
    relation.insert(random_rows(100, 2, 1000))

    relation.delete_rows(np.array([3], np.int64))

    assert relation._presence is None
    assert relation.find(relation.rows[2:5]).tolist() == [2, -1, 4]


@pytest.mark.usefixtures("_small_relations_use_words")
def test_the_longest_words_leave_room_for_the_distance():
    """Rows of 63 bits, as floats beside symbols are, stay apart in the smallest table."""
    relation = StoredRelation(2, np.int64)
    relation.needs_numbers = False
    rows = as_rows([(code << 52, number) for code in range(1000, 1024) for number in range(2)], 2, np.int64)

    inserted = [relation.insert(rows) for _ in range(2)]

    assert isinstance(relation._presence, PackedWords)
    assert relation._presence.widths.tolist() == [62, 1]
    assert inserted == [48, 0]


@pytest.mark.parametrize("needs_numbers", [False, True])
def test_membership_of_appended_rows_is_completed_once(needs_numbers):
    """Whoever checks rows that were appended finds a table, of words where numbers are not needed."""
    relation = StoredRelation(2, np.int32)
    relation.needs_numbers = needs_numbers
    rows = as_rows([(number, number) for number in range(5000)], 2)

    relation.append(rows)
    relation.complete_membership()
    made = relation._presence, relation._slots
    relation.complete_membership()

    assert (relation._presence, relation._slots)[needs_numbers] is made[needs_numbers]
    assert isinstance(relation._presence, PackedWords) is not needs_numbers
    probes, key = as_rows([(3, 3), (3, 4)], 2), np.array([0, 1], np.int32)
    assert relation.are_present(probes, NO_CONSTANTS, key, 0, 5000).tolist() == [1, 0]
