"""Postings that are built at once, against a dictionary from keys to rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.test_storage_index import expected_postings, matches_oracle
from support.code_rows import as_rows, as_tuples, row_lists, widths
from support.kernel_oracles import oracle_of
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
from tidelog.storage.index import Index
from tidelog.storage.lookup import find_key
from tidelog.storage.postings import LENGTH, START, TOP

codes = st.integers(0, 12)


@given(
    rows=row_lists(3, of=codes, min_size=30, max_size=120),
    key=st.sampled_from([(0,), (2,), (0, 1), (1, 2), (2, 0), (0, 1, 2)]),
    more=row_lists(3, of=codes, max_size=30),
    dtype=widths,
)
def test_rows_that_come_at_once_are_found_by_their_keys(rows, key, more, dtype):
    """Postings are full, one after the other, and grow later as any other; levels lead to their groups."""
    index = Index(key, 3, dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tidelog.storage.index._ROWS_TO_COUNT", 1)

        index.add_rows(as_rows(rows, 3, dtype), len(rows), are_last=True)

        assert matches_oracle(index, rows)
        assert index.arena_state[TOP] == len(rows)
        for column in key if len(key) > 1 else ():
            assert matches_oracle(index.level((column,)), index.keys[: index.group_count].tolist())
        index.add_rows(as_rows([*rows, *more], 3, dtype), len(rows) + len(more))
    assert matches_oracle(index, [*rows, *more])
    for column in key if len(key) > 1 else ():
        assert matches_oracle(index.level((column,)), index.keys[: index.group_count].tolist())


@oracle_of(order_by_code)
@given(rows=row_lists(2, of=codes, max_size=60), dtype=widths)
def test_rows_are_ordered_by_a_code(rows, dtype):
    """Rows of one code keep their order, and it is known where each code ends."""
    ends, order = np.zeros(13, np.int64), np.empty(len(rows), np.int32)

    order_by_code(as_rows(rows, 2, dtype), 1, ends, order)

    assert order.tolist() == sorted(range(len(rows)), key=lambda row: rows[row][1])
    assert ends.tolist() == [sum(row[1] <= code for row in rows) for code in range(13)]


@oracle_of(group_rows, enter_groups)
@given(rows=row_lists(3, of=codes, max_size=90), dtype=widths)
def test_rows_are_grouped_by_two_columns(rows, dtype):
    """Room is asked for as keys turn up; every key leads to its rows in order."""
    array, key, rest = as_rows(rows, 3, dtype), np.array([2, 0], np.int32), np.array([1], np.int32)
    ends, order = np.zeros(13, np.int64), np.empty(len(rows), np.int32)
    order_by_code(array, 2, ends, order)
    beside, state, arena = np.full(13, -1, np.int32), np.zeros(STATE_SIZE, np.int64), np.zeros((90, 2), dtype)
    keys, groups = np.zeros((169, 2), dtype), np.zeros((169, 2), np.int64)
    times = 0

    for room in range(13, 170, 13):
        parts = np.zeros(512, np.uint32), keys[:room], groups[:room], arena
        times += 1
        if group_rows(*parts, array, key, rest, order, ends, 0, beside, state):
            break
    known, slots = int(state[KNOWN]), np.zeros(512, np.uint32)
    enter_groups(slots, keys, np.arange(2, dtype=np.int32), known)

    expected = expected_postings([(x, z, y) for x, y, z in rows], (1, 0))
    assert times <= 13
    assert known == len(expected)
    for probe, posting in expected.items():
        start, length = groups[find_key(slots, keys, np.arange(2, dtype=np.int32), np.array(probe, np.int64))]
        assert as_tuples(arena[start : start + length]) == posting


@oracle_of(fill_dense)
@given(rows=row_lists(2, of=codes, max_size=60), dtype=widths)
def test_codes_lead_to_their_rows(rows, dtype):
    """Rows are written behind each other in the posting of their code."""
    array, arena, groups = as_rows(rows, 2, dtype), np.zeros((60, 2), dtype), np.zeros((13, 2), np.int64)
    count_codes(groups, array, 0, len(rows))
    place_exactly(groups)

    fill_dense(groups, arena, array, 0, np.array([1], np.int32), len(rows))

    found = {(code,): as_tuples(arena[a : a + n]) for code, (a, n) in enumerate(groups.tolist()) if n}
    assert found == expected_postings(rows, (0,))


@oracle_of(count_codes, place_exactly)
@given(rows=row_lists(2, of=codes, max_size=60), dtype=widths)
def test_groups_without_a_row_are_not_written(rows, dtype):
    """Places follow each other by code; a group without rows keeps zeros."""
    groups = np.zeros((13, 2), np.int64)

    count_codes(groups, as_rows(rows, 2, dtype), 0, len(rows))
    lengths = groups[:, LENGTH].tolist()
    place_exactly(groups)

    assert lengths == [sum(row[0] == code for row in rows) for code in range(13)]
    assert not groups[:, LENGTH].any()
    assert groups[:, START].tolist() == [sum(lengths[:code]) if lengths[code] else 0 for code in range(13)]


@pytest.mark.parametrize("least", [-1, 10**6])
def test_codes_that_are_not_dense_are_looked_up(least):
    """A key of two columns with negative or few, far codes is built as before."""
    rows = [(least + 3 * number, number % 7) for number in range(60)]
    index = Index((0, 1), 2, np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tidelog.storage.index._ROWS_TO_COUNT", 1)

        index.add_rows(as_rows(rows, 2, np.int32), len(rows), are_last=True)

    assert matches_oracle(index, rows)
