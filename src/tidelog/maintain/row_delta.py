"""What an epoch does to the rows of one relation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import Int64s

NO_ROWS: Final = np.zeros(0, np.int64)


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

    New rows are annotated with their old levels, and deleted facts are entered as absent rows.
    """
    numbers = np.flatnonzero(new.alive[: new.count]) if new.deleted else np.arange(new.count)
    in_old = old.find(new.rows[numbers])
    new.previous[numbers] = np.where(in_old >= 0, old.levels[np.maximum(in_old, 0)], ABSENT)
    inserted = numbers[new.previous[numbers] == ABSENT]
    is_kept = np.zeros(old.count, np.bool_)
    is_kept[in_old[in_old >= 0]] = True
    lost = np.flatnonzero((old.levels[: old.count] != ABSENT) & ~is_kept)
    if not lost.size:
        return RowDelta(inserted, NO_ROWS)
    deleted = new.locate(np.ascontiguousarray(old.rows[lost]))
    new.levels[deleted] = ABSENT
    new.previous[deleted] = old.levels[lost]
    new.show_rows(deleted)
    return RowDelta(inserted, deleted)


def net_deleted(*changes: Mapping[str, RowDelta]) -> int:
    """Return how many more rows are deleted than inserted."""
    return sum(each.deleted.size - each.inserted.size for changed in changes for each in changed.values())


def changed_rows(*changes: Mapping[str, RowDelta]) -> int:
    """Return how many rows are deleted or inserted."""
    return sum(each.size for changed in changes for each in changed.values())
