"""Counting distinct keys approximately: close to the truth, whatever the columns."""

import numpy as np
import pytest

from code_rows import as_rows, as_tuples, random_rows
from tidelog.storage import distinct as module
from tidelog.storage.distinct import count_distinct
from tidelog.storage.kernel import IS_COMPILED

MANY = 50_000 if IS_COMPILED else 1500


def true_count(rows, columns):
    """Return the exact number of distinct keys."""
    return len({tuple(row[column] for column in columns) for row in as_tuples(rows)})


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
