"""The groups of an index that the rows added last belong to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples
from tidelog.storage import StoredRelation
from tidelog.storage import index as index_module

ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 3)), max_size=20)


@pytest.mark.parametrize("key", [(0,), (2,), (0, 1), (1, 2)])
@pytest.mark.parametrize("piece", [2, 1 << 18])
@given(parts=st.lists(ROWS, min_size=1, max_size=4))
def test_an_index_knows_the_keys_of_the_rows_added_last(monkeypatch_piece, key, piece, parts):
    """Once it was asked for them, however many pieces the rows are added in."""
    monkeypatch_piece(piece)
    relation = StoredRelation(3, np.int32)
    relation.index(key).touched_groups()
    for part in parts:
        before = relation.count
        relation.insert(as_rows(part, 3))
        index = relation.index(key)
        added = as_tuples(relation.rows[before : relation.count])
        touched = index.touched_groups()
        if added:
            assert touched is not None
            keys = as_tuples(index.keys_of(touched))
            assert len(set(keys)) == len(keys)
            assert set(keys) == {tuple(row[column] for column in key) for row in added}


@pytest.fixture(scope="module")
def monkeypatch_piece():
    """Return what sets how many rows an index adds at a time."""
    with pytest.MonkeyPatch.context() as patch:
        yield lambda piece: patch.setattr(index_module, "_PIECE", piece)


def test_groups_are_not_known_before_an_index_was_asked():
    """Nor when they got other numbers, since codes became too sparse to be numbers themselves."""
    relation = StoredRelation(2, np.int32)
    relation.insert(as_rows([(1, 1), (2, 1)], 2))
    index = relation.index((0,))
    assert index.touched_groups() is None
    relation.insert(as_rows([(3, 1)], 2))
    assert relation.index((0,)).touched_groups().tolist() == [3]
    relation.insert(as_rows([(4, 1), (1 << 30, 1)], 2))
    assert relation.index((0,)).touched_groups() is None
    relation.insert(as_rows([(4, 2), (1, 2)], 2))
    index = relation.index((0,))
    assert as_tuples(index.keys_of(index.touched_groups())) == [(4,), (1,)]


def test_entries_with_row_numbers_have_no_groups_of_the_last_rows():
    """Relations that follow changes do not ask for them."""
    relation = StoredRelation(2, np.int32, counting=True)
    relation.index((0,)).touched_groups()
    relation.insert(as_rows([(3, 1)], 2))
    assert relation.index((0,)).touched_groups() is None
