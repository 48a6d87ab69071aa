"""Bits for dense binary relations: the same facts as slots give, and back to slots when they end."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.code_rows import WIDTHS, as_rows, as_tuples, distinct, random_rows, row_lists
from support.kernel_oracles import oracle_of
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import IS_COMPILED
from tidelog.storage.pairs import PairBits, fitting_pairs, insert_pairs, mark_pairs
from tidelog.storage.relation import NO_COUNTS

inside = st.tuples(st.integers(0, 4), st.integers(0, 129))
EVERY = as_rows([(left, right) for left in range(40) for right in range(40)], 2)
ODD = EVERY[1::2].copy()


@pytest.fixture
def _small_relations_use_bits(monkeypatch):
    """Let relations turn to bits however small they are."""
    monkeypatch.setattr("tidelog.storage.pairs._SMALLEST_ROWS", 1)


def bits_of(pairs):
    """Return the pairs whose bits are set."""
    bits = np.unpackbits(pairs.words.view(np.uint8), bitorder="little").reshape(pairs.height, -1)
    return set(zip(*(part.tolist() for part in np.nonzero(bits)), strict=True))


def dense_relation():
    """Return a relation that holds all pairs below 40 and uses bits."""
    relation = StoredRelation(2, np.int32)
    relation.needs_numbers = False
    relation.insert(ODD)
    relation.insert(EVERY)
    assert relation._presence is not None
    return relation


@oracle_of(insert_pairs, mark_pairs)
@given(batches=st.lists(st.lists(inside, max_size=70), max_size=3), old=st.lists(inside, max_size=30))
def test_pairs_are_inserted_once(batches, old):
    """Pairs not present get the next row numbers; bits tell exactly what is present."""
    pairs = PairBits(5, 130)
    rows = np.zeros((300, 2), np.int32)
    held = distinct(old)
    rows[: len(held)] = as_rows(held, 2)
    mark_pairs(pairs.words, pairs.words_per_row, rows[: len(held)], False)
    numbers = np.array([len(held), 300], np.int64)

    for batch in batches:
        handled = insert_pairs(
            pairs.words, pairs.height, pairs.width, pairs.words_per_row, rows, as_rows(batch, 2),
            0, numbers, np.zeros(1, np.int64), 1,
        )  # fmt: skip
        assert handled == len(batch)
        held = distinct([*held, *batch])

    assert as_tuples(rows[: numbers[0]]) == held
    assert bits_of(pairs) == set(held)


@pytest.mark.parametrize("outside", [(5, 0), (0, 130), (-1, 3), (3, -1)])
@pytest.mark.parametrize("place", [0, 3, 64, 70])
def test_insertion_stops_at_a_pair_outside(outside, place):
    """The number of candidates handled is the place of the first one that has no bit."""
    pairs = PairBits(5, 130)
    rows = np.zeros((100, 2), np.int32)
    batch = [(number % 5, number) for number in range(80)]
    numbers = np.array([0, 100], np.int64)

    handled = insert_pairs(
        pairs.words, pairs.height, pairs.width, pairs.words_per_row, rows,
        as_rows([*batch[:place], outside, *batch[place:]], 2), 0, numbers, np.zeros(1, np.int64), 1,
    )  # fmt: skip

    assert handled == place
    assert as_tuples(rows[: numbers[0]]) == batch[:place]


def test_bits_are_used_only_where_they_take_less_memory():
    """Sparse, small, wide, negative or still empty relations keep their slots."""
    dense = random_rows(100, 2, 64)
    spread = np.array([[10**6, 10**6]], np.int32)

    assert fitting_pairs(lambda: [dense[:50], dense[50:]], 1 << 18) is not None
    assert fitting_pairs(lambda: [dense], 1000) is None
    assert fitting_pairs(lambda: [dense[:0]], 1 << 18) is None
    assert fitting_pairs(lambda: [dense, spread], 1 << 18) is None
    assert fitting_pairs(lambda: [np.array([[-1, 2]], np.int32)], 1 << 18) is None


def test_codes_of_64_bits_are_too_sparse_for_bits():
    """However large the number of possible pairs is."""
    rows = np.array([(1 << 33, 1 << 33), (1, 1)], np.int64)

    assert fitting_pairs(lambda: [rows], 1 << 20) is None


@pytest.mark.usefixtures("_small_relations_use_bits")
def test_relation_with_bits_holds_the_same_rows():
    """A relation that turned to bits numbers its rows as before."""
    relation = dense_relation()

    assert relation.insert(EVERY[:70]) == 0
    assert as_tuples(relation.live_rows()) == distinct(as_tuples(np.concatenate([ODD, EVERY])))


@pytest.mark.usefixtures("_small_relations_use_bits")
@pytest.mark.parametrize("dtype", WIDTHS)
def test_relation_leaves_bits_when_a_pair_does_not_fit(dtype):
    """A pair outside ends the bits for good; nothing is lost and rows are found by number."""
    relation = StoredRelation(2, dtype)
    relation.needs_numbers = False
    rows = EVERY.astype(dtype)
    relation.insert(rows[:800])
    relation.insert(rows[:800])
    used_bits = relation._presence is not None

    inserted = relation.insert(
        as_rows([(39, 39), (7, 70_000), (39, 39), (-3, 1), *as_tuples(rows)], 2, dtype)
    )

    expected = distinct([*as_tuples(rows[:800]), (39, 39), (7, 70_000), (-3, 1), *as_tuples(rows)])
    assert used_bits
    assert relation._presence is None
    assert inserted == len(expected) - 800
    assert relation.find(as_rows(expected, 2, dtype)).tolist() == list(range(len(expected)))
    assert relation.needs_numbers


@pytest.mark.usefixtures("_small_relations_use_bits")
def test_asking_for_a_row_number_ends_the_bits():
    """Bits cannot tell a row's number, so finding and locating go back to slots."""
    relation = dense_relation()

    found = relation.find(as_rows([(39, 39), (0, 41)], 2))

    assert as_tuples(relation.rows[found[:1]]) == [(39, 39)]
    assert found[1] == -1
    assert relation._presence is None
    assert relation.insert(EVERY) == 0


