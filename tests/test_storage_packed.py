"""Membership as packed words: the same facts as slots give, and back to slots when words are too narrow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_rows import WIDTHS, as_rows, as_tuples, distinct, random_rows, row_lists
from kernel_oracles import oracle_of
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import IS_COMPILED
from tidelog.storage.packed import (
    PackedWords,
    enter_words,
    find_words,
    fitting_words,
    grow_words,
    insert_words,
)
from tidelog.storage.pairs import PairBits, find_pairs
from tidelog.storage.relation import NO_COUNTS

NO_CONSTANTS = np.empty(0, np.int64)
codes = st.one_of(st.integers(0, 6), st.integers(0, 2**20 - 1))
BITS = np.array([20, 20, 20], np.int64)
ROOM = 600


@pytest.fixture
def _small_relations_use_words(monkeypatch):
    """Let relations turn to words however small they are, and keep tables small enough to grow."""
    monkeypatch.setattr("tidelog.storage.packed._SMALLEST_ROWS", 1)


def empty_table(size):
    """Return a table without words."""
    return np.zeros(size, np.uint64)


def words_in(table):
    """Return the words of a table in order."""
    return sorted(table[table != 0].tolist())


@oracle_of(insert_words, enter_words, grow_words)
@pytest.mark.parametrize("dtype", WIDTHS)
@given(old=row_lists(3, codes, max_size=40), batches=st.lists(row_lists(3, codes, max_size=90), max_size=3))
def test_words_are_inserted_once(dtype, old, batches):
    """Rows not present get the next row numbers, also after the table has moved to a larger one."""
    table = empty_table(1 << 9)
    rows = np.zeros((ROOM, 3), dtype)
    held = distinct(old)
    rows[: len(held)] = as_rows(held, 3, dtype)
    enter_words(table, BITS, rows[: len(held)])
    numbers = np.array([len(held), ROOM], np.int64)

    for batch in batches:
        candidates = as_rows(batch, 3, dtype)
        handled = insert_words(table, BITS, rows, candidates, numbers, np.zeros(1, np.int64), 1)
        assert handled == len(batch)
        held = distinct([*held, *batch])
        larger = empty_table(2 * len(table))
        grow_words(table, larger)
        assert words_in(larger) == words_in(table)
        table = larger

    assert as_tuples(rows[: numbers[0]]) == held
    assert words_in(table) == sorted(1 + (a << 40) + (b << 20) + c for a, b, c in held)


@oracle_of(find_words, find_pairs)
@given(
    held=row_lists(2, st.integers(0, 70), max_size=50),
    batch=row_lists(2, st.integers(-2, 90), max_size=100),
    constant=st.integers(-1, 75),
)
def test_operands_are_found_where_their_row_is_present(held, batch, constant):
    """Operands are columns of a batch in any order, or constants; what lies outside is absent."""
    rows, known = as_rows(distinct(held), 2), set(held)
    table, widths, pairs = empty_table(1 << 8), np.array([7, 7], np.int64), PairBits(71, 71)
    enter_words(table, widths, rows)
    pairs.mark(rows, len(rows))
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


@pytest.mark.parametrize("outside", [(1 << 20, 0, 0), (0, 1 << 20, 0), (0, 0, -1)])
@pytest.mark.parametrize("place", [0, 3, 64, 70])
def test_insertion_stops_at_a_row_that_does_not_fit(outside, place):
    """The number of candidates handled is the place of the first one that is too wide."""
    rows = np.zeros((100, 3), np.int64)
    batch = [(number % 5, number, 2) for number in range(80)]
    numbers = np.array([0, 100], np.int64)
    candidates = as_rows([*batch[:place], outside, *batch[place:]], 3, np.int64)

    handled = insert_words(empty_table(256), BITS, rows, candidates, numbers, np.zeros(1, np.int64), 1)

    assert handled == place
    assert as_tuples(rows[: numbers[0]]) == batch[:place]


def test_words_are_used_only_where_rows_fit_them():
    """Small relations, negative codes and rows that need more than 63 bits keep their slots."""
    rows = random_rows(100, 3, 64)

    assert fitting_words(1 << 20, rows) is not None
    assert fitting_words(100, rows) is None
    assert fitting_words(1 << 20, rows, as_rows([(0, -1, 0)], 3)) is None
    assert fitting_words(1 << 20, rows, as_rows([(1 << 30, 1 << 30, 7)], 3)) is None
    assert fitting_words(1 << 20, rows, as_rows([(1 << 30, 1 << 30, 0)], 3)) is None
    assert fitting_words(1 << 20, np.empty((1, 0), np.int32)) is None


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

    assert before == [21, 21, 21]
    assert after == [47, 7, 7]
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
