"""Kernels over levels and counts, each against a loop over plain lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples, distinct, row_lists, widths
from support.kernel_oracles import oracle_of
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import (
    TENTATIVE,
    TENTATIVE_COUNT,
    TO_COUNT,
    TOUCHED,
    UNCOUNTED,
    first_touched,
    lose_derivations,
    relax,
    take_offers,
)
from tidelog.storage.judge_row import IMPROVED

ROWS = 6
row_numbers = st.lists(st.integers(0, ROWS - 1), max_size=20)
levels_of_rows = st.lists(st.integers(0, 5), min_size=ROWS, max_size=ROWS)


def int32s(values):
    """Return an array of annotations."""
    return np.array(values, np.int32)


def int64s(values):
    """Return an array of row numbers."""
    return np.array(values, np.int64)


@given(rows=row_lists(2, max_size=60), more=row_lists(2, max_size=60), dtype=widths)
def test_located_rows_have_one_number_each(rows, more, dtype):
    """Known rows keep their number and unknown ones get the next."""
    stored = StoredRelation(2, dtype, counting=True)

    numbers, again = stored.locate(as_rows(rows, 2, dtype)), stored.locate(as_rows(more, 2, dtype))

    expected = distinct([*rows, *more])
    assert as_tuples(stored.rows[: stored.count]) == expected
    assert [expected[number] for number in (*numbers, *again)] == [*rows, *more]


@oracle_of(lose_derivations)
@given(
    counts=st.lists(st.integers(0, 4), min_size=ROWS, max_size=ROWS),
    levels=levels_of_rows,
    data=st.data(),
)
def test_rows_without_derivations_are_reported(counts, levels, data):
    """A row is reported once: when its last derivation is lost, or the first of one that was not counted."""
    pool = [row for row, count in enumerate(counts) for _ in range(count or (1 if levels[row] == 0 else 3))]
    lost = data.draw(st.permutations(pool))[: data.draw(st.integers(0, len(pool)))]
    array, waiting = int32s(counts), int64s([-1] * len(lost))

    found = lose_derivations(array, int32s(levels), int64s(lost), waiting)

    for row, count in enumerate(counts):
        uncounted = TO_COUNT if levels[row] > 0 and row in lost else UNCOUNTED
        assert array[row] == (count - lost.count(row) if count else uncounted)
    assert sorted(waiting[:found]) == [row for row in range(ROWS) if row in lost and array[row] <= 0]


@oracle_of(relax)
@given(
    levels=levels_of_rows,
    offers=st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, 5)), max_size=25),
)
def test_relaxing_keeps_the_smallest_level_and_its_derivations(levels, offers):
    """A smaller level waits with its count, an equal one adds to the one that counts, others are lost."""
    counts, waiting = int32s([1] * ROWS), np.zeros((ROWS, 2), np.int32)
    tentative, tentative_counts = waiting[:, TENTATIVE], waiting[:, TENTATIVE_COUNT]
    counts[-1] = UNCOUNTED
    improved = int64s([-1] * len(offers))

    found = relax(
        int32s(levels), counts, waiting, int64s([row for row, _ in offers]),
        int32s([offered for _, offered in offers]), improved,
    )  # fmt: skip

    for row, level in enumerate(levels):
        levels_offered = [offered for other, offered in offers if other == row]
        best = min([level, *levels_offered])
        if best < level:
            assert tentative[row] == best + 1
            assert tentative_counts[row] == levels_offered.count(best)
        else:
            assert (tentative[row], tentative_counts[row]) == (0, 0)
        before = levels_offered[
            : next(
                (place for place, offered in enumerate(levels_offered) if offered < level),
                len(levels_offered),
            )
        ]
        assert counts[row] == (1 + before.count(level) if row < ROWS - 1 else UNCOUNTED)
    smaller = {row for row, level in enumerate(levels) if any(o == row and la < level for o, la in offers)}
    assert set(improved[:found].tolist()) == smaller


@oracle_of(first_touched)
@given(touched=st.lists(row_numbers, max_size=3))
def test_rows_are_touched_for_the_first_time_once(touched):
    """A row that was touched before is not reported again, and no row loses its status."""
    marks, known = np.full(ROWS, IMPROVED, np.uint8), []

    for numbers in touched:
        fresh = int64s([-1] * len(numbers))
        found = first_touched(marks, int64s(numbers), fresh)
        assert fresh[:found].tolist() == [row for row in distinct(numbers) if row not in known]
        known.extend(numbers)

    assert marks.tolist() == [IMPROVED + TOUCHED * (row in known) for row in range(ROWS)]


@oracle_of(take_offers)
@given(tentative=levels_of_rows, numbers=row_numbers, offer=st.integers(1, 5))
def test_offers_are_taken_once(tentative, numbers, offer):
    """Rows that still have the offer are taken once each; their offer is negated."""
    offers, taken = np.zeros((ROWS, 2), np.int32), int64s([-1] * len(numbers))
    array = offers[:, TENTATIVE]
    array[:] = tentative

    found = take_offers(offers, int64s(numbers), offer, taken)

    expected = [row for row in distinct(numbers) if tentative[row] == offer]
    assert taken[:found].tolist() == expected
    assert array.tolist() == [-value if row in expected else value for row, value in enumerate(tentative)]
