"""Tries against sorted lists, and interval indexes against all intervals tried one by one."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples, codes, distinct, row_lists, widths
from support.kernel_oracles import oracle_of
from tidelog.storage.intervals import IntervalIndex
from tidelog.storage.trie import Trie, TrieBatch, build_levels, merge_numbers, sort_numbers


def facts_of(batch: TrieBatch) -> list[tuple[int, ...]]:
    """Return the rows that a batch's levels spell out, with repetitions."""

    def below(level: int, place: int) -> list[tuple[int, ...]]:
        first, last = batch.starts[level][place], batch.starts[level][place + 1]
        if level + 1 == len(batch.values):
            return [()] * int(last - first)
        return [
            (int(batch.values[level + 1][c]), *rest)
            for c in range(first, last)
            for rest in below(level + 1, c)
        ]

    return [(int(value), *rest) for place, value in enumerate(batch.values[0]) for rest in below(0, place)]


@oracle_of(sort_numbers)
@given(rows=row_lists(3, max_size=40), columns=st.permutations([0, 1, 2]), dtype=widths)
def test_row_numbers_are_sorted_by_columns(rows, columns, dtype):
    """Any order of columns, both widths, extremes of either sign; equal rows stay as they came."""
    array = as_rows(rows, 3, dtype)
    order = np.array(columns, np.int32)

    numbers = sort_numbers(array, np.arange(len(rows), dtype=np.int32), order)

    assert numbers.tolist() == sorted(range(len(rows)), key=lambda n: [rows[n][c] for c in columns])


@given(st.lists(st.sampled_from([-(2**63), -(2**63) + 1, -1, 0, 1, 2**40, 2**63 - 1]), max_size=12))
def test_wide_codes_are_sorted(codes):
    """Codes of 64 bits are compared whole, also where their differences overflow."""
    numbers = sort_numbers(
        as_rows([(code,) for code in codes], 1, np.int64),
        np.arange(len(codes), dtype=np.int32),
        np.zeros(1, np.int32),
    )

    assert numbers.tolist() == sorted(range(len(codes)), key=codes.__getitem__)


@oracle_of(merge_numbers)
@given(rows=row_lists(2, max_size=40), columns=st.permutations([0, 1]), dtype=widths, data=st.data())
def test_sorted_row_numbers_are_merged(rows, columns, dtype, data):
    """Two sorted lists of rows become one, equal rows of the first before those of the second."""
    cut = data.draw(st.integers(0, len(rows)))

    def by_columns(number):
        return [rows[number][column] for column in columns]

    left, right = sorted(range(cut), key=by_columns), sorted(range(cut, len(rows)), key=by_columns)

    merged = merge_numbers(
        as_rows(rows, 2, dtype),
        np.array(left, np.int32),
        np.array(right, np.int32),
        np.array(columns, np.int32),
    )

    assert merged.tolist() == sorted([*left, *right], key=by_columns)


@oracle_of(build_levels)
@given(
    rows=row_lists(3, max_size=30), columns=st.permutations([0, 1, 2]), depth=st.integers(1, 3), dtype=widths
)
def test_levels_have_each_beginning_once(rows, columns, depth, dtype):
    """A level has the last code of every distinct beginning, and where what is below it begins."""
    columns = columns[:depth]
    total = len(rows)
    order = sorted(range(total), key=lambda number: [rows[number][column] for column in columns])
    paths = [tuple(rows[number][column] for column in columns) for number in order]
    values, starts, counts = (
        np.zeros(depth * total, dtype), np.zeros(depth * (total + 1), np.int32), np.zeros(depth, np.int64)
    )  # fmt: skip

    build_levels(
        as_rows(rows, 3, dtype),
        np.array(order, np.int32),
        np.array(columns, np.int32),
        values,
        starts,
        counts,
    )

    for level in range(depth):
        beginnings = distinct(path[: level + 1] for path in paths)
        below = paths if level == depth - 1 else distinct(path[: level + 2] for path in paths)
        count, first = counts[level], level * (total + 1)
        assert values[level * total : level * total + count].tolist() == [each[-1] for each in beginnings]
        assert starts[first : first + count + 1].tolist() == [
            *(next(n for n, path in enumerate(below) if path[: level + 1] == each) for each in beginnings),
            len(below),
        ]


@given(parts=st.lists(row_lists(2, max_size=12), max_size=8), columns=st.permutations([0, 1]), dtype=widths)
def test_trie_holds_all_rows_however_they_came(parts, columns, dtype):
    """Batches are sorted, cover neighbouring ranges of rows, and are few."""
    rows = [row for part in parts for row in part]
    array = as_rows(rows, 2, dtype)
    trie = Trie(columns)

    count = 0
    for part in parts:
        count += len(part)
        trie.add_rows(array, count)

    assert sorted(row for batch in trie.batches for row in facts_of(batch)) == sorted(
        tuple(row[c] for c in columns) for row in rows
    )
    assert all(facts_of(batch) == sorted(facts_of(batch)) for batch in trie.batches)
    assert [batch.first for batch in trie.batches[1:]] == [batch.last for batch in trie.batches[:-1]]
    assert all(
        len(before) >= 4 * len(after) for before, after in zip(trie.batches, trie.batches[1:], strict=False)
    )


@given(rows=row_lists(2, of=st.integers(0, 3), min_size=1, max_size=30), data=st.data())
def test_values_of_a_level_are_distinct_and_ascend(rows, data):
    """Equal beginnings of rows are stored once."""
    column = data.draw(st.sampled_from([0, 1]))
    trie = Trie((column, 1 - column))

    trie.add_rows(as_rows(rows, 2), len(rows))

    (batch,) = trie.batches
    assert batch.values[0].tolist() == sorted({row[column] for row in rows})
    assert len(batch.values[1]) == len(set(rows))


@given(rows=row_lists(2, min_size=1, max_size=30), data=st.data())
def test_view_holds_its_range(rows, data):
    """A view has every row of its range; a small one cut out of a large batch has no others."""
    first = data.draw(st.integers(0, len(rows) - 1))
    last = data.draw(st.integers(first + 1, len(rows)))
    array = as_rows(rows, 2)
    trie = Trie((0, 1))
    trie.add_rows(array, len(rows))

    batches = trie.view(array, first, last)

    held = {int(number) for batch in batches for number in batch.numbers}
    assert held >= set(range(first, last))
    assert len(held) <= 2 * (last - first)


intervals = st.tuples(st.integers(0, 2), codes, codes, codes).map(
    lambda r: (r[0], min(r[1], r[2]), max(r[1], r[2]), r[3])
)


@settings(max_examples=60)
@given(parts=st.lists(st.lists(intervals, max_size=25), max_size=6), data=st.data())
def test_intervals_that_contain_a_key_are_found_and_deleted(parts, data):
    """However records came and went, a search finds what trying all of them finds."""
    index = IntervalIndex(1, 4)
    kept: set[tuple[int, ...]] = set()
    for part in parts:
        index.add(as_rows(part, 4, np.int64))
        kept.update(part)
        points = data.draw(st.lists(st.tuples(st.integers(0, 2), codes), max_size=5))
        wanted = {r for r in kept if any(g == r[0] and r[1] <= key <= r[2] for g, key in points)}

        hits = index.find(as_rows(points, 2, np.int64))

        assert set(as_tuples(hits.records)) == wanted
        assert len(distinct(as_tuples(hits.records))) == len(wanted)
        if data.draw(st.booleans()):
            index.delete(hits)
            kept -= wanted
