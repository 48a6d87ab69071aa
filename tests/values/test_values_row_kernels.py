"""Kernels that keep rows of codes, and that order records by depth, against dictionaries and recursion."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples, distinct, row_lists
from support.kernel_oracles import oracle_of
from tidelog.values.nesting import raise_heights
from tidelog.values.row_kernels import FREE, fill_row_table, intern_rows

codes = st.integers(0, 3) | st.sampled_from([-1, 2**32, 2**32 + 1, -(2**63), 2**63 - 1])


@oracle_of(intern_rows, fill_row_table)
@given(data=st.data(), arity=st.integers(0, 3))
def test_equal_rows_have_one_place(data, arity):
    """Rows get places in the order they are met, also in a full table; a larger table has the same places."""
    batches = data.draw(st.lists(row_lists(arity, of=codes, max_size=20), max_size=3))
    every = [row for batch in batches for row in batch]
    expected = distinct(every)
    table = np.full(1 << len(expected).bit_length(), FREE, np.int32)
    hashes, contents = np.zeros(len(expected), np.uint32), np.zeros((len(expected), arity), np.int64)
    places, count = [], 0

    for batch in batches:
        written = np.full(len(batch), -7, np.int64)
        count = intern_rows(as_rows(batch, arity, np.int64), table, hashes, contents, count, written)
        places.extend(written.tolist())
    larger = np.full(4 * table.size, FREE, np.int32)
    fill_row_table(larger, hashes, count)
    again = np.full(len(every), -7, np.int64)
    after = intern_rows(as_rows(every, arity, np.int64), larger, hashes, contents, count, again)

    assert as_tuples(contents[:count]) == expected
    assert [expected[place] for place in places] == every
    assert (after, again.tolist()) == (count, places)


@oracle_of(raise_heights)
@given(count=st.integers(0, 7), data=st.data())
def test_owners_are_higher_than_what_they_hold(count, data):
    """A height is one more than that of the highest child; what holds itself is never settled."""
    places = st.integers(0, count - 1)
    edges = data.draw(st.lists(st.tuples(places, places), max_size=10)) if count else []
    heights = np.zeros(count, np.int64)

    settled = raise_heights(
        heights,
        np.array([owner for owner, _ in edges], np.int64),
        np.array([child for _, child in edges], np.int64),
    )

    def height(place, above=()):
        """Return the height of a place, None if something is inside itself."""
        if place in above:
            return None
        below = [height(child, (*above, place)) for owner, child in edges if owner == place]
        return None if None in below else max((each + 1 for each in below), default=0)

    expected = [height(place) for place in range(count)]
    assert settled == count - expected.count(None)
    assert [own for own, each in zip(heights.tolist(), expected, strict=True) if each is not None] == [
        each for each in expected if each is not None
    ]
