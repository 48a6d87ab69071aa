"""Indexes: the posting of every key, against a dictionary from keys to rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import WIDTHS, as_rows, as_tuples, random_rows, row_lists, widths
from support.kernel_oracles import oracle_of
from tidelog.storage import StoredRelation
from tidelog.storage.index import Index
from tidelog.storage.join import find_groups
from tidelog.storage.kernel import IS_COMPILED
from tidelog.storage.postings import LENGTH, START, TOP, code_range

NO_CONSTANTS = np.empty(0, np.int64)
MANY = 30_000 if IS_COMPILED else 600


def expected_postings(rows, key):
    """Return, for each key, its rows in order as (other columns..., row number)."""
    postings = {}
    for number, row in enumerate(rows):
        rest = tuple(code for column, code in enumerate(row) if column not in key)
        postings.setdefault(tuple(row[column] for column in key), []).append((*rest, number))
    return postings


def found_posting(index, probe):
    """Return the posting of one key as the kernels read it, None without a group."""
    batch = as_rows([probe], len(probe), index.keys.dtype)
    found = np.empty(1, np.int64)
    sources = np.arange(len(probe), dtype=np.int32)
    find_groups(batch, NO_CONSTANTS, sources, index.slots, index.keys, index.groups, index.is_dense, found)
    if found[0] < 0:
        return None
    start, length = (int(index.groups[found[0], part]) for part in (START, LENGTH))
    return as_tuples(index.arena[start : start + length])


def matches_oracle(index, rows):
    """Say whether the index has exactly the postings that the rows have."""
    expected = expected_postings(rows, index.key)
    return all(
        found_posting(index, probe) == posting for probe, posting in expected.items()
    ) and index.statistics() == (len(rows), len(expected))


@pytest.fixture(params=[1, 1 << 12], ids=["first rows are counted", "appended"], scope="module")
def rows_to_count(request):
    """Let the first rows of an index be counted before they are placed, or not, and in small pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tidelog.storage.index._ROWS_TO_COUNT", request.param)
        patch.setattr("tidelog.storage.index._PIECE", 64)
        yield


