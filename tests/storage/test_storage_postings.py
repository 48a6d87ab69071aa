"""Kernels of postings: groups by key and their entries, against dictionaries of lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples, distinct, row_lists, widths
from support.kernel_oracles import oracle_of
from tidelog.storage.lookup import find_key
from tidelog.storage.postings import (
    FREE,
    FREE_LISTS,
    LENGTH,
    NUMBERED,
    OLD,
    STAMP,
    START,
    TOP,
    TOUCHED,
    UNNUMBERED,
    append_entries,
    count_entries,
    dense_numbers,
    fill_entries,
    number_groups,
    place_postings,
    trim_postings,
)
from tidelog.values.memory import enlarged

NOT_EXACT = np.zeros(0, np.uint8)
key_columns = st.sets(st.integers(0, 2), min_size=0).flatmap(lambda chosen: st.permutations(sorted(chosen)))


def full_slots(keys):
    """Return the smallest empty table for so many keys: as good as full once they are in it."""
    return np.zeros(1 << len(keys).bit_length(), np.uint32)


@oracle_of(number_groups, find_key)
@given(
    rows=row_lists(3, max_size=60),
    columns=key_columns,
    probes=row_lists(3, max_size=10),
    dtype=widths,
    data=st.data(),
)
def test_keys_get_numbers_as_they_appear(rows, columns, probes, dtype, data):
    """Equal keys share a number, new ones get the next, also in a full table; each is found again."""
    keys = [tuple(row[column] for column in columns) for row in rows]
    expected = distinct(keys)
    cut = data.draw(st.integers(0, len(rows)))
    slots, stored = full_slots(expected), np.zeros((len(expected), len(columns)), dtype)
    array, chosen, numbers = (
        as_rows(rows, 3, dtype),
        np.array(columns, np.int32),
        np.zeros(len(rows), np.int64),
    )

    known = number_groups(slots, stored, array, chosen, 0, cut, 0, numbers[:cut])
    known = number_groups(slots, stored, array, chosen, cut, len(rows), known, numbers[cut:])

    assert as_tuples(stored[:known]) == expected
    assert [expected[number] for number in numbers] == keys
    places = np.arange(len(columns), dtype=np.int32)
    for probe in [*keys, *(tuple(row[column] for column in columns) for row in probes)]:
        found = find_key(slots, stored, places, np.array(probe, np.int64))
        assert found == (expected.index(probe) if probe in expected else -1)


@oracle_of(dense_numbers)
@given(rows=row_lists(2, of=st.integers(0, 2**31 - 1), max_size=20), dtype=widths, data=st.data())
def test_dense_codes_are_their_own_numbers(rows, dtype, data):
    """The codes of a column in a range of rows are written as they are."""
    first = data.draw(st.integers(0, len(rows)))
    last = data.draw(st.integers(first, len(rows)))
    numbers = np.zeros(last - first, np.int64)

    dense_numbers(as_rows(rows, 2, dtype), 1, first, last, numbers)

    assert numbers.tolist() == [row[1] for row in rows[first:last]]


@oracle_of(append_entries)
@given(
    batches=st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), max_size=40), max_size=4),
    arity=st.integers(0, 2),
    dtype=widths,
    is_numbered=st.booleans(),
)
def test_postings_hold_what_was_appended(batches, arity, dtype, is_numbered):
    """Entries of a group stay in order while postings move; no two postings share a place of the arena."""
    rest = np.arange(arity, dtype=np.int32)
    is_numbered = is_numbered or arity == 0
    groups = np.zeros((5, NUMBERED), np.int64) if is_numbered else np.zeros((5, UNNUMBERED), np.int32)
    state = np.full(FREE + FREE_LISTS, -1, np.int64)
    state[:FREE] = 0
    arena = np.full((1, arity + is_numbered), -7, dtype)
    expected = {group: [] for group in range(5)}
    rows = []

    for batch in batches:
        first = len(rows)
        rows.extend((value, -value) for _, value in batch)
        numbers, position = np.array([group for group, _ in batch], np.int64), 0
        state[TOUCHED] = 0
        while position < len(batch):
            position = append_entries(
                groups, arena, state, NOT_EXACT, as_rows(rows, 2, dtype), rest, numbers, first, position,
                -1 if is_numbered else first,
            )  # fmt: skip
            if position < len(batch):
                arena = enlarged(arena, arena.shape[0] + 3, arena.shape[0])
        if not is_numbered:
            touched = numbers[: state[TOUCHED]].tolist()
            assert touched == list(dict.fromkeys(group for group, _ in batch))
        older = {group: len(entries) for group, entries in expected.items()}
        for place, (group, value) in enumerate(batch):
            expected[group].append(((value, -value)[:arity], first + place))

    taken = []
    for group, entries in expected.items():
        start, length = (int(groups[group, part]) for part in (START, LENGTH))
        assert as_tuples(arena[start : start + length]) == [
            (*rest_of, number) if is_numbered else rest_of for rest_of, number in entries
        ]
        if not is_numbered and batches and groups[group, STAMP] == first + 1:
            assert groups[group, OLD] == older[group]
        taken.extend(range(start, start + (1 << (length - 1).bit_length() if length else 0)))
    assert len(set(taken)) == len(taken)
    assert state[TOP] <= arena.shape[0]


@oracle_of(count_entries, place_postings, fill_entries)
@given(
    batch=st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), max_size=60),
    later=st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), max_size=20),
    dtype=widths,
    is_numbered=st.booleans(),
    are_exact=st.booleans(),
)
def test_first_rows_are_placed_where_appending_would_end(batch, later, dtype, is_numbered, are_exact):
    """Each posting has the length and the capacity that appending gives it, so that rows can be appended.

    Those that are exact have no room for them and move.
    """
    rest = np.arange(1, dtype=np.int32)
    groups = np.zeros((5, NUMBERED), np.int64) if is_numbered else np.zeros((5, UNNUMBERED), np.int32)
    state = np.full(FREE + FREE_LISTS, -1, np.int64)
    state[:FREE] = 0
    rows = as_rows([(value,) for _, value in (*batch, *later)], 1, dtype)
    numbers = np.array([group for group, _ in batch], np.int64)
    boundary = -1 if is_numbered else 0

    count_entries(groups, numbers)
    counted = groups[:, LENGTH].tolist()
    places = np.empty(5, np.int64)
    top = place_postings(groups, places, are_exact)
    assert groups[:, LENGTH].tolist() == [0] * 5
    arena = np.full((top + 1000, 1 + is_numbered), -7, dtype)
    state[TOP] = top
    groups[:, START] = places
    fill_entries(groups, arena, state, rows, rest, numbers.copy(), 0, boundary)

    assert counted == [sum(group == number for group, _ in batch) for number in range(5)]
    assert groups[:, LENGTH].tolist() == counted
    capacities = [1 << (length - 1).bit_length() for length in counted if length]
    assert top == sum(counted if are_exact else capacities)
    if not is_numbered:
        assert state[TOUCHED] == len(set(numbers.tolist()))

    state[TOUCHED] = 0
    following = np.array([group for group, _ in later], np.int64)
    boundary = -1 if is_numbered else len(batch)
    exact = np.full(5 if are_exact else 0, 1, np.uint8)
    done = append_entries(groups, arena, state, exact, rows, rest, following, len(batch), 0, boundary)
    assert done == len(later)
    if are_exact:
        assert {number for number in range(5) if not exact[number]} == set(following.tolist())
    for number in range(5):
        start, length = (int(groups[number, part]) for part in (START, LENGTH))
        together = [
            (value, place) for place, (group, value) in enumerate((*batch, *later)) if group == number
        ]
        expected = together if is_numbered else [(value,) for value, _ in together]
        assert as_tuples(arena[start : start + length]) == expected


@oracle_of(trim_postings)
@given(
    batches=st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(-9, 9)), max_size=30), min_size=1, max_size=4
    ),
    dtype=widths,
)
def test_trimmed_postings_lie_together_and_can_grow(batches, dtype):
    """Nothing lies between them, they have their entries, and rows that are appended later find room."""
    rest = np.arange(1, dtype=np.int32)
    groups, state = np.zeros((6, NUMBERED), np.int64), np.full(FREE + FREE_LISTS, -1, np.int64)
    state[:FREE] = 0
    arena, exact = np.full((4000, 2), -7, dtype), NOT_EXACT
    rows, expected = [], {group: [] for group in range(6)}

    for batch in batches:
        first = len(rows)
        for place, (group, value) in enumerate(batch):
            expected[group].append((value, first + place))
        rows.extend((value,) for _, value in batch)
        numbers = np.array([group for group, _ in batch], np.int64)
        append_entries(groups, arena, state, exact, as_rows(rows, 1, dtype), rest, numbers, first, 0, -1)
        used = np.flatnonzero(groups[:, LENGTH])
        top = trim_postings(groups, arena, used[np.argsort(groups[used, START])])
        state[FREE:], state[TOP], exact = -1, top, np.ones(6, np.uint8)

        assert top == len(rows)
        for group, entries in expected.items():
            start, length = (int(groups[group, part]) for part in (START, LENGTH))
            assert as_tuples(arena[start : start + length]) == entries