@pytest.mark.usefixtures("_small_relations_use_bits")
@settings(max_examples=100 if IS_COMPILED else 20)
@given(batches=st.lists(row_lists(2, st.integers(0, 45), max_size=70), max_size=6))
def test_shared_insertion_into_bits_leaves_no_holes(batches):
    """Threads share bits as they share slots, also when one of them meets a pair outside."""
    relation = dense_relation()
    before = relation.count
    blocks = relation.open_shared(2)

    for number, batch in enumerate(batches):
        candidates = as_rows(batch, 2)
        while len(candidates):
            if not relation.room_shared(len(candidates), 2):
                relation.reserve_shared(len(candidates), blocks)
            handled = relation.insert_shared(candidates, NO_COUNTS, before, blocks[number % 2])
            candidates = candidates[handled:]
            if len(candidates):
                relation.admit_shared(candidates, blocks)
    relation.close_shared(blocks)

    expected = set(as_tuples(EVERY)) | {row for batch in batches for row in batch}
    assert relation.count == len(expected)
    assert set(as_tuples(relation.live_rows())) == expected
    assert (relation.find(as_rows(sorted(expected), 2)) >= 0).all()


@pytest.mark.usefixtures("_small_relations_use_bits")
def test_threads_insert_the_same_pairs_once():
    """Whoever sets a bit first owns the row."""
    relation = StoredRelation(2, np.int32)
    relation.needs_numbers = False
    highest = 200 if IS_COMPILED else 20
    relation.insert(as_rows([(0, 0), (highest - 1, highest - 1)], 2))
    bits = PairBits(highest, highest)
    mark_pairs(bits.words, bits.words_per_row, relation.rows[:2], False)
    relation._use(bits)
    every = as_rows([(left, right) for left in range(highest) for right in range(highest)], 2)
    blocks = relation.open_shared(4)
    relation.reserve_shared(len(every), blocks)

    def work(thread):
        relation.insert_shared(np.random.default_rng(thread).permutation(every), NO_COUNTS, 0, blocks[thread])

    pool = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    relation.close_shared(blocks)

    assert relation.count == len(every)
    assert set(as_tuples(relation.live_rows())) == set(as_tuples(every))
