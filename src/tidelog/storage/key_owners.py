"""The row of each key, in a relation whose facts must have different keys."""

from collections.abc import Sequence

import numpy as np

from tidelog.storage.kernel import Int64s
from tidelog.storage.relation import StoredRelation
from tidelog.values.memory import enlarged

_NOBODY = -1


class KeyOwners:
    """The row of a relation that has a key, by key, while the relation changes.

    Deleted rows release their keys before inserted rows claim theirs.
    """

    def __init__(self, relation: StoredRelation, columns: Sequence[int]) -> None:
        self.relation = relation
        self._columns = list(columns)
        self._keys = StoredRelation(len(columns), relation.dtype, counting=True)
        self._owners: Int64s = np.zeros(0, np.int64)

    def change(self, deleted: Int64s, inserted: Int64s) -> tuple[int, int] | None:
        """Delete and insert rows; return two rows with the same key, if there are any."""
        if deleted.size:
            keys = self._numbers(deleted)
            self._owners[keys[self._owners[keys] == deleted]] = _NOBODY
        if not inserted.size:
            return None
        keys = self._numbers(inserted)
        taken = np.flatnonzero(self._owners[keys] != _NOBODY)
        if taken.size:
            return int(self._owners[keys[taken[0]]]), int(inserted[taken[0]])
        self._owners[keys] = inserted
        beaten = np.flatnonzero(self._owners[keys] != inserted)
        if beaten.size:
            return int(inserted[beaten[0]]), int(self._owners[keys[beaten[0]]])
        return None

    def _numbers(self, rows: Int64s) -> Int64s:
        numbers = self._keys.locate(np.ascontiguousarray(self.relation.rows[rows][:, self._columns]))
        capacity, known = self._keys.rows.shape[0], self._owners.size
        if capacity > known:
            self._owners = enlarged(self._owners, capacity, known)
            self._owners[known:] = _NOBODY
        return numbers
