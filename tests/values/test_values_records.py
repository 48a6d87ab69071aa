"""Rows of codes and their codes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.values import NIL, Records


@given(st.integers(0, 4).flatmap(lambda w: st.lists(st.lists(st.integers(-2, 2), min_size=w, max_size=w))))
def test_equal_rows_have_one_code(rows):
    """Rows get dense codes from 1, equal rows the same one, and come back."""
    width = len(rows[0]) if rows else 3
    records = Records()

    codes = records.intern(np.array(rows, dtype=np.int64).reshape(len(rows), width))

    expected = {tuple(row): code for code, row in enumerate(dict.fromkeys(map(tuple, rows)), start=1)}
    assert codes.tolist() == [expected[tuple(row)] for row in rows]
    assert len(records) == len(expected) + 1
    assert records.unpack(codes, width).tolist() == rows
    assert [records.row(code) for code in codes.tolist()] == rows


def test_rows_of_different_width_differ():
    """Width is part of a row: [1], [1, 0] and [] are three records."""
    records = Records()

    codes = [records.code_of(row) for row in ([1], [1, 0], [], [1])]

    assert codes == [1, 2, 3, 1]
    assert records.widths(np.array([NIL, 1, 2, 3])).tolist() == [-1, 1, 2, 0]


def test_branches_are_the_first_fields():
    """The first field of rows of any width can be asked for at once."""
    records = Records()
    codes = [records.code_of(row) for row in ([7], [8, 0], [9, 0, 0], [7, 1])]

    assert records.branches(np.array(codes)).tolist() == [7, 8, 9, 7]


def test_many_rows_keep_their_codes_while_the_table_grows():
    """Growing moves rows, never codes; all 64 bits of a field count."""
    records = Records()
    rows = np.stack([np.arange(5000) << 40, np.arange(5000)[::-1]], axis=1)

    first = [records.intern(part) for part in np.array_split(rows, 37)]
    again = records.intern(rows)

    assert again.tolist() == np.concatenate(first).tolist() == list(range(1, 5001))
    assert (records.unpack(again, 2) == rows).all()


def test_a_code_of_another_width_is_our_mistake():
    """Unpacking with a wrong width trips an assertion."""
    records = Records()
    code = records.code_of([1, 2])

    with pytest.raises(AssertionError):
        records.unpack(np.array([code]), 3)


@given(st.lists(st.lists(st.integers(-2, 2), max_size=3)), st.lists(st.lists(st.integers(-2, 2), max_size=3)))
def test_rows_appended_to_other_records_keep_their_codes(early, late):
    """Rows that came since a code have the same codes in other records they are appended to."""
    records, copy = Records(), Records()
    for row in early:
        records.code_of(row)
        copy.code_of(row)
    known = len(records)
    for row in late:
        records.code_of(row)

    copy.append(*records.rows_from(known))

    assert len(copy) == len(records)
    assert [copy.row(code) for code in range(1, len(copy))] == [
        records.row(code) for code in range(1, len(records))
    ]
    assert [copy.code_of(row) for row in [*early, *late]] == [records.code_of(row) for row in [*early, *late]]
    assert copy.code_of([9, 9, 9]) == len(records)


@given(
    batches=st.lists(st.lists(st.lists(st.integers(0, 2), max_size=2), max_size=8), min_size=3, max_size=3)
)
def test_forgotten_rows_leave_nothing_behind(batches):
    """After rows are forgotten, others get their codes as if they had never been there."""
    records, other = Records(), Records()
    first, second, third = batches
    for row in first:
        assert records.code_of(row) == other.code_of(row)
    count = len(records)
    for row in second:
        records.code_of(row)

    records.forget(count)

    assert [records.code_of(row) for row in third] == [other.code_of(row) for row in third]
    assert [array.tolist() for array in records.rows_from(0)] == [a.tolist() for a in other.rows_from(0)]
