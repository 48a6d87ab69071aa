"""Joins whose matches are checked by marks, against nested loops over lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples
from support.kernel_oracles import oracle_of
from tidelog.storage import StoredRelation
from tidelog.storage.join import UNEQUAL, find_groups
from tidelog.storage.marked import (
    MARKED,
    MARKING,
    NO_GROUP,
    ROW,
    STATES,
    TRIED,
    join_marked,
    split_by_marking,
)

CODES = st.integers(0, 5)
PAIRS = st.lists(st.tuples(CODES, CODES), max_size=25)
NO_CONSTANTS = np.empty(0, np.int64)
NO_FILTERS = np.empty((0, 3), np.int32)


def relation_of(pairs, key):
    """Return a relation of distinct pairs with an index on a column."""
    relation = StoredRelation(2, np.int32, counting=True)
    relation.insert(as_rows(pairs, 2))
    return relation, relation.index((key,))


def groups_of(batch, column, index):
    """Return the group of each binding's code in a column."""
    found = np.empty(len(batch), np.int64)
    key = np.array([column], np.int32)
    find_groups(batch, NO_CONSTANTS, key, index.slots, index.keys, index.groups, index.is_dense, found)
    return found


@oracle_of(split_by_marking)
@given(pairs=PAIRS, facts=PAIRS, others=PAIRS)
def test_a_posting_is_marked_if_bindings_in_a_row_match_as_many_facts(pairs, facts, others):
    """Others are searched for, and those without a match in either relation are dropped."""
    batch = as_rows(pairs, 2)
    relation, index = relation_of(facts, 0)
    other, marked_index = relation_of(others, 1)
    found = groups_of(batch, 1, index)
    marked = groups_of(batch, 0, marked_index)
    searched = np.empty(len(batch), np.uint8)

    count = split_by_marking(found, index.groups, marked, marked_index.groups, searched)

    follows = {y: sum(1 for a, _ in as_tuples(relation.live_rows()) if a == y) for y in range(6)}
    leads = {x: sum(1 for _, b in as_tuples(other.live_rows()) if b == x) for x in range(6)}
    for row, (x, y) in enumerate(pairs):
        first = last = row
        while first and pairs[first - 1][0] == x:
            first -= 1
        while last < len(pairs) and pairs[last][0] == x:
            last += 1
        shared = sum(follows[pairs[each][1]] for each in range(first, last))
        matches = bool(follows[y] and leads[x])
        is_marked = shared >= leads[x]
        if leads[x]:
            assert (bool(searched[row]), found[row] >= 0) == (
                matches and not is_marked,
                matches and is_marked,
            )
        else:
            assert not searched[row]
            assert found[row] < 0
    assert count == searched.sum()


@oracle_of(join_marked)
@pytest.mark.parametrize("room", [1, 3, 100])
@given(
    pairs=PAIRS, facts=PAIRS, others=PAIRS, has_filter=st.booleans(),
    bounds=st.tuples(*[st.integers(0, 25)] * 4), marking=st.sampled_from([0, 2**31 - 2]),
)  # fmt: skip
def test_marked_joins_find_what_loops_find(room, pairs, facts, others, has_filter, bounds, marking):
    """Triangles x, y, z of three relations, with rows in view, a filter, and a buffer of any size."""
    batch = as_rows(pairs, 2)
    relation, index = relation_of(facts, 0)
    other, marked_index = relation_of(others, 1)
    view, marked_view = tuple(sorted(bounds[:2])), tuple(sorted(bounds[2:]))
    state = np.zeros(STATES, np.int64)
    state[ROW], state[MARKED], state[MARKING] = 0, NO_GROUP, marking
    found, marked = groups_of(batch, 1, index), groups_of(batch, 0, marked_index)
    found[marked < 0] = -1
    filters = np.array([[UNEQUAL, 0, 2]], np.int32) if has_filter else NO_FILTERS
    out = np.empty((room, 3), np.int32)
    triangles = []
    left = (batch, NO_CONSTANTS, found, index.groups, index.arena, (*view, -1))
    marks = np.zeros(6, np.int32)
    right = (marked, marked_index.groups, marked_index.arena, (*marked_view, -1), (0, 0), marks)

    while state[ROW] < len(batch):
        written = join_marked(*left, *right, filters, np.array([0, 1, 2], np.int32), state, out)
        triangles += as_tuples(out[:written])

    seen = as_tuples(relation.rows[: relation.count][view[0] : view[1]])
    seen_others = set(as_tuples(other.rows[: other.count][marked_view[0] : marked_view[1]]))
    tried = [(x, y, z) for x, y in pairs for a, z in seen if a == y and any(b == x for _, b in set(others))]
    expected = [(x, y, z) for x, y, z in tried if (z, x) in seen_others and not (has_filter and x == z)]
    assert sorted(triangles) == sorted(expected)
    assert state[TRIED] == len(tried)
