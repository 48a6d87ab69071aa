"""Joins that drop what is known to be a fact, against nested loops over lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples
from support.kernel_oracles import oracle_of
from tidelog.storage import StoredRelation
from tidelog.storage.join import UNEQUAL, find_groups
from tidelog.storage.sieve import HEAD, MATCHES, NO_GROUP, ROW, STATES, join_unknown

CODES = st.integers(0, 5)
PAIRS = st.lists(st.tuples(CODES, CODES), max_size=25)
TRIPLES = st.lists(st.tuples(CODES, CODES, CODES), max_size=25)
NO_CONSTANTS = np.empty(0, np.int64)


def relation_of(rows, arity, key):
    """Return a relation of distinct rows with an index on a column."""
    relation = StoredRelation(arity, np.int32)
    relation.insert(as_rows(rows, arity))
    return relation, relation.index(key)


def groups_of(batch, column, index):
    """Return the group of each binding's code in a column."""
    found = np.empty(len(batch), np.int64)
    key = np.array([column], np.int32)
    find_groups(batch, NO_CONSTANTS, key, index.slots, index.keys, index.groups, index.is_dense, found)
    return found


def sieved(batch, index, facts, filters, widths, places, room):
    """Return what a join of the last column passes on, the others with an entry, and its matches.

    `facts` are found by the first column, through a level where their index has another key.
    """
    bound = batch.shape[1] - 1
    arity = bound + len(index.rest)
    state = np.zeros(STATES, np.int64)
    state[HEAD] = NO_GROUP
    sources = np.array([*range(bound), *range(bound + 1, 1 + arity)], np.int32)
    known = np.zeros(places, np.uint64)
    out = np.empty((room, arity), np.int32)
    level = facts if facts.key == (0,) else facts.level((0,))
    found, heads = groups_of(batch, bound, index), groups_of(batch, 0, level)
    key, free = np.array([0]), np.arange(1, arity)
    known_facts = (level.groups, level.arena), (facts.groups, facts.arena), level is not facts, key, free
    view = 0, index.rows_indexed, index.boundary_between(0, index.rows_indexed)
    passed = []
    while state[ROW] < len(batch):
        written = join_unknown(
            batch, NO_CONSTANTS, found, index.groups, index.arena, view, filters, sources, heads,
            *known_facts, widths, known, state, out,
        )  # fmt: skip
        passed += as_tuples(out[:written])
    return passed, int(state[MATCHES])


@oracle_of(join_unknown)
@pytest.mark.parametrize("room", [1, 3, 100])
@pytest.mark.parametrize("places", [1, 4, 64])
@given(pairs=PAIRS, data=st.data(), is_wide=st.booleans(), has_filter=st.booleans(), bits=st.integers(1, 4))
def test_what_is_dropped_is_a_fact_or_was_passed_on(room, places, pairs, data, is_wide, has_filter, bits):
    """However few places there are for known facts, and if codes do not fit their columns."""
    arity = 3 if is_wide else 2
    rows = data.draw(TRIPLES if is_wide else PAIRS)
    facts = [row for row in data.draw(TRIPLES if is_wide else PAIRS) if max(row) < 1 << bits]
    relation, index = relation_of(rows, arity, (0,))
    _, head_index = relation_of(facts, arity, (0,))
    filters = np.array([[UNEQUAL, 0, 2]] if has_filter else np.empty((0, 3)), np.int32)
    widths = np.full(arity, bits)

    passed, matches = sieved(as_rows(pairs, 2), index, head_index, filters, widths, places, room)

    stored = as_tuples(relation.live_rows())
    joined = [(x, *rest) for x, y in pairs for a, *rest in stored if a == y]
    candidates = [row for row in joined if not has_filter or row[0] != row[1]]
    assert matches == len(joined)
    assert set(passed) <= set(candidates)
    assert set(candidates) <= set(passed) | set(facts)


@pytest.mark.parametrize("is_level", [False, True])
@pytest.mark.parametrize("room", [1, 100])
@given(triples=TRIPLES, rows=PAIRS, facts=TRIPLES)
def test_bindings_may_have_more_columns_than_the_key(is_level, room, triples, rows, facts):
    """Facts of a first column are known, through a level or not, where bindings have the second one too."""
    relation, index = relation_of(rows, 2, (0,))
    _, head_index = relation_of(facts, 3, (0, 1) if is_level else (0,))
    no_filters = np.empty((0, 3), np.int32)

    passed, matches = sieved(as_rows(triples, 3), index, head_index, no_filters, np.full(3, 3), 64, room)

    stored = as_tuples(relation.live_rows())
    joined = [(x, r, z) for x, r, y in triples for a, z in stored if a == y]
    assert matches == len(joined)
    assert set(passed) <= set(joined)
    assert set(joined) <= set(passed) | set(facts)


@pytest.mark.parametrize("is_level", [False, True])
def test_facts_of_three_columns_are_dropped(is_level):
    """All facts of the first column are known before the first match."""
    facts = [(0, r, z) for r in range(2) for z in range(5)]
    index = relation_of([(y, z) for y in range(3) for z in range(8)], 2, (0,))[1]
    head_index = relation_of(facts, 3, (0, 1) if is_level else (0,))[1]
    batch = as_rows([(0, 0, 0), (0, 1, 1), (0, 0, 2)], 3)
    no_filters = np.empty((0, 3), np.int32)

    passed, _ = sieved(batch, index, head_index, no_filters, np.full(3, 4), 1 << 15, 100)

    assert sorted(passed) == [(0, r, z) for r in range(2) for z in range(5, 8)]


def test_facts_with_the_key_of_many_matches_are_dropped():
    """They are known before the first match, and what is passed on is known from then on."""
    facts = [(0, z) for z in range(5)]
    index = relation_of([(y, z) for y in range(3) for z in range(8)], 2, (0,))[1]
    head_index = relation_of(facts, 2, (0,))[1]
    batch = as_rows([(0, 0), (0, 1), (0, 2)], 2)
    no_filters = np.empty((0, 3), np.int32)

    passed, matches = sieved(batch, index, head_index, no_filters, np.full(2, 4), 64, 100)

    assert sorted(passed) == [(0, 5), (0, 6), (0, 7)]
    assert matches == 24
