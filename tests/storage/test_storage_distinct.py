"""Counting distinct keys approximately: close to the truth, whatever the columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples, random_rows, row_lists, widths
from support.kernel_oracles import oracle_of
from tidelog.storage import distinct as module
from tidelog.storage.distinct import (
    _count_equal,
    _hash_sample,
    _mark_cells,
    count_distinct,
    rows_per_key,
)
from tidelog.storage.kernel import IS_COMPILED

MANY = 50_000 if IS_COMPILED else 1500


def true_count(rows, columns):
    """Return the exact number of distinct keys."""
    return len({tuple(row[column] for column in columns) for row in as_tuples(rows)})


@oracle_of(_mark_cells, _hash_sample)
@given(
    rows=row_lists(3, max_size=40), columns=st.permutations([0, 1, 2]), count=st.integers(0, 3), dtype=widths
)
def test_equal_keys_have_equal_hashes_and_cells(rows, columns, count, dtype):
    """A key marks the cell of its hash, once; rows are sampled evenly apart."""
    array, key = as_rows(rows, 3, dtype), np.array(columns[:count], np.int32)
    hashes, sampled = np.zeros(len(rows), np.uint64), np.zeros(min(len(rows), 3), np.uint64)
    cells = np.zeros(16, np.uint8)

    _hash_sample(array, key, hashes)
    _hash_sample(array, key, sampled)
    marked = _mark_cells(array, key, cells)
    again = _mark_cells(array, key, cells)

    keys = [tuple(row[column] for column in columns[:count]) for row in rows]
    assert len(set(zip(keys, hashes.tolist(), strict=True))) == len(set(keys)) == len(set(hashes.tolist()))
    places = [place * len(rows) // len(sampled) for place in range(len(sampled))]
    assert sampled.tolist() == [hashes.tolist()[place] for place in places]
    assert set(np.flatnonzero(cells).tolist()) == {code % 16 for code in hashes.tolist()}
    assert (marked, again) == (np.count_nonzero(cells), 0)


@oracle_of(_count_equal)
@given(few=st.lists(st.integers(0, 40), max_size=12), many=st.lists(st.integers(0, 40), max_size=30))
def test_equal_hashes_are_counted_in_pairs(few, many):
    """Every pair of equal hashes counts, however many share a cell."""
    hashes, others = np.array(few, np.uint64), np.array(many, np.uint64)

    pairs = _count_equal(hashes, others, np.zeros(16, np.uint64), np.zeros(16, np.int64))

    assert pairs == sum(left == right for left in few for right in many)


def test_rows_that_share_a_key_are_counted():
    """A row picked at random shares its key with about as many rows as its key has."""
    rows = as_rows([(number % 5, number) for number in range(1000)], 2)

    assert rows_per_key(rows, (0,)) == pytest.approx(200, rel=0.05)
    assert rows_per_key(rows, (1,)) == 1
    assert rows_per_key(rows[:1], (0,)) == 1
    assert rows_per_key(rows[:0], (0,)) == 0


def test_no_rows_have_no_keys():
    """Nothing holds nothing."""
    assert count_distinct(as_rows([], 2), (0,)) == 0


@pytest.mark.parametrize("highest", [1, 7, 300, 10**6])
@pytest.mark.parametrize("columns", [(0,), (1,), (0, 1), (2, 0)])
def test_count_is_close(highest, columns):
    """The estimate is within a tenth of the truth, or within two."""
    rows = random_rows(MANY, 3, highest)

    found = count_distinct(rows, columns)

    assert found == pytest.approx(true_count(rows, columns), rel=0.1, abs=2)


@pytest.mark.parametrize("highest", [5, 10**9])
def test_long_relations_are_estimated_from_their_beginning(monkeypatch, highest):
    """Of a long relation only the first rows are read; few keys stay few and many stay many."""
    monkeypatch.setattr(module, "_MOST_ROWS", 500)
    rows = random_rows(1500, 1, highest)

    found = count_distinct(rows, (0,))

    truth = true_count(rows, (0,))
    assert truth / 3 <= found <= 2 * truth + 2
    assert found >= true_count(rows[:500], (0,)) * 0.8


def test_keys_that_differ_in_high_bits_only_are_told_apart():
    """Codes are hashed whole, also wide and negative ones."""
    rows = (np.arange(1000, dtype=np.int64) << 40).reshape(-1, 1) - 2**45

    assert count_distinct(rows, (0,)) == pytest.approx(1000, rel=0.1)
