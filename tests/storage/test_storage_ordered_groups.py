"""The least key of each group, against sorting what is there."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, distinct
from support.kernel_oracles import oracle_of
from tidelog.storage.ordered_groups import Heaps, OrderedGroups, change_entries, least_entries, merge_heaps

GROUPS = 3
keys = st.integers(-4, 4) | st.sampled_from([-(2**63), 2**63 - 1])


def heaps_of(rows, groups=0):
    """Return heaps without entries in them."""
    zeros = [np.zeros(len(rows), np.int64) for _ in range(3)]
    return Heaps(rows, *zeros, np.zeros(len(rows), np.uint8), np.full(groups, -1, np.int64))


def members(root, left, right):
    """Return the entries below a root."""
    return [] if root < 0 else [root, *members(left[root], left, right), *members(right[root], left, right)]


def is_heap(root, rows, left, right):
    """Say whether no entry is less than the one above it."""
    return all(
        rows[below, 1] >= rows[entry, 1]
        for entry in members(root, left, right)
        for below in (left[entry], right[entry])
        if below >= 0
    )


@oracle_of(merge_heaps)
@given(one=st.lists(keys, max_size=12), two=st.lists(keys, max_size=12))
def test_merged_heaps_hold_all_entries(one, two):
    """Two heaps become one with the entries of both, the least on top; an empty one changes nothing."""
    rows = as_rows([(0, key) for key in [*one, *two]], 2, np.int64)
    heaps, roots = heaps_of(rows), [-1, -1]
    left, right = heaps.left, heaps.right
    left[:] = right[:] = -1
    for entry in range(len(rows)):
        side = int(entry >= len(one))
        roots[side] = int(merge_heaps(heaps, roots[side], entry))

    root = int(merge_heaps(heaps, *roots))

    assert sorted(members(root, left, right)) == list(range(len(rows)))
    assert is_heap(root, rows, left, right)
    assert root < 0 or rows[root, 1] == min([*one, *two])


@st.composite
def changes(draw):
    """Draw batches of (group, key, diff) that never delete more than there is."""
    held, batches = Counter(), []
    for _ in range(draw(st.integers(0, 5))):
        batch = []
        for _ in range(draw(st.integers(0, 8))):
            place = (draw(st.integers(0, GROUPS - 1)), draw(keys))
            if +held and draw(st.booleans()):
                place = draw(st.sampled_from(sorted(+held)))
            diff = draw(st.integers(-held[place], 2))
            held[place] += diff
            batch.append((*place, diff))
        batches.append(batch)
    return batches


@oracle_of(change_entries, least_entries)
@given(batches=changes(), data=st.data())
def test_groups_know_their_least_key(batches, data):
    """After any insertions and deletions the least key of each group is found, -1 for an empty group."""
    entries = distinct((group, key) for batch in batches for group, key, _ in batch)
    heaps = heaps_of(as_rows(entries, 2, np.int64), GROUPS)
    held = Counter()

    for batch in batches:
        numbers = np.array([entries.index((group, key)) for group, key, _ in batch], np.int64)
        diffs = np.array([diff for _, _, diff in batch], np.int64)
        change_entries(heaps, numbers, diffs)
        for group, key, diff in batch:
            held[group, key] += diff
        asked = data.draw(st.lists(st.integers(0, GROUPS - 1)))
        found = np.empty(len(asked), np.int64)
        least_entries(heaps, np.array(asked, np.int64), found)
        for group, entry in zip(asked, found.tolist(), strict=True):
            left_over = [key for (other, key), number in held.items() if other == group and number > 0]
            assert (entry < 0) == (not left_over)
            assert entry < 0 or entries[entry] == (group, min(left_over))


def test_a_key_that_comes_back_is_found_again():
    """A key that was deleted, forgotten on top of its heap and inserted again counts."""
    groups = OrderedGroups()
    groups.reserve(1)
    zero = np.zeros(1, np.int64)
    for diff in (1, -1):
        groups.change(zero, np.array([3]), np.array([diff]))
        groups.change(zero, np.array([5]), np.array([1]))
        groups.least(zero)

    groups.change(zero, np.array([3]), np.array([1]))

    assert groups.least(zero).tolist() == [3]
