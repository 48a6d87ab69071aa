"""Kernels of interval indexes, against trying all intervals one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples
from support.kernel_oracles import oracle_of
from tidelog.storage.intervals import (
    IntervalBatch,
    IntervalIndex,
    build_ends,
    delete_records,
    find_records,
    sorted_once,
)
from tidelog.storage.leapfrog_join import HIGHEST, LOWEST

# Few keys, so that intervals nest and touch, and the ends of all codes.
keys = st.integers(0, 9) | st.sampled_from([int(LOWEST), int(LOWEST) + 1, -1, int(HIGHEST)])
records = st.tuples(st.integers(0, 2), keys, keys, st.integers(0, 2)).map(
    lambda record: (record[0], *sorted(record[1:3]), record[3])
)
points = st.tuples(st.integers(0, 2), keys)


def batch_of(drawn):
    """Return records as a batch of one group column, sorted."""
    return IntervalBatch(sorted_once(as_rows(drawn, 4, np.int64)), 1)


def expected_ends(batch):
    """Return the largest end below every node of the tree, of records that are not deleted."""
    leaves = len(batch.ends) // 2
    live = [
        end if not gone else int(LOWEST)
        for end, gone in zip(batch.records[:, 2].tolist(), batch.deleted, strict=True)
    ]
    tree = [int(LOWEST)] * leaves + [
        max([int(LOWEST), *live[8 * leaf : 8 * leaf + 8]]) for leaf in range(leaves)
    ]
    for node in range(leaves - 1, 0, -1):
        tree[node] = max(tree[2 * node], tree[2 * node + 1])
    return tree[1:]


@oracle_of(build_ends, delete_records)
@given(drawn=st.lists(records, max_size=60), data=st.data())
def test_every_part_has_its_largest_end(drawn, data):
    """The tree has the largest end of what is not deleted, when it is built and after deletions."""
    batch = batch_of(drawn)
    count = len(batch.records)
    first = data.draw(st.sets(st.integers(0, count - 1))) if count else set()
    later = data.draw(st.lists(st.integers(0, count - 1))) if count else []
    batch.deleted[sorted(first)] = 1

    build_ends(batch.records, 2, batch.deleted, batch.ends)
    built, wanted = batch.ends[1:].tolist(), expected_ends(batch)
    delete_records(batch.records, 2, batch.deleted, batch.ends, np.array(later, np.int64))

    assert built == wanted
    assert np.flatnonzero(batch.deleted).tolist() == sorted(first | set(later))
    assert batch.ends[1:].tolist() == expected_ends(batch)


@oracle_of(find_records)
@given(
    drawn=st.lists(records, max_size=60),
    wanted=st.lists(points, max_size=8),
    room=st.integers(1, 5),
    data=st.data(),
)
def test_records_that_contain_a_point_are_found(drawn, wanted, room, data):
    """Each point meets the live intervals of its group around it; a search goes on where its room ended."""
    batch = batch_of(drawn)
    count = len(batch.records)
    batch.delete(np.array(sorted(data.draw(st.sets(st.integers(0, count - 1)))) if count else [], np.int64))
    found, counts, done = np.empty((room, 2), np.int64), np.zeros(1, np.int64), 0
    array = as_rows(wanted, 2, np.int64)

    while (done := find_records(batch.records, batch.deleted, batch.ends, array, done, found, counts)) < len(
        wanted
    ):
        found = np.concatenate([found, np.empty_like(found)])

    held = [(number, row) for number, row in enumerate(as_tuples(batch.records)) if not batch.deleted[number]]
    assert as_tuples(found[: counts[0]]) == [
        (place, number)
        for place, (group, key) in enumerate(wanted)
        for number, row in held
        if row[0] == group and row[1] <= key <= row[2]
    ]


@given(
    parts=st.lists(st.lists(records, max_size=20), max_size=3),
    wanted=st.lists(points, max_size=8),
    limit=st.integers(0, 40),
)
def test_a_search_gives_up_at_its_limit(parts, wanted, limit):
    """All records around the points are found, unless there are more pairs of both than the limit."""
    index = IntervalIndex(1, 4)
    for drawn in parts:
        index.add(as_rows(drawn, 4, np.int64))
    stored = [row for batch in index.batches for row in as_tuples(batch.records)]
    pairs = [row for group, key in wanted for row in stored if row[0] == group and row[1] <= key <= row[2]]

    found = index.find_until(as_rows(wanted, 2, np.int64), limit)

    assert (found is None) == (len(pairs) > limit)
    assert found is None or set(as_tuples(found)) == set(pairs)
