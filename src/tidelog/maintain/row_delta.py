"""What an epoch does to the rows of one relation."""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import Int64s
from tidelog.storage.sharing import Share, by_one_thread

NO_ROWS: Final = np.zeros(0, np.int64)
_BLOCK_ROWS: Final = 1 << 16


@dataclass(frozen=True)
class RowDelta:
    """The numbers of rows of a relation that have become facts, and of those that no longer are."""

    inserted: Int64s
    deleted: Int64s

    @property
    def size(self) -> int:
        """Return the number of rows."""
        return self.inserted.size + self.deleted.size


NO_DELTA: Final = RowDelta(NO_ROWS, NO_ROWS)


def compare_states(old: StoredRelation, new: StoredRelation, share: Share = by_one_thread) -> RowDelta:
    """Return how a relation that was evaluated again differs from what it was.

    New rows remember their old levels, and deleted facts are entered as absent rows.
    """
    is_kept = np.zeros(old.count, np.bool_)
    old.require_numbers(share)
    rows, levels, before = new.rows, new.levels, new.before

    def new_rows(first: int, last: int) -> Int64s:
        numbers: Int64s = np.arange(first, last)
        if new.deleted:
            numbers = numbers[new.alive[numbers] != 0]
        in_old = old.find(rows[numbers])
        previous = np.where(in_old >= 0, old.levels[np.maximum(in_old, 0)], ABSENT)
        changed = previous != levels[numbers]
        before[numbers[changed]] = ~previous[changed]
        is_kept[in_old[in_old >= 0]] = True
        return np.asarray(numbers[previous == ABSENT], np.int64)

    inserted = _found_in_blocks(new_rows, new.count, share)
    lost = np.flatnonzero((old.levels[: old.count] != ABSENT) & ~is_kept)
    if not lost.size:
        return RowDelta(inserted, NO_ROWS)
    deleted = new.locate(np.ascontiguousarray(old.rows[lost]))
    new.levels[deleted] = ABSENT
    new.before[deleted] = ~old.levels[lost]
    new.show_rows(deleted)
    return RowDelta(inserted, deleted)


def compare_contents(old: StoredRelation, new: StoredRelation, share: Share = by_one_thread) -> RowDelta:
    """Return how a relation that was evaluated again differs from what it was, if nothing else reads it now.

    Rows are only looked for, so that neither needs row numbers. Deleted facts are not entered: their numbers
    lead to rows behind all others, until more are inserted. Mostly one side has all facts of the other, and
    then its number of facts says so.
    """
    before, after = _fact_count(old), _fact_count(new)
    if after < before:
        deleted = _missing(old, new, share)
        inserted = _missing(new, old, share) if after > before - deleted.size else NO_ROWS
    else:
        inserted = _missing(new, old, share)
        deleted = _missing(old, new, share) if before > after - inserted.size else NO_ROWS
    return RowDelta(inserted, new.put_aside(old.rows[deleted]))


def _missing(relation: StoredRelation, other: StoredRelation, share: Share) -> Int64s:
    """Return the rows of a relation that are facts there and not in another one."""
    rows, levels = relation.rows, relation.levels

    def missing_rows(first: int, last: int) -> Int64s:
        are_missing = ~other.contains(rows[first:last])
        are_missing &= levels[first:last] != ABSENT
        return first + np.flatnonzero(are_missing)

    return _found_in_blocks(missing_rows, relation.count, share)


def _found_in_blocks(find: Callable[[int, int], Int64s], count: int, share: Share) -> Int64s:
    """Return the rows that `find` returns for ranges of all rows, in order.

    In blocks: arrays as long as a relation would each have to be got from the system.
    """
    found = [NO_ROWS] * (-(-count // _BLOCK_ROWS))

    def find_blocks(first: int, last: int) -> None:
        for block in range(first, last):
            found[block] = find(block * _BLOCK_ROWS, min((block + 1) * _BLOCK_ROWS, count))

    share(find_blocks, len(found))
    return np.concatenate([NO_ROWS, *found])


def _fact_count(relation: StoredRelation) -> int:
    """Return how many rows of a relation are facts."""
    return int(np.count_nonzero(relation.levels[: relation.count] != ABSENT))


def net_deleted(*changes: Mapping[str, RowDelta]) -> int:
    """Return how many more rows are deleted than inserted."""
    return sum(each.deleted.size - each.inserted.size for changed in changes for each in changed.values())


def changed_rows(*changes: Mapping[str, RowDelta]) -> int:
    """Return how many rows are deleted or inserted."""
    return sum(each.size for changed in changes for each in changed.values())
