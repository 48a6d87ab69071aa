"""Dense numbers for keys: by a table if the keys are dense integers themselves, otherwise by hashing."""

import numpy as np
import numpy.typing as npt

from tidelog.storage.kernel import CodeArray, Int32s, Int64s, kernel
from tidelog.storage.relation import StoredRelation
from tidelog.values.memory import enlarged

# A table may have this many places for each key, and this many more.
_PLACES_PER_KEY = 8
_SPARE_PLACES = 1 << 16


@kernel
def number_keys(keys: CodeArray, table: Int32s, known: CodeArray, count: int, numbers: Int64s) -> int:
    """Write the number of each key, a new one for keys not seen before; return how many there are.

    Requires a place in `table` for every key (zero: no number yet) and room in `known` for all of them.
    """
    for position in range(keys.shape[0]):
        key = keys[position, 0]
        number = table[key]
        if number == 0:
            known[count, 0] = key
            count += 1
            number = count
            table[key] = number
        numbers[position] = number - 1
    return count


class NodeNumbers:
    """Numbers keys from 0 in the order in which they appear.

    numbers = NodeNumbers(1, np.int32)
    numbers.locate(np.array([[7], [3], [7]], np.int32))  ->  [0, 1, 0]
    """

    def __init__(self, arity: int, dtype: npt.DTypeLike) -> None:
        self.arity = arity
        self.count = 0
        self._known: CodeArray = np.empty((0, arity), dtype)
        self._table: Int32s = np.zeros(0, np.int32)
        self._hashed = None if arity == 1 else StoredRelation(arity, dtype, counting=True)

    @property
    def rows(self) -> CodeArray:
        """Return the keys in the order of their numbers; do not write to them."""
        return self._known if self._hashed is None else self._hashed.rows

    def locate(self, keys: CodeArray) -> Int64s:
        """Return the number of each key, a new one for keys not seen before."""
        if self._hashed is None and not self._make_room(keys):
            self._hashed = StoredRelation(1, self._known.dtype, counting=True)
            self._hashed.locate(self._known[: self.count])
        if self._hashed is not None:
            numbers = self._hashed.locate(keys)
            self.count = self._hashed.count
            return numbers
        numbers = np.empty(len(keys), np.int64)
        self.count = int(number_keys(keys, self._table, self._known, self.count, numbers))
        return numbers

    def _make_room(self, keys: CodeArray) -> bool:
        """Make a place in the table for every key; say whether the keys are dense enough for that."""
        if not len(keys):
            return True
        needed = self.count + len(keys)
        lowest, highest = int(keys.min()), int(keys.max())
        if lowest < 0 or highest >= _PLACES_PER_KEY * needed + _SPARE_PLACES:
            return False
        if highest >= self._table.shape[0]:
            self._table = enlarged(
                self._table, max(highest + 1, 2 * self._table.shape[0]), self._table.shape[0]
            )
        if needed > self._known.shape[0]:
            # Keys repeat, so there are at most as many as places in the table.
            capacity = min(max(needed, 2 * self._known.shape[0]), self._table.shape[0] + 1)
            if capacity > self._known.shape[0]:
                self._known = enlarged(self._known, capacity, self.count)
        return True
