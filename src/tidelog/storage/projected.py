"""What a negated atom with wildcards asks of a relation, answered by an index of it.

    unread(x) :- node(x), !edge(x, _).

Whether `edge` has a fact for a key is what an index by that key says: nothing more is stored. Rows are kept
only of keys of which a fact has changed, until they are forgotten, so that an epoch has something to note
the change of the key at. So long as that is done for every change,

    a row that is visible, or was touched by the epoch, says whether its key had a fact and has one now;
    any other key has a fact in both epochs, or in neither: the index says which.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidelog.storage.annotations import ABSENT
from tidelog.storage.direct import find_newest, has_row
from tidelog.storage.index import Index
from tidelog.storage.join import find_bindings, find_groups, has_entry
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s
from tidelog.storage.relation import StoredRelation
from tidelog.values.distinct_codes import distinct_codes

# In place of a row number: the key has a fact in both epochs and needs no row.
PRESENT: Final = -2
# So many rows are forgotten at once.
_MANY_ROWS = 1 << 12
_NO_CONSTANTS: Int64s = np.empty(0, np.int64)


class Projection(NamedTuple):
    """A relation, and the columns of it that a negated atom binds."""

    base: str
    kept: tuple[int, ...]


class ProjectedRelation(StoredRelation):
    """The keys of another relation, `base`; see above.

    With `is_complete` it has a row for every key that has a fact.
    """

    def __init__(
        self, projection: Projection, base: StoredRelation, dtype: npt.DTypeLike, *, counting: bool
    ) -> None:
        super().__init__(len(projection.kept), dtype, counting=counting)
        self.projection = projection
        self.base = base
        self.is_complete = False

    def prepare(self) -> None:
        """Make the index of the base, or let it cover all rows, before threads share it."""
        self.base.lookup(self.projection.kept, self.base.count)

    def look_up(self, batch: CodeArray, constants: Int64s, key: Int32s) -> Int64s:
        """Return the row number of each binding's key; -1 or `PRESENT` where no row is needed."""
        found = np.full(batch.shape[0], -1, np.int64)
        unknown = np.ones(batch.shape[0], np.bool_)
        if self.count:
            find_bindings(batch, constants, key, self.slots, self.held, self.all_columns, found)
            numbers = np.maximum(found, 0)
            is_hidden = self.alive[numbers] == 0 if self.alive.size else np.zeros(found.size, np.bool_)
            unknown = (found < 0) | (is_hidden & (self.before[numbers] == 0))
            found[is_hidden] = -1
        if not self.is_complete and unknown.any():
            present = self.base_has(np.ascontiguousarray(batch[unknown]), constants, key)
            found[unknown] = np.where(present, PRESENT, -1)
        return found

    def base_has(self, batch: CodeArray, constants: Int64s, key: Int32s) -> npt.NDArray[np.bool_]:
        """Say whether the base has a visible row with each binding's key."""
        base = self.base
        index = base.lookup(self.projection.kept, base.count)
        present: Bools = np.empty(batch.shape[0], np.uint8)
        found = np.empty(batch.shape[0], np.int64)
        if isinstance(index, Index):
            find_groups(batch, constants, key, index.slots, index.keys, index.groups, index.is_dense, found)
            in_view = 0, base.count, index.boundary_between(0, base.count)
            has_entry(batch, found, index.groups, index.arena, base.alive, *in_view, present)
        else:
            table = index.slots, base.held, index.key_columns, index.is_dense
            find_newest(batch, constants, key, *table, found)
            has_row(found, index.earlier, base.alive, 0, base.count, present)
        return present.view(np.bool_)

    def enter_keys(self, numbers: Int64s) -> Int64s:
        """Return the rows of the keys that rows of the base have, each once; new ones say nothing yet."""
        keys = np.ascontiguousarray(self.base.rows[numbers][:, self.projection.kept])
        return distinct_codes(self.locate(keys))

    def have_facts(self, keys: CodeArray, without: Int64s) -> npt.NDArray[np.bool_]:
        """Say whether the base has a fact for each of some keys beside rows that are visible."""
        self.base.delete_rows(without)
        try:
            return self.base_has(keys, _NO_CONSTANTS, self.all_columns)
        finally:
            self.base.show_rows(without)

    def hold_present(self, numbers: Int64s) -> None:
        """Let rows that were appended say that their keys have a fact, as they had before the epoch."""
        new = numbers[(self.levels[numbers] == ABSENT) & (self.before[numbers] == 0)]
        self.levels[new] = 1
        self.show_rows(new)

    def complete(self) -> None:
        """Have a row for every key that has a fact, from now on and until the rows are forgotten."""
        if not self.is_complete:
            facts = np.flatnonzero(self.base.levels[: self.base.count] != ABSENT)
            self.hold_present(self.enter_keys(facts))
            self.is_complete = True

    @property
    def has_many_rows(self) -> bool:
        """Say whether so many rows are kept that they should be forgotten."""
        return self.count > _MANY_ROWS and not self.is_complete
