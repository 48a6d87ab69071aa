"""Levels before the epoch in progress: kept for touched rows alone, restored, exchanged and forgotten."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT

ROWS = 100
levels_of_rows = st.lists(st.sampled_from([0, 1, 7, int(ABSENT)]), min_size=ROWS, max_size=ROWS)
changes = st.dictionaries(st.integers(0, ROWS - 1), st.sampled_from([0, 2, int(ABSENT)]), max_size=20)


def relation_with(levels):
    """Return a relation of one column whose rows have these levels."""
    relation = StoredRelation(1, np.int32, counting=True)
    relation.insert(np.arange(len(levels), dtype=np.int32).reshape(-1, 1))
    relation.levels[: relation.count] = levels
    return relation


def change(relation, levels):
    """Touch rows and give them other levels; return their numbers."""
    rows = np.array(list(levels), np.int64)
    relation.keep_levels(rows)
    relation.levels[rows] = list(levels.values())
    return rows


@given(levels=levels_of_rows, changed=changes)
def test_levels_before_are_those_at_the_first_touch(levels, changed):
    """Of all rows and of some; rows that nobody touched have their own level."""
    relation = relation_with(levels)

    rows = change(relation, changed)

    assert relation.levels_before().tolist() == levels
    assert relation.levels_before(rows).tolist() == [levels[row] for row in rows]


@given(levels=levels_of_rows, changed=changes)
def test_levels_before_survive_growth(levels, changed):
    """More rows than the relation had room for, some located as absent, take nothing from those before."""
    relation = relation_with(levels)
    rows = change(relation, changed)

    located = relation.locate(np.arange(ROWS, 50 * ROWS, dtype=np.int32).reshape(-1, 1))

    assert relation.levels_before(rows).tolist() == [levels[row] for row in rows]
    assert (relation.levels_before(located) == ABSENT).all()
    assert relation.copied(np.int64).levels_before(rows).tolist() == relation.levels_before(rows).tolist()


@given(levels=levels_of_rows, changed=changes)
def test_an_epoch_that_is_undone_leaves_no_level(levels, changed):
    """Restored rows have the levels they had, and nothing is remembered once that is forgotten."""
    relation = relation_with(levels)
    rows = change(relation, changed)

    relation.restore_levels(rows)
    relation.forget_before(rows)

    assert relation.levels[:ROWS].tolist() == levels
    assert not relation.before.any()


@given(levels=levels_of_rows, changed=changes)
def test_levels_of_both_epochs_change_places(levels, changed):
    """In between the present levels are those of before; a second exchange changes them back."""
    relation = relation_with(levels)
    rows = change(relation, changed)
    now = relation.levels[:ROWS].tolist()

    relation.exchange_levels(rows)

    assert relation.levels[:ROWS].tolist() == levels
    assert relation.levels_before().tolist() == now
    relation.exchange_levels(rows)
    assert relation.levels[:ROWS].tolist() == now
    assert relation.levels_before().tolist() == levels


def test_many_touched_rows_are_forgotten_with_their_pages():
    """A large table of which much was written is replaced; of which little was, it is cleared in place."""
    relation = relation_with(np.zeros(1 << 20, np.int32))
    few, many = np.arange(10), np.arange(1 << 13)

    relation.keep_levels(few)
    kept = relation.before
    relation.forget_before(few)
    assert relation.before is kept
    assert not relation.before.any()

    relation.keep_levels(many)
    relation.forget_before(many)
    assert relation.before is not kept
    assert not relation.before.any()
    assert len(relation.before) == len(kept)