@pytest.mark.usefixtures("rows_to_count")
@oracle_of(find_groups)
@given(data=st.data(), dtype=widths)
def test_postings_hold_the_rows_of_their_key_in_order(data, dtype):
    """However rows arrive, each key leads to its rows, old ones first; other keys lead nowhere."""
    arity = data.draw(st.integers(0, 3))
    key = tuple(sorted(data.draw(st.sets(st.integers(0, arity - 1))))) if arity else ()
    batches = data.draw(st.lists(row_lists(arity, max_size=80), max_size=3))
    probes = data.draw(row_lists(len(key), max_size=10))
    index = Index(key, arity, dtype)
    rows = []

    for batch in batches:
        rows.extend(batch)
        index.add_rows(as_rows(rows, arity, dtype), len(rows))

    assert matches_oracle(index, rows)
    expected = expected_postings(rows, key)
    assert [found_posting(index, probe) for probe in probes] == [expected.get(probe) for probe in probes]


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("key", [(0,), (1, 2), (2, 0)])
def test_postings_move_as_they_grow(dtype, key):
    """Keys with many rows keep all of them while postings move and their places are used again."""
    rows = random_rows(MANY, 3, 12, dtype=dtype)
    index = Index(key, 3, dtype)
    for count in (MANY // 100, MANY // 10, MANY):
        index.add_rows(rows, count)

    assert matches_oracle(index, as_tuples(rows))


def test_places_that_postings_leave_are_used_again():
    """An arena is at most a small factor larger than what it holds."""
    rows = as_rows([(number % 4, number) for number in range(MANY)], 2)
    index = Index((0,), 2, np.int32)

    index.add_rows(rows, MANY)

    assert index.arena_state[0] <= 4 * MANY


@pytest.mark.parametrize("code", [-1, 10**6, -(2**31), 2**31 - 1])
def test_index_leaves_dense_numbering(code):
    """A negative or far code ends dense numbering; keys met before keep their postings."""
    first = as_tuples(random_rows(200, 2, 30))
    rows = [*first, (code, 1), *first[:50], (5, 7), (code, 2), (10**6 + 1, 3)]
    index = Index((0,), 2, np.int32)
    index.add_rows(as_rows(rows, 2), len(first))
    was_dense = index.is_dense

    index.add_rows(as_rows(rows, 2), len(rows))

    assert was_dense
    assert not index.is_dense
    assert matches_oracle(index, rows)
    assert found_posting(index, (31,)) is None


def test_first_rows_may_already_be_far_apart():
    """An index that never was dense finds its keys as well."""
    rows = [(-5, 0), (2**31 - 1, 1), (-5, 2)]
    index = Index((0,), 2, np.int32)

    index.add_rows(as_rows(rows, 2), 3)

    assert not index.is_dense
    assert matches_oracle(index, rows)


@pytest.mark.parametrize("probe", [-1, 30, 10**6, -(2**31)])
def test_dense_index_has_no_group_for_codes_outside(probe):
    """A probe below or above all codes is not taken for a group number."""
    index = Index((0,), 1, np.int32)
    index.add_rows(as_rows([(0,), (3,)], 1), 2)

    assert index.is_dense
    assert found_posting(index, (probe,)) is None


@oracle_of(code_range)
@given(rows=row_lists(2), data=st.data(), dtype=widths)
def test_code_range_spans_the_codes_of_a_column(rows, data, dtype):
    """The smallest code is at most 0 and the largest at least -1, so that emptiness needs no case."""
    first = data.draw(st.integers(0, len(rows)))
    last = data.draw(st.integers(first, len(rows)))

    found = code_range(as_rows(rows, 2, dtype), 1, first, last)

    column = [row[1] for row in rows[first:last]]
    assert found == (min([0, *column]), max([-1, *column]))


def test_places_beyond_32_bits_stay_wide_when_dense_numbering_ends(monkeypatch):
    """Groups of an index without row numbers get 64 bits with a large arena, and keep them."""
    monkeypatch.setattr("tidelog.storage.index._NARROW_PLACES", 1)
    rows = random_rows(MANY, 2, 30)
    index = Index((0,), 2, np.int32, is_numbered=False)
    narrow = index.groups.dtype

    index.add_rows(rows, MANY)
    far = np.concatenate([rows, as_rows([(-1, 7)], 2)])
    index.add_rows(far, len(far))

    expected = expected_postings(as_tuples(far), (0,))
    assert (narrow, index.groups.dtype, index.is_dense) == (np.int32, np.int64, False)
    for probe, posting in expected.items():
        assert found_posting(index, probe) == [entry[:-1] for entry in posting]


@pytest.mark.parametrize("key", [(0,), (0, 1)])
@pytest.mark.parametrize("is_trimmed_first", [True, False])
def test_trimmed_indexes_hold_the_same_and_grow(monkeypatch, key, is_trimmed_first):
    """Memory that postings had to spare is given back; rows are found before and after others are added."""
    monkeypatch.setattr("tidelog.storage.index._BYTES_TO_TRIM", 0)
    monkeypatch.setattr("tidelog.storage.index._ROWS_TO_COUNT", 8)
    first, later = random_rows(300, 3, 9, seed=1), random_rows(200, 3, 12, seed=2)
    relation = StoredRelation(3, np.int32, counting=True)
    relation.insert(first)
    if is_trimmed_first:
        relation.trim()
    index = relation.index(key)
    relation.trim()
    top = int(index.arena_state[TOP])
    count = relation.count
    relation.insert(later)
    # Another key than codes that are their own group numbers.
    relation.insert(as_rows([(1 << 30, 1, 2)], 3))

    grown, rows = relation.index(key), as_tuples(relation.live_rows())

    assert top == count
    for probe, posting in expected_postings(rows, key).items():
        assert found_posting(grown, probe) == posting


@pytest.mark.parametrize("is_built_later", [False, True])
def test_few_keys_among_many_codes_are_found_through_slots(is_built_later):
    """Once an evaluation has ended, an index has no group for each of many codes that no row has."""
    relation = StoredRelation(2, np.int32, counting=True)
    rows = [(number % 7 * 3000, number) for number in range(5000)]
    relation.insert(as_rows(rows, 2))
    if not is_built_later:
        assert relation.index((0,)).is_dense

    relation.trim()
    index = relation.index((0,))

    assert not index.is_dense
    assert matches_oracle(index, rows)
    relation.insert(as_rows([(1, 2), (3000, 9)], 2))
    assert matches_oracle(relation.index((0,)), [*rows, (1, 2), (3000, 9)])
