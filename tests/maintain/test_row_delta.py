"""What an evaluation from scratch changed, found by looking facts up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.maintain import row_delta
from tidelog.maintain.row_delta import compare_contents, compare_states
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.sharing import Task

Facts = frozenset[tuple[int, int]]

_FACTS = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)))


def _stored(facts: Facts, absent: Facts = frozenset()) -> StoredRelation:
    """Return a relation of these facts, with rows of absent ones between them."""
    relation = StoredRelation(2, np.int32, counting=True)
    rows = np.array(sorted(facts | absent), np.int32).reshape(-1, 2)
    relation.insert(rows)
    relation.levels[: len(rows)] = [ABSENT if tuple(row) in absent else 1 for row in rows.tolist()]
    relation.hide_absent_rows(np.flatnonzero(relation.levels[: len(rows)] == ABSENT))
    return relation


@given(_FACTS, _FACTS, _FACTS)
def test_contents_differ_by_what_only_one_has(old: Facts, new: Facts, absent: Facts) -> None:
    """Inserted facts are those only the new relation has, deleted ones those only the old one has."""
    before, after = _stored(old, absent - old), _stored(new)

    delta = compare_contents(before, after)

    assert set(map(tuple, after.rows[delta.inserted].tolist())) == new - old
    assert set(map(tuple, after.rows[delta.deleted].tolist())) == old - new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({(0, 0)}, {(1, 1)}),
        ({(0, 0), (1, 1)}, {(2, 2)}),
        ({(0, 0)}, {(1, 1), (2, 2)}),
        ({(0, 0), (1, 1)}, {(1, 1), (2, 2)}),
    ],
)
def test_neither_side_has_all_facts_of_the_other(
    old: set[tuple[int, int]], new: set[tuple[int, int]]
) -> None:
    """A change that inserts and deletes is found whichever side has more facts."""
    before, after = _stored(frozenset(old)), _stored(frozenset(new))

    delta = compare_contents(before, after)

    assert set(map(tuple, after.rows[delta.inserted].tolist())) == new - old
    assert set(map(tuple, after.rows[delta.deleted].tolist())) == old - new


def _last_blocks_first(task: Task, count: int) -> None:
    """Do each item by itself, the last one first, as threads may."""
    for item in reversed(range(count)):
        task(item, item + 1)


@pytest.mark.parametrize("compare", [compare_contents, compare_states])
@given(_FACTS, _FACTS, _FACTS)
def test_threads_find_the_same_differences(compare, old: Facts, new: Facts, absent: Facts) -> None:
    """Whoever looks at which block of rows, the rows found are the same and in the same order."""
    alone = compare(_stored(old, absent - old), _stored(new))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_delta, "_BLOCK_ROWS", 2)
        shared = compare(_stored(old, absent - old), _stored(new), _last_blocks_first)

    assert shared.inserted.tolist() == alone.inserted.tolist()
    assert shared.deleted.tolist() == alone.deleted.tolist()
