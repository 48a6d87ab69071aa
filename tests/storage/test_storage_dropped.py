"""Rows that were let go, and are found again in what knows that they are present."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.code_rows import WIDTHS, as_rows, as_tuples, distinct, row_lists
from support.kernel_oracles import oracle_of
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import IS_COMPILED
from tidelog.storage.packed import list_words, packed_words
from tidelog.storage.pairs import PairBits, list_pairs
from tidelog.values.memory import give_back, zeros

EXAMPLES = 100 if IS_COMPILED else 20
INSIDE = st.tuples(st.integers(0, 4), st.integers(0, 129))
GARBAGE = 77


def let_go(monkeypatch):
    """Let relations drop the fewest rows, in words or bits, and lose what they drop."""

    def forget(array, first, last):
        array[first:last] = GARBAGE
        return True

    monkeypatch.setattr("tidelog.storage.relation.give_back", forget)
    monkeypatch.setattr("tidelog.storage.relation._BYTES_TO_DROP", 1)
    monkeypatch.setattr("tidelog.storage.relation._PLACES_AT_A_TIME", 100)
    monkeypatch.setattr("tidelog.storage.packed._SMALLEST_ROWS", 1)
    monkeypatch.setattr("tidelog.storage.pairs._SMALLEST_ROWS", 8)


@pytest.fixture
def _rows_are_let_go(monkeypatch):
    let_go(monkeypatch)


@oracle_of(list_words)
@given(
    rows=row_lists(3, st.integers(0, 9000), max_size=40),
    cut=st.integers(0, 1 << 13),
    dtype=st.sampled_from(WIDTHS),
    needed=st.sampled_from([1 << 12, 1 << 16]),
)
def test_words_are_listed_where_they_lie(rows, cut, dtype, needed):
    """All rows that were entered are in some place, in tables of wide and of narrow entries."""
    expected = distinct(rows)
    packed = packed_words(needed, lambda: [as_rows(expected, 3, dtype)], as_rows([], 3, dtype))
    assert packed is not None

    listed = np.empty((len(expected), 3), dtype)
    count = list_words(packed.table, packed.widths, 0, cut, listed)
    count += list_words(packed.table, packed.widths, cut, packed.places, listed[count:])

    assert count == len(expected)
    assert sorted(as_tuples(listed)) == sorted(expected)


@oracle_of(list_pairs)
@given(rows=st.lists(INSIDE, max_size=60), cut=st.integers(0, 15), dtype=st.sampled_from(WIDTHS))
def test_pairs_are_listed_where_their_bits_are(rows, cut, dtype):
    """All pairs that were marked are in some word."""
    expected = distinct(rows)
    pairs = PairBits(5, 130)
    pairs.mark(as_rows(expected, 2))

    # One row more than there are: what is written there does not count.
    listed = np.empty((len(expected) + 1, 2), dtype)
    count = list_pairs(pairs.words, pairs.words_per_row, 0, cut, listed)
    count += list_pairs(pairs.words, pairs.words_per_row, cut, pairs.places, listed[count:])

    assert count == len(expected)
    assert sorted(as_tuples(listed[:count])) == sorted(expected)


@pytest.mark.usefixtures("_rows_are_let_go")
@pytest.mark.parametrize("arity", [2, 3])
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_rows_that_were_let_go_are_there_when_read(arity, data):
    """However often, in words or in bits, with larger codes in between, and numbers wanted in the end."""
    codes = st.integers(0, 9) | st.sampled_from([200, 1 << 20])
    relation = StoredRelation(arity, np.int32)
    relation.needs_numbers = False
    inputs = distinct(data.draw(row_lists(arity, codes, max_size=10)))
    relation.insert(as_rows(inputs, arity))
    expected = list(inputs)
    for batch in data.draw(st.lists(row_lists(arity, codes, max_size=30), max_size=6)):
        before = relation.count
        relation.insert(as_rows(batch, arity))
        new = [row for row in distinct(batch) if row not in expected]
        expected += new
        relation.drop_rows(len(inputs), before)

        assert len(relation) == len(expected)
        assert as_tuples(relation.held[: len(inputs)]) == inputs
        assert as_tuples(relation.live_rows(before)) == new
        if data.draw(st.booleans()):
            assert sorted(as_tuples(relation.live_rows())) == sorted(expected)

    probes = as_rows([*expected, (7,) * arity], arity)
    places = [relation.rows_at(place, place + 1) for place in range(relation.places)]
    assert sorted(row for rows in places for row in as_tuples(rows)) == sorted(expected)
    assert set(np.flatnonzero(relation.find(probes) >= 0)) >= set(range(len(expected)))
    assert sorted(as_tuples(relation.rows[: relation.count])) == sorted(expected)


@pytest.mark.usefixtures("_rows_are_let_go")
def test_a_sample_of_rows_that_were_let_go_is_fair():
    """About as many of each key as there are, from all over the table."""
    rows = as_rows([(number % 10, number) for number in range(20_000)], 2)
    relation = StoredRelation(2, np.int32)
    relation.needs_numbers, relation._may_use_pairs = False, False
    relation.insert(rows)
    relation.drop_rows(0, 19_000)
    assert relation.dropped == (0, 19_000)

    sample = relation.some_rows()

    counts = np.bincount(sample[:, 0], minlength=10)
    assert counts.sum() == pytest.approx(20_000, rel=0.1)
    assert (np.abs(counts - counts.mean()) < 0.2 * counts.mean()).all()


def test_memory_that_is_given_back_has_no_content():
    """Rows before and after keep theirs."""
    array = zeros((1 << 22, 2), np.dtype(np.int32))
    array[:] = GARBAGE

    is_given_back = give_back(array, 1 << 10, 1 << 21)

    assert (array[: 1 << 10] == GARBAGE).all()
    assert (array[1 << 21 :] == GARBAGE).all()
    assert is_given_back == (not array[1 << 20].any())


def test_small_arrays_are_kept():
    """Their memory belongs to Python."""
    array = np.ones((100, 2), np.int32)

    assert not give_back(array, 0, 50)
    assert array.all()
