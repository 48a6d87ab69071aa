"""Rows that several threads add to one index, each those of some keys."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples
from support.kernel_oracles import oracle_of
from tidelog.engine.local import morsels
from tidelog.engine.local.workers import Workers
from tidelog.storage import divided
from tidelog.storage import index as index_module
from tidelog.storage.divided import PARTS, Division, append_part, count_parts, order_by_part
from tidelog.storage.index import Index
from tidelog.storage.postings import FREE, FREE_LISTS, LENGTH, NUMBERED, OLD, STAMP, START, TOP

CODES = st.one_of(st.integers(0, 5), st.integers(0, 3000))
BATCHES = st.lists(
    st.lists(st.tuples(CODES, st.integers(0, 3), CODES), max_size=60, unique=True), min_size=1, max_size=4
)


@pytest.fixture(scope="module")
def threads():
    """Threads that share whatever there is, in stretches so short that they often run out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "ROWS_TO_DIVIDE", 1)
        patch.setattr(index_module, "_SMALLEST", 1)
        patch.setattr(divided, "BLOCK", 7)
        patch.setattr(divided, "_STRETCH", 2)
        patch.setattr(morsels, "_RANGES_PER_THREAD", 1)
        workers = Workers(3)
        yield workers
        workers.close()


def contents(index: Index) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
    """Return the entries by key, in their order, and how many of them are old."""
    found = {}
    for group in np.flatnonzero(index.groups[:, LENGTH]):
        posting = index.groups[group]
        start, length = int(posting[START]), int(posting[LENGTH])
        old = length
        if index.boundary >= 0 and posting[STAMP] == index.boundary + 1:
            old = int(posting[OLD])
        key = as_tuples(index.keys_of(np.array([group])))[0]
        found[key] = [
            (*entry, place < old)
            for place, entry in enumerate(as_tuples(index.arena[start : start + length]))
        ]
    return found


@settings(max_examples=60)
@given(
    batches=BATCHES,
    is_numbered=st.booleans(),
    first=st.sampled_from([1, 1 << 30]),
    piece=st.sampled_from([9, 1 << 21]),
)
@pytest.mark.parametrize("key", [(0,), (1,), (0, 1), (2, 0)])
def test_an_index_is_the_same_whoever_adds_the_rows(threads, key, batches, is_numbered, first, piece):
    """Entries, their order and the groups of the last rows, after each batch, trimmed or not."""
    rows = as_rows([row for batch in batches for row in batch], 3)
    alone, together = (Index(key, 3, np.int32, is_numbered=is_numbered) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "_ROWS_TO_COUNT", first)
        patch.setattr(index_module, "_PIECE_TO_DIVIDE", piece)
        patch.setattr(index_module, "_BYTES_TO_TRIM", 0)
        count = 0
        for batch in batches:
            count += len(batch)
            for index in (alone, together):
                index.touched_groups()
            alone.add_rows(rows, count)
            together.add_rows(rows, count, share=threads.share)

            assert contents(together) == contents(alone)
            assert together.rows_indexed == alone.rows_indexed
            assert touched_keys(together) == touched_keys(alone)
            if len(batch) % 3 == 0:
                together.trim()


def touched_keys(index: Index) -> set[tuple[int, ...]] | None:
    """Return the keys of the rows added last."""
    groups = index.touched_groups()
    if groups is None:
        return None
    keys = as_tuples(index.keys_of(groups))
    assert len(set(keys)) == len(keys)
    return set(keys)


@given(batches=BATCHES)
def test_levels_are_added_to_by_threads(threads, batches):
    """A level above an index has the same keys of it, whoever adds them."""
    rows = as_rows([row for batch in batches for row in batch], 3)
    alone, together = (Index((0, 1), 3, np.int32, is_numbered=False) for _ in range(2))
    count = 0
    for batch in batches:
        count += len(batch)
        alone.add_rows(rows, count)
        together.add_rows(rows, count, share=threads.share)

        for index in (alone, together):
            index.level((1,))
        assert leads_to(together) == leads_to(alone)


def leads_to(index: Index) -> dict[tuple[int, ...], set[tuple[int, ...]]]:
    """Return the keys of an index by those of its level."""
    level = index.levels[1,]
    found = defaultdict(set)
    for key, entries in contents(level).items():
        for *_, group, _ in entries:
            found[key].update(as_tuples(index.keys_of(np.array([group]))))
    return found


@given(groups=st.lists(st.integers(0, 5000), min_size=1, max_size=100))
def test_a_division_has_each_row_once_in_the_part_of_its_group(threads, groups):
    """The rows of a group stay in their order, and no two parts have the same group."""
    numbers = np.array(groups, np.int64)

    division = Division(numbers, threads.share)

    assert sorted(division.order.tolist()) == list(range(len(groups)))
    assert division.numbers.tolist() == numbers[division.order].tolist()
    owners = defaultdict(set)
    for part, where in enumerate(division.parts):
        for group in division.numbers[where].tolist():
            owners[group].add(part)
            places = division.order[where][division.numbers[where] == group].tolist()
            assert places == sorted(places)
    assert all(len(parts) == 1 for parts in owners.values())


def part_of(group: int) -> int:
    """Return the part of a group: sixteen neighbours share one."""
    return group // 16 % PARTS


@oracle_of(count_parts, order_by_part)
@given(groups=st.lists(st.integers(0, 5000), max_size=100), first=st.integers(0, 9))
def test_groups_are_ordered_by_part(groups, first):
    """Parts are counted; groups and their positions are written part by part, each part in its order."""
    numbers, counts = np.array(groups, np.int64), np.zeros(PARTS, np.int64)
    count_parts(numbers, counts)
    assert counts.tolist() == [sum(part_of(group) == part for group in groups) for part in range(PARTS)]

    places = np.cumsum(counts) - counts
    ordered, order = np.zeros_like(numbers), np.zeros_like(numbers)
    order_by_part(numbers, first, places, ordered, order)

    expected = sorted(enumerate(groups, first), key=lambda each: part_of(each[1]))
    assert list(zip(order.tolist(), ordered.tolist(), strict=True)) == expected


@oracle_of(append_part)
@given(
    groups=st.lists(st.integers(0, 4), max_size=60),
    first=st.integers(0, 5),
    limit=st.integers(0, 70),
    data=st.data(),
)
def test_a_part_is_appended_as_far_as_its_stretch_goes(groups, first, limit, data):
    """Entries are in the order of the part, none lies beyond the limit, and the rest follows later."""
    order = data.draw(st.permutations(range(len(groups))))
    rows = as_rows([(10 * row,) for row in range(first + len(groups))], 1)
    postings, arena = np.zeros((5, NUMBERED), np.int64), np.full((300, 2), -7, np.int32)
    state = np.full(FREE + FREE_LISTS, -1, np.int64)
    state[:FREE] = 0
    exact, rest = np.zeros(0, np.uint8), np.zeros(1, np.int32)
    numbers, places = np.array(groups, np.int64), np.array(order, np.int64)

    stopped = append_part(
        postings, arena, state, exact, rows, rest, numbers, places, first, 0, limit, -1
    )  # fmt: skip
    assert state[TOP] <= limit
    assert (arena[limit:] == -7).all()
    done = append_part(
        postings, arena, state, exact, rows, rest, numbers, places, first, stopped, len(arena), -1
    )  # fmt: skip

    assert done == len(groups)
    for group in range(5):
        start, length = int(postings[group, START]), int(postings[group, LENGTH])
        expected = [first + place for place, each in zip(order, groups, strict=True) if each == group]
        assert as_tuples(arena[start : start + length]) == [(10 * row, row) for row in expected]
