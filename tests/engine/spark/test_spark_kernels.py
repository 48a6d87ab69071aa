"""Kernels that say which partner a row belongs to, against the same arithmetic on Python's integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples, row_lists, widths
from support.kernel_oracles import oracle_of
from tidelog.engine.spark.kernels import WHOLE_ROW, owners, sort_by_owner, split_own, take_own

columns = st.integers(WHOLE_ROW, 1)
partner_counts = st.integers(1, 5)


def mixed(state):
    """Return a word with its bits spread."""
    state = (state ^ state >> 32) * 0x9E3779B97F4A7C15 % 2**64
    return state ^ state >> 29


def owner_of(row, column, partners):
    """Return the partner of a row."""
    if column == WHOLE_ROW:
        state = len(row)
        for code in row:
            state = mixed(state ^ code % 2**64)
        digest = mixed(state % 2**32)
    else:
        digest = mixed(mixed(row[column] % 2**64))
    return (digest >> 32) % partners


@oracle_of(owners)
@given(rows=row_lists(2, max_size=30), column=columns, partners=partner_counts, dtype=widths)
def test_rows_have_one_owner(rows, column, partners, dtype):
    """The owner depends on the codes alone, not on their width, so that all partners agree."""
    found = np.full(len(rows), -7, np.int32)

    owners(as_rows(rows, 2, dtype), column, partners, found)

    assert found.tolist() == [owner_of(row, column, partners) for row in rows]


@oracle_of(take_own, split_own)
@given(rows=row_lists(2, max_size=30), column=columns, partners=partner_counts, dtype=widths, data=st.data())
def test_own_rows_are_taken_in_order(rows, column, partners, dtype, data):
    """A partner takes its rows, the rest goes to the others, both in order."""
    partner = data.draw(st.integers(0, partners - 1))
    taken, own, others = (np.empty((len(rows), 2), dtype) for _ in range(3))

    count = take_own(as_rows(rows, 2, dtype), column, partners, partner, taken)
    split = split_own(as_rows(rows, 2, dtype), column, partners, partner, own, others)

    expected = [row for row in rows if owner_of(row, column, partners) == partner]
    assert count == split == len(expected)
    assert as_tuples(taken[:count]) == as_tuples(own[:split]) == expected
    assert as_tuples(others[: len(rows) - split]) == [
        row for row in rows if owner_of(row, column, partners) != partner
    ]


@oracle_of(sort_by_owner)
@given(rows=row_lists(2, max_size=30), column=columns, partners=partner_counts, dtype=widths)
def test_rows_are_sorted_by_owner(rows, column, partners, dtype):
    """The rows of each partner stand side by side and in order."""
    order, ends = np.full(len(rows), -7, np.int64), np.full(partners, -7, np.int64)

    sort_by_owner(as_rows(rows, 2, dtype), column, partners, order, ends)

    owned = [owner_of(row, column, partners) for row in rows]
    assert order.tolist() == sorted(range(len(rows)), key=owned.__getitem__)
    assert ends.tolist() == [sum(owner <= partner for owner in owned) for partner in range(partners)]
