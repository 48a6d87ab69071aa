"""Bindings and the shortest posting each of them has."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.kernel_oracles import oracle_of
from tidelog.storage.choose import NO_ALTERNATIVE, note_shorter

LENGTHS = st.lists(st.lists(st.integers(0, 4), min_size=6, max_size=6), min_size=1, max_size=4)


@oracle_of(note_shorter)
@given(lengths=LENGTHS, costs=st.lists(st.integers(1, 3), min_size=4, max_size=4))
def test_the_shortest_posting_is_chosen(lengths, costs):
    """By the cost of its entries; of equals the first; none where a posting is empty.

    There is no further look where one has at most one entry.
    """
    count = 6
    chosen = np.full(count, NO_ALTERNATIVE, np.int32)
    shortest = np.full(count, np.iinfo(np.int64).max)
    left = np.arange(count)

    for number, each in enumerate(lengths):
        # Group 0 has no entry, group n has n; an empty posting may also be one that is not there.
        groups = np.array([[0, length, length] for length in range(5)], np.int64)
        found = np.array([each[row] or -(row % 2) for row in left], np.int64)
        left = left[: note_shorter(left, found, groups, costs[number], number, shortest, chosen)]

    for row in range(count):
        seen = []
        for each in lengths:
            seen.append(each[row] * costs[len(seen)])
            if each[row] <= 1:
                break
        best = seen.index(min(seen)) if min(seen) else NO_ALTERNATIVE
        assert (chosen[row], shortest[row], row in left) == (best, min(seen), each[row] > 1)
