"""Ranges of keys, summarised from pages and a tree."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.kernel_oracles import oracle_of
from tidelog.storage.range_pages import (
    GREATEST,
    LEAST,
    PAGE,
    Pages,
    RangeSummaries,
    change_pages,
    range_summary,
    sum_all,
)

Entry = tuple[int, int]
KEYS = st.one_of(st.integers(0, 9), st.sampled_from([LEAST, GREATEST, -1]))
ENTRIES = st.lists(st.tuples(KEYS, st.one_of(st.integers(-3, 3), st.sampled_from([LEAST, GREATEST]))))


def summary(entries: list[Entry], low: int, high: int) -> tuple[int, int, int, int]:
    """Return what a range must give."""
    values = [value for key, value in entries if low <= key <= high]
    total = (sum(values) + (1 << 63)) % (1 << 64) - (1 << 63)
    return len(values), total, min(values, default=GREATEST), max(values, default=LEAST)


def changed(numbers: RangeSummaries, entries: list[Entry], diff: int) -> None:
    """Insert or delete entries."""
    array = np.array(entries, np.int64).reshape(-1, 2)
    keys, values = (np.ascontiguousarray(array[:, column]) for column in range(2))
    numbers.change(keys, values, diff)
    used, held = numbers._pages.used.tolist()
    assert held == numbers._pages.sizes[:used].sum()


def made(entries: list[Entry]) -> RangeSummaries:
    """Return entries that were there from the beginning."""
    array = np.array(entries, np.int64).reshape(-1, 2)
    return RangeSummaries(array[:, 0].copy(), array[:, 1].copy())


@oracle_of(change_pages, range_summary, sum_all)
@given(inserted=st.lists(st.tuples(st.integers(0, 9), st.integers(-3, 3)), max_size=40), data=st.data())
def test_kernels_keep_small_pages(inserted: list[Entry], data: st.DataObject) -> None:
    """Pages of four entries are split until there is no room for another; what was done is right."""
    shapes = [(8, 4)] * 3 + [(8,)] * 4 + [(16,)] * 4 + [(2,)]
    pages = Pages(*(np.zeros(shape, np.int64) for shape in shapes))
    pages.used[0] = 1
    sum_all(pages)
    keys, values = (np.array([entry[place] for entry in inserted], np.int64) for place in range(2))

    done = change_pages(pages, keys, values, 1)

    assert done == len(inserted) or pages.used[0] == 8
    held = inserted[:done]
    deleted = data.draw(st.permutations(held))[: done // 2]
    keys, values = (np.array([entry[place] for entry in deleted], np.int64) for place in range(2))
    assert change_pages(pages, keys, values, -1) == len(deleted)
    for entry in deleted:
        held.remove(entry)
    low, high = data.draw(st.tuples(st.integers(0, 9), st.integers(0, 9)))
    found = np.empty(4, np.int64)
    range_summary(pages, low, high, found)
    assert tuple(found.tolist()) == summary(held, low, high)


@given(before=ENTRIES, inserted=ENTRIES, low=KEYS, high=KEYS, data=st.data())
def test_every_range_is_that_of_the_entries(
    before: list[Entry], inserted: list[Entry], low: int, high: int, data: st.DataObject
) -> None:
    """Whatever was inserted and deleted, a range has the count, sum and extremes of what it holds."""
    numbers = made(before)
    assert numbers.summary(low, high) == summary(before, low, high)
    changed(numbers, inserted, 1)
    held = before + inserted
    assert numbers.summary(low, high) == summary(held, low, high)

    deleted = data.draw(st.permutations(held))[: data.draw(st.integers(0, len(held)))]
    changed(numbers, deleted, -1)

    for entry in deleted:
        held.remove(entry)
    assert numbers.summary(low, high) == summary(held, low, high)
    assert numbers.summary(LEAST, GREATEST) == summary(held, LEAST, GREATEST)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), spread=st.sampled_from([3, 1000]))
def test_pages_split_grow_and_are_given_back(seed: int, spread: int) -> None:
    """Many entries take many pages; ranges stay right while they come and go."""
    random = np.random.default_rng(seed)
    entries = [(int(key), int(value)) for key, value in random.integers(-spread, spread, (6 * PAGE, 2))]
    numbers = made(entries[: PAGE // 2])
    held = entries[: PAGE // 2]

    for start in range(PAGE // 2, len(entries), PAGE):
        changed(numbers, entries[start : start + PAGE], 1)
        held = held + entries[start : start + PAGE]
        low, high = sorted(int(each) for each in random.integers(-spread, spread, 2))
        assert numbers.summary(low, high) == summary(held, low, high)
    for start in range(0, len(entries), PAGE):
        changed(numbers, entries[start : start + PAGE], -1)
        held = entries[start + PAGE :]
        assert numbers.summary(-spread // 2, spread // 2) == summary(held, -spread // 2, spread // 2)
