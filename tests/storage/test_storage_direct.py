"""Direct indexes: the rows of every key, against the postings of the same rows and plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples, row_lists, widths
from support.kernel_oracles import oracle_of
from tidelog.storage import StoredRelation
from tidelog.storage.direct import (
    DirectIndex,
    count_rows,
    direct_index,
    enter_rows,
    find_newest,
    has_row,
    join_direct,
)
from tidelog.storage.join import EQUAL, LESS, UNEQUAL

NO_CONSTANTS = np.empty(0, np.int64)
NO_FILTERS = np.empty((0, 3), np.int32)


ARITY = 3
# One column is found by its code if codes are dense, several by their hash.
keys = st.sampled_from([(), (0,), (1,), (2,), (0, 1), (1, 2), (2, 0), (0, 1, 2)])
# All codes are dense, or in one row one is not: then they are found by their hash, too.
codes = st.integers(0, 6), st.integers(0, 90), st.sampled_from([0, 1, 2, -3, 1 << 30])
small_rows = st.lists(st.tuples(*codes), max_size=30, unique=True)


def rows_by_key(rows, key):
    """Return for each key the numbers of its rows, in order."""
    found = {}
    for number, row in enumerate(rows):
        found.setdefault(tuple(row[column] for column in key), []).append(number)
    return found


def made_index(rows, key, dtype):
    """Return a direct index of rows, and the rows as an array."""
    index, stored = DirectIndex(key, ARITY), as_rows(rows, ARITY, dtype)
    index.add_rows(stored, len(rows))
    return index, stored


def found_newest(index, stored, batch):
    """Return what `find_newest` finds for bindings that have the columns of a row."""
    found = np.empty(len(batch), np.int64)
    table = index.slots, stored, index.key_columns, index.is_dense
    find_newest(batch, NO_CONSTANTS, index.key_columns, *table, found)
    return found


def some_bindings(data, rows):
    """Return bindings with the columns of a row, many of which have the key of one."""
    others = st.tuples(st.integers(-2, 8), st.integers(-2, 95), st.sampled_from([0, 1, -3, 5, 1 << 30]))
    some = st.sampled_from(rows) | others if rows else others
    return data.draw(st.lists(some, max_size=40))


@oracle_of(enter_rows)
@given(rows=small_rows, key=keys, pieces=st.integers(1, 4), dtype=widths)
def test_rows_are_found_by_their_key(rows, key, pieces, dtype):
    """An index that grows in pieces has the rows of each key, and knows how many keys there are."""
    index, stored = DirectIndex(key, ARITY), as_rows(rows, ARITY, dtype)
    expected = rows_by_key(rows, key)

    for piece in range(1, pieces + 1):
        index.add_rows(stored, len(rows) * piece // pieces)

    assert {each: index.rows_of(stored, each).tolist() for each in expected} == expected
    if key:
        assert index.rows_of(stored, [91] * len(key)).tolist() == []
        assert index.rows_of(stored, [-1] * len(key)).tolist() == []
    assert (index.rows_indexed, index.group_count) == (len(rows), len(expected))


@given(rows=small_rows, key=keys, again=st.integers(0, 30), dtype=widths)
def test_rows_that_are_entered_twice_are_there_once(rows, key, again, dtype):
    """One index may have two names in a kernel, which enter the same rows one after the other."""
    index, stored = made_index(rows, key, dtype)

    arrays = index.slots, index.earlier, stored, index.key_columns
    entered = enter_rows(*arrays, index.is_dense, min(again, len(rows)), len(rows))

    assert entered == 0
    expected = rows_by_key(rows, key)
    assert {each: index.rows_of(stored, each).tolist() for each in expected} == expected


@oracle_of(find_newest)
@given(data=st.data(), rows=small_rows, key=keys, dtype=widths)
def test_the_newest_row_of_a_key_is_found(data, rows, key, dtype):
    """A binding finds the last row that has its key."""
    index, stored = made_index(rows, key, dtype)
    bindings = some_bindings(data, rows)

    found = found_newest(index, stored, as_rows(bindings, ARITY, dtype))

    numbers = rows_by_key(rows, key)
    assert found.tolist() == [
        numbers.get(tuple(binding[column] for column in key), [-1])[-1] for binding in bindings
    ]


@oracle_of(join_direct)
@given(data=st.data(), rows=small_rows, key=keys, dtype=widths, room=st.integers(1, 5))
def test_joins_are_those_of_a_loop(data, rows, key, dtype, room):
    """A join writes a row per binding and visible row in view that passes, however small the buffer."""
    index, stored = made_index(rows, key, dtype)
    bindings = some_bindings(data, rows)
    lowest, highest = sorted(data.draw(st.tuples(st.integers(0, 31), st.integers(0, 31))))
    alive = data.draw(st.none() | st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    comparison = data.draw(st.sampled_from([None, EQUAL, UNEQUAL, LESS]))
    filters = NO_FILTERS if comparison is None else np.array([[comparison, 1, ARITY + 2]], np.int32)
    holds = {EQUAL: int.__eq__, UNEQUAL: int.__ne__, LESS: int.__lt__}.get(comparison, lambda *_: True)
    expected = sorted(
        (binding[1], row[2], number, 7)
        for binding in bindings
        for number, row in enumerate(rows)
        if all(row[column] == binding[column] for column in key) and lowest <= number < highest
        if (alive is None or alive[number]) and holds(binding[1], row[2])
    )

    state, out, found = np.zeros(2, np.int64), np.empty((room, 4), dtype), []
    batch, seven = as_rows(bindings, ARITY, dtype), np.array([7], np.int64)
    shown = np.array([] if alive is None else alive, np.uint8)
    sources = np.array([1, ARITY + 2, 2 * ARITY, -1], np.int32)
    newest = found_newest(index, stored, batch)
    view = shown, lowest, highest
    while state[0] < len(bindings):
        written = join_direct(
            batch, newest, seven, index.earlier, stored, *view, filters, sources, state, out
        )
        found += as_tuples(out[:written])

    assert sorted(found) == expected


@oracle_of(has_row)
@given(data=st.data(), rows=small_rows, key=keys, dtype=widths)
def test_presence_is_that_of_a_loop(data, rows, key, dtype):
    """A key is present if one of its rows in view is visible."""
    index, stored = made_index(rows, key, dtype)
    lowest, highest = sorted(data.draw(st.tuples(st.integers(0, 31), st.integers(0, 31))))
    alive = data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    bindings = some_bindings(data, rows)

    result = np.empty(len(bindings), np.uint8)
    found = found_newest(index, stored, as_rows(bindings, ARITY, dtype))
    has_row(found, index.earlier, np.array(alive, np.uint8), lowest, highest, result)

    numbers = rows_by_key(rows, key)
    assert result.tolist() == [
        any(
            lowest <= number < highest and alive[number]
            for number in numbers.get(tuple(binding[column] for column in key), [])
        )
        for binding in bindings
    ]


@pytest.mark.parametrize("code", [-1, 1 << 30])
def test_codes_that_are_not_dense_are_found_by_their_hash(code):
    """A code that would need a huge array makes the index one of slots, with all rows."""
    index, stored = made_index([(1, 2, 3), (2, 3, 4)], (0,), np.int64)
    more = np.concatenate([stored, as_rows([(code, 1, 1)], 3, np.int64)])
    assert index.is_dense

    index.add_rows(more, 3)

    assert not index.is_dense
    assert [index.rows_of(more, [each]).tolist() for each in (1, 2, code)] == [[0], [1], [2]]
    assert index.nbytes < 1 << 12


@pytest.mark.parametrize("key", [(0,), (0, 1)])
def test_room_that_was_reserved_is_there_after_the_next_rows(key):
    """A kernel may enter as many rows as it asked room for, without a larger array."""
    stored = as_rows([(number << 20, number, 1) for number in range(3000)], ARITY, np.int64)
    index = DirectIndex(key, ARITY)
    index.add_rows(stored, 100)

    index.reserve(2900)
    index.add_rows(stored, 100)
    before = index.slots, index.earlier
    index.add_rows(stored, 3000)

    assert index.slots is before[0]
    assert index.earlier is before[1]
    assert index.rows_of(stored, stored[2999, list(key)]).tolist() == [2999]


def test_many_more_rows_than_codes_are_not_entered():
    """Where rows must share keys, because there are fewer codes than that, none is entered to find out."""
    rows = as_rows([(number % 10, number) for number in range(500)], 2, np.int32)
    index = DirectIndex((0,), 2)

    index.add_rows(rows, len(rows))

    assert index.rows_indexed == 0
    assert not index.is_useful
    assert direct_index((0,), rows, len(rows)) is None


def evaluated(rows, arity=2):
    """Return a relation as a session has it after an evaluation."""
    relation = StoredRelation(arity, np.int32, counting=True)
    relation.insert(as_rows(rows, arity, np.int32))
    relation.trim()
    return relation


def test_a_function_gets_a_direct_index():
    """Where every key has one row, look-ups read rows; who asks for postings gets them, for good."""
    relation = evaluated([(number, number % 7) for number in range(200)])

    assert isinstance(relation.lookup((0,)), DirectIndex)
    assert not isinstance(relation.lookup((1,)), DirectIndex)
    assert not isinstance(relation.index((0,)), DirectIndex)
    assert not isinstance(relation.lookup((0,)), DirectIndex)
    assert not relation.direct


def test_a_key_of_several_columns_gets_a_direct_index():
    """Where few facts share all columns of a key, or it has none, look-ups read rows, whatever the codes."""
    relation = evaluated([(x << 16, y, x + y) for x in range(30) for y in range(30)], 3)

    assert isinstance(relation.lookup((0, 1)), DirectIndex)
    assert isinstance(relation.lookup((1, 0, 2)), DirectIndex)
    assert not isinstance(relation.lookup((0,)), DirectIndex)
    assert isinstance(relation.lookup(()), DirectIndex)


def test_postings_with_a_level_stay():
    """Levels lead to groups, which a direct index does not have."""
    relation = evaluated([(x, y, x + y) for x in range(30) for y in range(30)], 3)
    relation.lookup((0, 1))

    level = relation.index((0, 1)).level((0,))

    assert level.rows_indexed == 900
    assert not isinstance(relation.lookup((0, 1)), DirectIndex)
    assert not relation.direct


def test_postings_of_a_function_become_direct_when_the_evaluation_ends():
    """Postings that an evaluation built are given up where a direct index is smaller."""
    relation = StoredRelation(2, np.int32, counting=True)
    relation.insert(as_rows([(number, number // 50) for number in range(200)], 2, np.int32))
    relation.lookup((0,))
    relation.lookup((1,))

    relation.trim()

    assert set(relation.direct) == {(0,)}
    assert set(relation.indexes) == {(1,)}


@pytest.mark.parametrize("step", [1, 1 << 20])
def test_an_index_that_is_no_longer_useful_becomes_postings(step):
    """Many rows with one key lead to postings with all rows, whether its codes are dense or not."""
    relation = evaluated([(number * step, 0) for number in range(100)])
    relation.lookup((0,))

    relation.insert(as_rows([(3 * step, number) for number in range(500)], 2, np.int32))
    relation.index_new_rows()

    assert not relation.direct
    assert relation.indexes[0,].rows_indexed == relation.count


def test_a_few_keys_with_most_rows_get_postings_at_once():
    """If most rows share a key, following them one by one takes long, however many other keys there are."""
    relation = evaluated([(number, 0) for number in range(3000)] + [(7, number) for number in range(1, 500)])

    assert not isinstance(relation.lookup((0,)), DirectIndex)


@given(rows=row_lists(2))
def test_statistics_of_a_run_without_epochs_are_unchanged(rows):
    """Relations of a single run never get direct indexes: nothing numbers their rows."""
    relation = StoredRelation(2, np.int32)
    relation.insert(as_rows(rows, 2, np.int32))

    relation.lookup((0,))

    assert not relation.direct


@oracle_of(count_rows)
@given(data=st.data(), rows=small_rows, key=keys, dtype=widths, most=st.integers(1, 4))
def test_rows_of_a_key_are_counted_up_to_a_limit(data, rows, key, dtype, most):
    """Every row of a key counts, and many are as good as the limit."""
    index, stored = made_index(rows, key, dtype)
    bindings = some_bindings(data, rows)

    counts = np.empty(len(bindings), np.int64)
    count_rows(found_newest(index, stored, as_rows(bindings, ARITY, dtype)), index.earlier, most, counts)

    numbers = rows_by_key(rows, key)
    found = [numbers.get(tuple(binding[column] for column in key), []) for binding in bindings]
    assert counts.tolist() == [min(len(each), most) for each in found]
