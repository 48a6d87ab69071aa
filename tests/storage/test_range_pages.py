"""Ranges of keys, summarised from pages and a tree."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.kernel_oracles import oracle_of
from tidelog.storage.kernel import Int64s
from tidelog.storage.range_pages import (
    GREATEST,
    LEAST,
    PAGE,
    RangeSummaries,
    change_pages,
    empty_pages,
    range_summaries,
    range_summary,
    sum_all,
)

# A group, a key and a value.
Entry = tuple[int, int, int]
GROUPS = st.integers(0, 2)
KEYS = st.one_of(st.integers(0, 9), st.sampled_from([LEAST, GREATEST, -1]))
VALUES = st.one_of(st.integers(-3, 3), st.sampled_from([LEAST, GREATEST]))
ENTRIES = st.lists(st.tuples(GROUPS, KEYS, VALUES))
SMALL_ENTRIES = st.lists(st.tuples(GROUPS, st.integers(0, 9), st.integers(-3, 3)), max_size=40)
RANGES = st.lists(st.tuples(st.integers(0, 3), KEYS, KEYS), min_size=1, max_size=4)


def summary(entries: list[Entry], group: int, low: int, high: int) -> tuple[int, int, int, int]:
    """Return what a range must give."""
    values = [value for own, key, value in entries if own == group and low <= key <= high]
    total = (sum(values) + (1 << 63)) % (1 << 64) - (1 << 63)
    return len(values), total, min(values, default=GREATEST), max(values, default=LEAST)


def columns(entries: list[Entry]) -> tuple[Int64s, Int64s, Int64s]:
    """Return groups, keys and values as arrays."""
    groups, keys, values = (np.array([entry[place] for entry in entries], np.int64) for place in range(3))
    return groups, keys, values


def changed(numbers: RangeSummaries, entries: list[Entry], diff: int) -> None:
    """Insert or delete entries."""
    numbers.change(*columns(entries), diff)
    used, held = numbers._pages.used.tolist()
    assert held == numbers._pages.sizes[:used].sum()


def made(entries: list[Entry]) -> RangeSummaries:
    """Return entries that were there from the beginning."""
    return RangeSummaries(*columns(entries))


@oracle_of(change_pages, range_summary, range_summaries, sum_all)
@given(inserted=SMALL_ENTRIES, ranges=RANGES, data=st.data())
def test_kernels_keep_small_pages(
    inserted: list[Entry], ranges: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    """Pages of four entries are split until there is no room for another; what was done is right."""
    pages = empty_pages(8, 4)
    pages.used[0] = 1
    sum_all(pages)

    done = change_pages(pages, *columns(inserted), 1)

    assert done == len(inserted) or pages.used[0] == 8
    held = inserted[:done]
    deleted = data.draw(st.permutations(held))[: done // 2]
    assert change_pages(pages, *columns(deleted), -1) == len(deleted)
    for entry in deleted:
        held.remove(entry)
    expected = [summary(held, *each) for each in ranges]
    found = np.empty(4, np.int64)
    range_summary(pages, *ranges[0], found)
    assert tuple(found.tolist()) == expected[0]
    all_found = np.empty((len(ranges), 4), np.int64)
    range_summaries(pages, *columns(ranges), all_found)
    assert list(map(tuple, all_found.tolist())) == expected


@given(before=ENTRIES, inserted=ENTRIES, ranges=RANGES, data=st.data())
def test_every_range_is_that_of_the_entries(
    before: list[Entry], inserted: list[Entry], ranges: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    """Whatever was inserted and deleted, a range has the count, sum and extremes of what it holds."""
    numbers = made(before)
    assert numbers.summary(*ranges[0]) == summary(before, *ranges[0])
    changed(numbers, inserted, 1)
    held = before + inserted
    assert numbers.summary(*ranges[0]) == summary(held, *ranges[0])

    deleted = data.draw(st.permutations(held))[: data.draw(st.integers(0, len(held)))]
    changed(numbers, deleted, -1)

    for entry in deleted:
        held.remove(entry)
    found = numbers.summaries(*columns(ranges)).tolist()
    assert list(map(tuple, found)) == [summary(held, *each) for each in ranges]
    assert numbers.summary(1, LEAST, GREATEST) == summary(held, 1, LEAST, GREATEST)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), spread=st.sampled_from([3, 1000]))
def test_pages_split_grow_and_are_given_back(seed: int, spread: int) -> None:
    """Many entries take many pages; ranges stay right while they come and go."""
    random = np.random.default_rng(seed)
    rows = np.column_stack([random.integers(0, 3, 6 * PAGE), random.integers(-spread, spread, (6 * PAGE, 2))])
    entries: list[Entry] = [(group, key, value) for group, key, value in rows.tolist()]
    numbers = made(entries[: PAGE // 2])
    held = entries[: PAGE // 2]

    for start in range(PAGE // 2, len(entries), PAGE):
        changed(numbers, entries[start : start + PAGE], 1)
        held = held + entries[start : start + PAGE]
        low, high = sorted(int(each) for each in random.integers(-spread, spread, 2))
        assert numbers.summary(1, low, high) == summary(held, 1, low, high)
    for start in range(0, len(entries), PAGE):
        changed(numbers, entries[start : start + PAGE], -1)
        held = entries[start + PAGE :]
        assert numbers.summary(1, -spread // 2, spread // 2) == summary(held, 1, -spread // 2, spread // 2)
