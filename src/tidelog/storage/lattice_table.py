"""The best value of every key, for lattices whose join is the smaller or the greater of two values."""

import numpy as np

from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, kernel
from tidelog.storage.relation import NO_COUNTS, StoredRelation
from tidelog.storage.value_order import ValueOrder
from tidelog.values.memory import enlarge

_NONE = -1
_NO_ROWS: Int64s = np.empty(0, np.int64)


@kernel
def improve_keys(
    keys: Int64s,
    values: Int64s,
    best: Int64s,
    counts: Int32s,
    is_known: Bools,
    is_changed: Bools,
    changed: Int64s,
) -> int:
    """Give each key the least of its values; write the keys whose value became smaller, each once.

    Return how many. `counts` has the number of candidates that attain the value, since it last became
    smaller.
    """
    found = 0
    for position in range(keys.shape[0]):
        key = keys[position]
        value = values[position]
        if is_known[key] == 0 or value < best[key]:
            is_known[key] = 1
            best[key] = value
            counts[key] = 1
            if is_changed[key] == 0:
                is_changed[key] = 1
                changed[found] = key
                found += 1
        elif value == best[key] and is_changed[key] != 0:
            counts[key] += 1
    return found


class LatticeTable:
    """Candidates for a relation with one lattice column, joined as they come.

    Candidates are inserted as into a relation; at the end of an iteration `settle` replaces the facts of the
    keys that got a better value.
    """

    def __init__(self, stored: StoredRelation, column: int, order: ValueOrder) -> None:
        self._stored = stored
        self._column = column
        self._plain = [place for place in range(stored.arity) if place != column]
        self._order = order
        self._keys = StoredRelation(len(self._plain), stored.dtype, counting=True)
        self._best: Int64s = np.zeros(0, np.int64)
        self._counts: Int32s = np.zeros(0, np.int32)
        self._rows: Int64s = np.zeros(0, np.int64)
        self._is_known: Bools = np.zeros(0, np.uint8)
        self._is_changed: Bools = np.zeros(0, np.uint8)
        self._changed: list[Int64s] = []

    # What steps read of the relation that takes their candidates.
    alive = np.empty(0, np.uint8)

    def insert(self, candidates: CodeArray, weights: Int32s = NO_COUNTS, first_new: int = 0) -> int:  # noqa: ARG002 - as a relation takes them
        """Join candidates; return how many keys got a better value than they had in this iteration."""
        keys = self._keys.locate(np.ascontiguousarray(candidates[:, self._plain]))
        capacity, known = self._keys.rows.shape[0], self._best.size
        if capacity > known:
            enlarge(self, ("_best", "_counts", "_rows", "_is_known", "_is_changed"), capacity, known)
            self._rows[known:] = _NONE
        values = self._order.to_keys(candidates[:, self._column].astype(np.int64))
        changed = np.empty(keys.size, np.int64)
        found = improve_keys(
            keys, values, self._best, self._counts, self._is_known, self._is_changed, changed
        )
        if found:
            self._changed.append(changed[:found])
        return found

    def settle(self) -> Int64s:
        """Replace the facts of keys with a better value; return the rows that were replaced."""
        if not self._changed:
            return _NO_ROWS
        keys = np.concatenate(self._changed)
        self._changed = []
        self._is_changed[keys] = 0
        stored = self._stored
        rows = np.empty((keys.size, stored.arity), stored.dtype)
        rows[:, self._plain] = self._keys.rows[keys]
        rows[:, self._column] = self._order.to_codes(self._best[keys])
        replaced: Int64s = self._rows[keys]
        replaced = replaced[replaced != _NONE]
        if replaced.size:
            stored.delete_rows(replaced)
        before = stored.count
        stored.insert(rows)
        assert stored.count == before + keys.size, "a value only ever becomes better"
        self._rows[keys] = np.arange(before, stored.count)
        if stored.counts.size:
            stored.counts[before : stored.count] = self._counts[keys]
        return replaced
