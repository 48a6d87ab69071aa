"""Stored relations: distinct rows with numbers, against a list of rows in plain Python."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import (
    WIDTHS,
    as_rows,
    as_tuples,
    distinct,
    random_rows,
    row_lists,
    small_codes,
    widths,
)
from tidelog.engine.local.workers import Workers
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import IS_COMPILED
from tidelog.storage.relation import NO_COUNTS
from tidelog.values.memory import enlarged, zeros

MANY = 20_000 if IS_COMPILED else 400


def numbers_of(*numbers):
    """Return row numbers as an array."""
    return np.array(numbers, np.int64)


def matches_oracle(relation, rows):
    """Say whether the relation holds exactly these rows and finds each of them."""
    probes = as_rows(rows, relation.arity, relation.dtype)
    numbers = relation.find(probes)
    held = set(as_tuples(relation.live_rows()))
    return (
        len(relation) == len(rows) and held == set(rows) and as_tuples(relation.rows[numbers]) == list(rows)
    )


@given(data=st.data(), arity=st.integers(0, 3), dtype=widths, counting=st.booleans())
def test_relation_holds_what_was_inserted_and_not_deleted(data, arity, dtype, counting):
    """Insertions and deletions in any order leave the rows that a set would hold."""
    relation = StoredRelation(arity, dtype, counting=counting)
    held = {}
    for _ in range(data.draw(st.integers(0, 4))):
        batch = data.draw(row_lists(arity, max_size=90))
        fresh = [row for row in distinct(batch) if row not in held]

        assert relation.insert(as_rows(batch, arity, dtype)) == len(fresh)

        held.update(dict.fromkeys(fresh))
        doomed = data.draw(st.lists(st.sampled_from(sorted(held)), unique=True)) if held else []
        relation.delete_rows(relation.find(as_rows(doomed, arity, dtype)))
        for row in doomed:
            del held[row]

        assert matches_oracle(relation, list(held))


def test_new_rows_of_an_iteration_are_a_range():
    """Rows are numbered in the order of insertion, so each insertion appends a range."""
    relation = StoredRelation(1, np.int32)
    relation.insert(as_rows([(5,), (3,)], 1))

    relation.insert(as_rows([(3,), (9,), (9,), (1,)], 1))

    assert as_tuples(relation.live_rows(2)) == [(9,), (1,)]
    assert as_tuples(relation.live_rows(0, 2)) == [(5,), (3,)]


@pytest.mark.parametrize("dtype", WIDTHS)
def test_relation_grows_far_beyond_its_first_size(dtype):
    """Many rows are found under their numbers after all arrays were replaced."""
    rows = random_rows(MANY, 2, 1000, dtype=dtype)
    relation = StoredRelation(2, dtype, counting=True)
    for first in range(0, MANY, MANY // 7):
        relation.insert(rows[first : first + MANY // 7], first_new=relation.count)

    expected = distinct(as_tuples(rows))

    assert as_tuples(relation.live_rows()) == expected
    assert relation.find(as_rows(expected, 2, dtype)).tolist() == list(range(len(expected)))
    assert (relation.counts[: relation.count] >= 1).all()


def test_counts_add_up_within_an_iteration_only():
    """A derivation counts for a row of the same iteration; given rows keep one derivation."""
    relation = StoredRelation(1, np.int32, counting=True)

    relation.insert(as_rows([(1,), (1,)], 1), first_new=relation.NEVER)
    relation.insert(as_rows([(1,), (2,), (2,)], 1), np.array([5, 2, 3], np.int32), first_new=1)

    assert relation.counts[:2].tolist() == [1, 5]


def test_indexes_follow_the_rows_when_asked():
    """An index is built when first asked for and takes in new rows afterwards."""
    relation = StoredRelation(2, np.int32)
    relation.insert(as_rows([(1, 2), (3, 4)], 2))
    index = relation.index((0,))
    relation.insert(as_rows([(1, 5)], 2))
    rows_before = index.rows_indexed

    for index in relation.indexes.values():
        index.add_rows(relation.rows, relation.count)

    assert (rows_before, index.rows_indexed) == (2, 3)
    assert relation.index((0,)) is index


@given(rows=row_lists(2, max_size=80), deleted=st.sets(st.integers(0, 79)), counting=st.booleans())
def test_widened_relation_holds_the_same_facts(rows, deleted, counting):
    """Widening keeps live rows in order with their annotations, in 64 bits."""
    relation = StoredRelation(2, np.int32, counting=counting)
    relation.insert(as_rows(rows, 2))
    if counting:
        relation.levels[: relation.count] = np.arange(relation.count)
    gone = sorted(number for number in deleted if number < relation.count)
    if gone:
        relation.delete_rows(numbers_of(*gone))

    wide = relation.copied(np.int64)

    kept = [number for number in range(relation.count) if number not in deleted]
    assert wide.dtype == np.int64
    assert as_tuples(wide.live_rows()) == as_tuples(relation.rows[kept])
    if counting:
        assert wide.levels[: wide.count].tolist() == kept
        assert wide.counts[: wide.count].tolist() == relation.counts[kept].tolist()
    wide.insert(as_rows([(2**40, -(2**40))], 2, np.int64))
    assert wide.find(as_rows([(2**40, -(2**40)), (0, -(2**40))], 2, np.int64)).tolist() == [len(kept), -1]


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("dtype", WIDTHS)
def test_threads_copy_a_relation_as_one_does(threads, dtype):
    """Live rows, their order, annotations and what is found are the same, whoever copies them."""
    rows = as_rows(distinct(as_tuples(random_rows(MANY, 2, 400))), 2)
    relation = StoredRelation(2, np.int32, counting=True)
    relation.insert(rows)
    relation.levels[: relation.count] = np.arange(relation.count)
    relation.counts[: relation.count] = np.arange(relation.count) % 3
    relation.delete_rows(np.arange(0, relation.count, 3))
    workers = Workers(threads)

    one, several = relation.copied(dtype), relation.copied(dtype, workers.share)
    workers.close()

    assert several.count == one.count == len(relation)
    assert several.dtype == one.dtype == dtype
    for name in ("held", "levels", "before", "counts"):
        assert np.array_equal(getattr(several, name)[: one.count], getattr(one, name)[: one.count])
    assert several.find(rows.astype(dtype)).tolist() == one.find(rows.astype(dtype)).tolist()


# --- rows that are no facts (yet, or any more) -----------------------------------------------


@given(rows=row_lists(2, max_size=60), wanted=row_lists(2, max_size=60))
def test_located_rows_are_numbered_but_absent(rows, wanted):
    """Locating gives every row a number without making it a fact."""
    relation = StoredRelation(2, np.int32, counting=True)
    relation.insert(as_rows(rows, 2))
    known = distinct(rows)

    numbers = relation.locate(as_rows(wanted, 2))

    expected = distinct([*known, *wanted])
    assert [expected[number] for number in numbers.tolist()] == wanted
    assert matches_oracle(relation, known)
    assert (relation.levels[len(known) : relation.count] == ABSENT).all()
    assert not relation.counts[len(known) : relation.count].any()


def test_a_full_relation_does_not_grow_for_rows_it_has():
    """Locating deleted rows again makes room only if others are located with them."""
    relation = StoredRelation(1, np.int32, counting=True)
    rows = as_rows([(value,) for value in range(relation.rows.shape[0])], 1)
    relation.insert(rows)
    relation.track_deletions()
    relation.levels[[0, 1]] = ABSENT
    relation.hide_absent_rows(np.array([0, 1]))
    full = relation.rows

    again = relation.locate(as_rows([(1,), (0,)], 1))
    is_same = relation.rows is full
    other = relation.locate(as_rows([(1,), (-1,)], 1))

    assert again.tolist() == [1, 0]
    assert is_same
    assert other.tolist() == [1, len(rows)]


def test_shown_rows_are_facts_until_they_are_hidden():
    """A located row can be shown; hiding takes those away that have no level."""
    relation = StoredRelation(1, np.int32, counting=True)
    relation.insert(as_rows([(1,)], 1))
    numbers = relation.locate(as_rows([(2,), (3,)], 1))
    relation.show_rows(numbers)
    shown = as_tuples(relation.live_rows())
    relation.levels[numbers[0]] = 4

    relation.hide_absent_rows(numbers)

    assert shown == [(1,), (2,), (3,)]
    assert as_tuples(relation.live_rows()) == [(1,), (2,)]
    assert len(relation) == 2


# --- several threads -------------------------------------------------------------------------


@given(
    batches=st.lists(st.tuples(st.integers(0, 2), row_lists(2, small_codes, max_size=60)), max_size=8),
    input_rows=row_lists(2, small_codes, max_size=20),
    counting=st.booleans(),
)
def test_shared_insertion_leaves_no_holes(batches, input_rows, counting):
    """Blocks of row numbers of several threads become one range, each row counted in full."""
    relation = StoredRelation(2, np.int32, counting=counting)
    relation.insert(as_rows(input_rows, 2), first_new=relation.NEVER)
    before = relation.count
    blocks = relation.open_shared(3)

    for thread, batch in batches:
        if not relation.room_shared(len(batch), 3):
            relation.reserve_shared(len(batch), blocks)
        assert relation.room_shared(len(batch), 3)
        handled = relation.insert_shared(as_rows(batch, 2), NO_COUNTS, before, blocks[thread])
        assert handled == len(batch)
    relation.close_shared(blocks)

    inserted = [row for _, batch in batches for row in batch]
    old = distinct(input_rows)
    assert as_tuples(relation.rows[:before]) == old
    assert relation.count == len(set(inserted) | set(old))
    assert matches_oracle(relation, distinct([*old, *inserted]))
    if counting:
        found = as_tuples(relation.rows[before : relation.count])
        assert relation.counts[before : relation.count].tolist() == [inserted.count(row) for row in found]


def test_threads_insert_the_same_rows_once():
    """Threads that insert overlapping rows at once make each of them one fact with all derivations."""
    threads, copies = 4, 3
    rows = random_rows(MANY, 2, 60)
    relation = StoredRelation(2, np.int32, counting=True)
    blocks = relation.open_shared(threads)
    relation.reserve_shared(copies * MANY, blocks)

    def work(thread):
        for copy in range(copies):
            shuffled = np.random.default_rng(thread * copies + copy).permutation(rows)
            relation.insert_shared(shuffled, NO_COUNTS, 0, blocks[thread])

    pool = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    relation.close_shared(blocks)

    assert matches_oracle(relation, distinct(as_tuples(rows)))
    assert int(relation.counts[: relation.count].sum()) == threads * copies * MANY


# --- memory ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0,), (3, 2), (1 << 20, 3)])
def test_zeros_are_zero_and_writable(shape):
    """Small and large arrays come zeroed, in the shape and type asked for."""
    array = zeros(shape, np.dtype(np.int64))

    assert array.shape == shape
    assert array.dtype == np.int64
    assert not array.any()
    array[...] = 1
    assert array.all()


def test_enlarged_array_keeps_what_was_used():
    """Enlarging copies the used rows and leaves zeros behind them."""
    array = np.array([[1, 2], [3, 4], [5, 6]], np.int32)

    larger = enlarged(array, 5, 2)

    assert larger.tolist() == [[1, 2], [3, 4], [0, 0], [0, 0], [0, 0]]


def test_appended_rows_are_found_by_all_that_follows():
    """Rows may be appended, then inserted, found and copied as if they had been inserted."""
    rows = as_rows([(number, number + 1) for number in range(300)], 2)
    relation = StoredRelation(2, np.int32)

    relation.append(rows[:100])
    relation.append(rows[100:200])

    for other in (relation.snapshot(), relation.copied(np.int64), relation):
        found = other.find(rows.astype(other.dtype))
        assert list(found[:200]) == list(range(200))
        assert (found[200:] == -1).all()
    assert relation.insert(rows) == 100


def test_threads_close_a_relation_whose_rows_were_appended():
    """Rows that were only appended have no slots; threads that insert nothing leave them alone."""
    relation = StoredRelation(1, np.int32)
    relation.append(np.array([[7], [5]], np.int32))
    blocks = relation.open_shared(2)

    relation.close_shared(blocks)

    assert relation.rows[: relation.count].tolist() == [[7], [5]]


def test_statistics_look_at_a_sample_of_live_rows(monkeypatch):
    """With deleted rows among many, some live ones from all over the relation are enough; never none."""
    monkeypatch.setattr("tidelog.storage.relation._SAMPLED_ROWS", 256)
    rows = [(number % 10, number) for number in range(2_000)]
    relation = StoredRelation(2, np.int32)
    relation.insert(as_rows(rows, 2))
    relation.delete_rows(np.arange(0, 1_000, 2))

    sample = as_tuples(relation.some_rows())

    assert 0 < len(sample) < 400
    assert set(sample) <= set(as_tuples(relation.live_rows()))
    numbers = [number for _, number in sample]
    assert min(numbers) < 100
    assert max(numbers) > 1_900
    relation.delete_rows(np.arange(1, 1_999, 1)[relation.alive[1:1_999] != 0])
    assert as_tuples(relation.some_rows()) == as_tuples(relation.live_rows())
