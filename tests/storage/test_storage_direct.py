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
    has_row,
    join_direct,
)
from tidelog.storage.join import EQUAL, LESS, UNEQUAL

NO_CONSTANTS = np.empty(0, np.int64)
NO_FILTERS = np.empty((0, 3), np.int32)


def rows_by_code(rows, column):
    """Return for each code of a column the numbers of its rows, in order."""
    found = {}
    for number, row in enumerate(rows):
        found.setdefault(row[column], []).append(number)
    return found


def made_index(rows, column, arity, dtype):
    """Return a direct index of rows, and the rows as an array."""
    index, stored = DirectIndex(column, arity), as_rows(rows, arity, dtype)
    index.add_rows(stored, len(rows))
    return index, stored


small_rows = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 90)), max_size=30, unique=True)


@oracle_of(enter_rows)
@given(rows=small_rows, column=st.integers(0, 1), pieces=st.integers(1, 4), dtype=widths)
def test_rows_are_found_by_their_code(rows, column, pieces, dtype):
    """An index that grows in pieces has the rows of each code, and knows how many codes there are."""
    index, stored = DirectIndex(column, 2), as_rows(rows, 2, dtype)
    expected = rows_by_code(rows, column)

    for piece in range(1, pieces + 1):
        index.add_rows(stored, len(rows) * piece // pieces)

    assert {code: index.rows_of(code).tolist() for code in expected} == expected
    assert index.rows_of(91).tolist() == index.rows_of(-1).tolist() == []
    assert (index.rows_indexed, index.group_count) == (len(rows), len(expected))


@given(rows=small_rows, again=st.integers(0, 30), dtype=widths)
def test_rows_that_are_entered_twice_are_there_once(rows, again, dtype):
    """One index may have two names in a kernel, which enter the same rows one after the other."""
    index, stored = made_index(rows, 0, 2, dtype)

    entered = enter_rows(index.newest, index.earlier, stored, 0, min(again, len(rows)), len(rows))

    assert entered == 0
    expected = rows_by_code(rows, 0)
    assert {code: index.rows_of(code).tolist() for code in expected} == expected


@oracle_of(join_direct)
@given(data=st.data(), rows=small_rows, dtype=widths, room=st.integers(1, 5))
def test_joins_are_those_of_a_loop(data, rows, dtype, room):
    """A join writes a row per binding and visible row in view that passes, however small the buffer."""
    column = data.draw(st.integers(0, 1))
    index, stored = made_index(rows, column, 2, dtype)
    bindings = data.draw(st.lists(st.tuples(st.integers(-2, 95), st.integers(0, 6)), max_size=8))
    lowest, highest = sorted(data.draw(st.tuples(st.integers(0, 31), st.integers(0, 31))))
    alive = data.draw(st.none() | st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    comparison = data.draw(st.sampled_from([None, EQUAL, UNEQUAL, LESS]))
    filters = NO_FILTERS if comparison is None else np.array([[comparison, 1, 3 - column]], np.int32)
    holds = {EQUAL: int.__eq__, UNEQUAL: int.__ne__, LESS: int.__lt__}.get(comparison, lambda *_: True)
    expected = sorted(
        (binding[1], row[1 - column], number, 7)
        for binding in bindings
        for number, row in enumerate(rows)
        if row[column] == binding[0] and lowest <= number < highest
        if (alive is None or alive[number]) and holds(binding[1], row[1 - column])
    )

    state, out, found = np.zeros(2, np.int64), np.empty((room, 4), dtype), []
    batch, seven = as_rows(bindings, 2, dtype), np.array([7], np.int64)
    shown = np.array([] if alive is None else alive, np.uint8)
    sources = np.array([1, 3 - column, 4, -1], np.int32)
    arrays = index.newest, index.earlier, stored, shown
    while state[0] < len(bindings):
        written = join_direct(batch, 0, seven, *arrays, lowest, highest, filters, sources, state, out)
        found += as_tuples(out[:written])

    assert sorted(found) == expected


@oracle_of(has_row)
@given(data=st.data(), rows=small_rows, dtype=widths)
def test_presence_is_that_of_a_loop(data, rows, dtype):
    """A key is present if one of its rows in view is visible."""
    index, _ = made_index(rows, 0, 2, dtype)
    lowest, highest = sorted(data.draw(st.tuples(st.integers(0, 31), st.integers(0, 31))))
    alive = data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    codes = list(range(-2, 9))

    result = np.empty(len(codes), np.uint8)
    batch, shown = as_rows([(code,) for code in codes], 1, dtype), np.array(alive, np.uint8)
    has_row(batch, 0, NO_CONSTANTS, index.newest, index.earlier, shown, lowest, highest, result)

    numbers = rows_by_code(rows, 0)
    assert result.tolist() == [
        # Without any row nothing says what is visible.
        any(lowest <= number < highest and alive[number] for number in numbers.get(code, []))
        for code in codes
    ]


@pytest.mark.parametrize("code", [-1, 1 << 30])
def test_codes_that_are_not_dense_are_refused(code):
    """A code that would need a huge array is not entered; the index says that it is not useful."""
    index, stored = made_index([(1, 2), (2, 3)], 0, 2, np.int64)
    more = np.concatenate([stored, as_rows([(code, 1)], 2, np.int64)])

    index.add_rows(more, 3)

    assert index.rows_indexed == 2
    assert not index.is_useful
    assert direct_index(0, more, 3) is None


def test_many_more_rows_than_codes_are_not_entered():
    """Where rows must share keys, because there are fewer codes than that, none is entered to find out."""
    rows = as_rows([(number % 10, number) for number in range(500)], 2, np.int32)
    index = DirectIndex(0, 2)

    index.add_rows(rows, len(rows))

    assert index.rows_indexed == 0
    assert not index.is_useful
    assert direct_index(0, rows, len(rows)) is None


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


def test_postings_of_a_function_become_direct_when_the_evaluation_ends():
    """Postings that an evaluation built are given up where a direct index is smaller."""
    relation = StoredRelation(2, np.int32, counting=True)
    relation.insert(as_rows([(number, number // 50) for number in range(200)], 2, np.int32))
    relation.lookup((0,))
    relation.lookup((1,))

    relation.trim()

    assert set(relation.direct) == {(0,)}
    assert set(relation.indexes) == {(1,)}


@pytest.mark.parametrize("extra", [[(3, number) for number in range(500)], [(1 << 30, 1)]])
def test_an_index_that_is_no_longer_useful_becomes_postings(extra):
    """Many rows with one key, or a code far beyond the others, lead to postings with all rows."""
    relation = evaluated([(number, 0) for number in range(100)])
    relation.lookup((0,))

    relation.insert(as_rows(extra, 2, np.int32))
    relation.index_new_rows()

    assert not relation.direct
    assert relation.indexes[0,].rows_indexed == relation.count


@given(rows=row_lists(2))
def test_statistics_of_a_run_without_epochs_are_unchanged(rows):
    """Relations of a single run never get direct indexes: nothing numbers their rows."""
    relation = StoredRelation(2, np.int32)
    relation.insert(as_rows(rows, 2, np.int32))

    relation.lookup((0,))

    assert not relation.direct


@oracle_of(count_rows)
@given(rows=small_rows, dtype=widths, most=st.integers(1, 4))
def test_rows_of_a_key_are_counted_up_to_a_limit(rows, dtype, most):
    """Every row of a key counts, and many are as good as the limit."""
    index, _ = made_index(rows, 0, 2, dtype)
    codes = list(range(-2, 9))

    counts = np.empty(len(codes), np.int64)
    batch = as_rows([(code,) for code in codes], 1, dtype)
    count_rows(batch, 0, NO_CONSTANTS, index.newest, index.earlier, most, counts)

    numbers = rows_by_code(rows, 0)
    assert counts.tolist() == [min(len(numbers.get(code, [])), most) for code in codes]
