"""What an epoch does to the rows of one relation."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import Int64s

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


def compare_states(old: StoredRelation, new: StoredRelation) -> RowDelta:
    """Return how a relation that was evaluated again differs from what it was.

    New rows remember their old levels, and deleted facts are entered as absent rows.
    """
    is_kept = np.zeros(old.count, np.bool_)
    found = [NO_ROWS]
    # In blocks: arrays as long as a relation would each have to be got from the system.
    for first in range(0, new.count, _BLOCK_ROWS):
        numbers = np.arange(first, min(first + _BLOCK_ROWS, new.count))
        if new.deleted:
            numbers = numbers[new.alive[numbers] != 0]
        in_old = old.find(new.rows[numbers])
        previous = np.where(in_old >= 0, old.levels[np.maximum(in_old, 0)], ABSENT)
        changed = previous != new.levels[numbers]
        new.before[numbers[changed]] = ~previous[changed]
        is_kept[in_old[in_old >= 0]] = True
        found.append(numbers[previous == ABSENT])
    inserted = np.concatenate(found)
    lost = np.flatnonzero((old.levels[: old.count] != ABSENT) & ~is_kept)
    if not lost.size:
        return RowDelta(inserted, NO_ROWS)
    deleted = new.locate(np.ascontiguousarray(old.rows[lost]))
    new.levels[deleted] = ABSENT
    new.before[deleted] = ~old.levels[lost]
    new.show_rows(deleted)
    return RowDelta(inserted, deleted)


def compare_contents(old: StoredRelation, new: StoredRelation) -> RowDelta:
    """Return how a relation that was evaluated again differs from what it was, if nothing else reads it now.

    Rows are only looked for, so that neither needs row numbers. Deleted facts are not entered: their numbers
    lead to rows behind all others, until more are inserted. Mostly one side has all facts of the other, and
    then its number of facts says so.
    """
    before, after = _fact_count(old), _fact_count(new)
    if after < before:
        deleted = _missing(old, new)
        inserted = _missing(new, old) if after > before - deleted.size else NO_ROWS
    else:
        inserted = _missing(new, old)
        deleted = _missing(old, new) if before > after - inserted.size else NO_ROWS
    return RowDelta(inserted, new.put_aside(old.rows[deleted]))


def _missing(relation: StoredRelation, other: StoredRelation) -> Int64s:
    """Return the rows of a relation that are facts there and not in another one."""
    rows, levels = relation.rows, relation.levels
    found = [NO_ROWS]
    for first in range(0, relation.count, _BLOCK_ROWS):
        last = min(first + _BLOCK_ROWS, relation.count)
        are_missing = ~other.contains(rows[first:last])
        are_missing &= levels[first:last] != ABSENT
        found.append(first + np.flatnonzero(are_missing))
    return np.concatenate(found)


def _fact_count(relation: StoredRelation) -> int:
    """Return how many rows of a relation are facts."""
    return int(np.count_nonzero(relation.levels[: relation.count] != ABSENT))


def net_deleted(*changes: Mapping[str, RowDelta]) -> int:
    """Return how many more rows are deleted than inserted."""
    return sum(each.deleted.size - each.inserted.size for changed in changes for each in changed.values())


def changed_rows(*changes: Mapping[str, RowDelta]) -> int:
    """Return how many rows are deleted or inserted."""
    return sum(each.size for changed in changes for each in changed.values())
