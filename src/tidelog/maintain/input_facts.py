"""Which facts of a maintained state are input facts."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.engine.code_rows import as_rows, fact_columns, fact_rows
from tidelog.engine.epoch import RelationChange, RelationState
from tidelog.engine.local.settle import needs_settling
from tidelog.engine.local.state import LocalState, fits_narrow
from tidelog.engine.protocol import Codes, Columns
from tidelog.maintain.row_delta import NO_DELTA, NO_ROWS, RowDelta
from tidelog.program.nodes import Program
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.sharing import Sharing


class InputFacts:
    """The input facts of a state: those of level 0, or those kept apart.

    A choice or a subsumption leaves input facts out, and an equivalence adds facts. The input facts of
    relations with such a law have a store of their own, in 64-bit codes.
    """

    def __init__(self, program: Program, state: LocalState) -> None:
        self.state = state
        subsumed = {each.less.relation for each in program.subsumptions}
        self.apart = {
            name: StoredRelation(relation.arity, np.int64, counting=True)
            for name, relation in program.relations.items()
            if name in subsumed or needs_settling(relation)
        }
        self._lawful = frozenset(self.apart)

    def insert(self, name: str, columns: Columns) -> None:
        """Store input facts that are inserted before the first epoch."""
        if name in self.apart:
            self.apart[name].insert(as_rows(columns, len(columns[0]) if columns else 1))

    def contain(self, name: str, columns: Sequence[Codes]) -> npt.NDArray[np.bool_]:
        """Say of each fact whether it is an input fact now."""
        stored, apart = self.state.relations[name], self.apart.get(name)
        rows = fact_rows(columns, stored.arity)
        if apart is not None:
            return apart.find(rows) >= 0
        fits: npt.NDArray[np.bool_] = np.ones(len(rows), np.bool_)
        if not self.state.is_wide and not fits_narrow(rows):
            fits = np.all((rows >= -(1 << 31)) & (rows < 1 << 31), axis=1)
            rows = np.where(fits[:, None], rows, 0)
        numbers = stored.find(self.state.pack_rows(rows))
        is_input: npt.NDArray[np.bool_] = (numbers >= 0) & (stored.levels[np.maximum(numbers, 0)] == 0)
        return is_input & fits

    def numbers(self, name: str, change: RelationChange) -> RowDelta:
        """Return the row numbers of a change, in the separate store of input facts if there is one."""
        apart = self.apart.get(name)
        if apart is not None:
            deleted = apart.find(fact_rows(change.deleted, apart.arity))
            return RowDelta(apart.locate(fact_rows(change.inserted, apart.arity)), deleted)
        stored = self.state.relations[name]
        deleted_numbers = inserted_numbers = NO_ROWS
        if len(change.deleted[0]):
            deleted_numbers = stored.find(self._packed(change.deleted, stored.arity))
            assert deleted_numbers.min() >= 0, "only facts are deleted"
            assert not stored.levels[deleted_numbers].any(), "only input facts are deleted"
        if len(change.inserted[0]):
            inserted_numbers = stored.locate(self._packed(change.inserted, stored.arity))
        return RowDelta(inserted_numbers, deleted_numbers)

    def _packed(self, columns: Sequence[Codes], arity: int) -> CodeArray:
        return self.state.pack(columns[:arity], len(columns[0]))

    def rows(self, name: str, change: RowDelta = NO_DELTA) -> CodeArray:
        """Return the input facts of a relation after a change."""
        apart = self.apart.get(name)
        stored = self.state.relations[name] if apart is None else apart
        if apart is None:
            is_input = stored.levels[: stored.count] == 0
        else:
            is_input = apart.alive[: apart.count] != 0 if apart.alive.size else np.ones(apart.count, np.bool_)
        is_input[change.deleted] = False
        is_input[change.inserted] = True
        return self.state.pack_rows(stored.rows[: stored.count][is_input])

    def rows_apart(self, name: str, numbers: Int64s) -> CodeArray:
        """Return input facts that are kept apart, by their numbers in a `RowDelta`."""
        return self.state.pack_rows(self.apart[name].rows[numbers])

    def commit(self, changes: Mapping[str, RowDelta]) -> None:
        """Commit the changes of an epoch."""
        for name in changes.keys() & self.apart.keys():
            self.apart[name].delete_rows(changes[name].deleted)
            self.apart[name].show_rows(changes[name].inserted)

    def give_rows_back(self, sharing: Sharing) -> None:
        """Drop the rows of deleted facts from relations that have many of them."""
        for apart in self.apart.values():
            if apart.is_sparse:
                apart.take(apart.copied(np.int64, sharing(len(apart))))

    # --- other programs, other processes ----------------------------------------------------------

    def take_over(self, old: "InputFacts", old_program: Program, program: Program) -> None:
        """Take over the input facts of the program that this one replaces."""
        for name, apart in self.apart.items():
            if name in old.apart:
                self.apart[name] = old.apart[name]
            elif name in old_program.relations:
                # It had no law until now: the input facts are those of level 0.
                stored = old.state.relations[name]
                apart.insert(stored.rows[: stored.count][stored.levels[: stored.count] == 0].astype(np.int64))
        # A relation that loses its law is recomputed from its separate input facts.
        lawless = (old.apart.keys() - self._lawful) & program.relations.keys()
        self.apart.update({name: old.apart[name] for name in lawless})

    def forget_lawless(self) -> None:
        """Drop the separate input facts of relations that no longer have a law."""
        self.apart = {name: apart for name, apart in self.apart.items() if name in self._lawful}

    def exported(self, name: str, state: RelationState) -> RelationState:
        """Return a state that also has the input facts that a law leaves out, without a level."""
        apart = self.apart.get(name)
        if apart is None:
            return state
        kept, stored = apart.live_rows(), self.state.relations[name]
        left_out = kept[stored.find(kept.astype(stored.dtype)) < 0]
        rows = np.concatenate([fact_rows(state.columns, apart.arity), left_out])
        nothing = np.zeros(len(left_out), np.int32)
        return RelationState(
            fact_columns(rows),
            np.concatenate([state.levels, nothing + ABSENT]),
            np.concatenate([state.counts, nothing]),
            apart.find(np.ascontiguousarray(rows)) >= 0,
        )

    def imported(self, name: str, state: RelationState) -> None:
        """Take over the input facts of an exported state."""
        apart = self.apart.get(name)
        if apart is not None:
            apart.insert(fact_rows([column[state.is_input] for column in state.columns], apart.arity))
