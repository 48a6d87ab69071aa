"""Strata whose facts are decided together, kept by one partner on the local engine.

Equivalences look at all facts of a stratum at once, and so do choices, lattices, subsumption and keys that no
column divides; others are here because they are small. The first partner has all facts; the others only learn
the values that it makes.
"""

from collections.abc import Mapping

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.code_rows import as_columns, fact_columns, fact_rows
from tidelog.engine.epoch import EpochResult, MaintenanceSettings, RelationChange
from tidelog.engine.protocol import Settings, SilentObserver, StratumStatistics, UserFunctions
from tidelog.engine.spark.files import Annotated
from tidelog.maintain.engine import LocalMaintainedEngine
from tidelog.maintain.partners.engine import CodeDelta
from tidelog.maintain.partners.state_files import without_rows
from tidelog.maintain.rule_change import is_declared_alike
from tidelog.program.nodes import Program
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int32s
from tidelog.values.codec import Codec


@dataclass
class AloneEngine:
    """What the first partner keeps of such strata; an epoch can be undone until the next one."""

    program: Program
    own: tuple[str, ...]
    codec: Codec
    settings: Settings
    functions: UserFunctions

    def __post_init__(self) -> None:
        self._engine = self._new_engine()
        self._last: Mapping[str, CodeDelta] = {}
        # What is to be evaluated before the next epoch, if one was undone.
        self._undone: dict[str, CodeArray] | None = None

    def _new_engine(self) -> LocalMaintainedEngine:
        return LocalMaintainedEngine(self.program, self.codec, self.settings, self.functions)

    def insert(self, name: str, rows: CodeArray) -> None:
        """Insert input facts, or facts of earlier strata."""
        if len(rows):
            self._engine.insert(name, as_columns(np.ascontiguousarray(rows.astype(np.int64))))

    def evaluate(self) -> list[StratumStatistics]:
        """Evaluate all strata; return what it took those that are kept here."""
        finished = self._engine.evaluate(SilentObserver()).strata
        return [each for each in finished if set(each.relations) & set(self.own)]

    def apply(self, changes: Mapping[str, CodeDelta], settings: MaintenanceSettings) -> EpochResult:
        """Advance all strata to the next epoch."""
        self._evaluate_undone()
        self._last = changes
        return self._engine.apply(_turned(changes), settings, SilentObserver())

    def change_rules(
        self, program: Program, own: tuple[str, ...], changes: Mapping[str, CodeDelta],
        supplied: Mapping[str, CodeArray], settings: MaintenanceSettings,
    ) -> EpochResult:  # fmt: skip
        """Go on with other strata in the next epoch, which cannot be undone.

        `supplied` has all facts of relations whose input facts came from elsewhere before.
        """
        self._evaluate_undone()
        deltas = dict(changes)
        for name, rows in supplied.items():
            before = rows[:0]
            if is_declared_alike(name, self.program, program):
                before = fact_rows(self._engine.input_facts(name), program.relations[name].arity)
            delta = CodeDelta(without_rows(rows, before), without_rows(before, rows))
            if any(delta.sizes):
                deltas[name] = delta
        result = self._engine.change_rules(program, settings, SilentObserver(), _turned(deltas))
        self.program, self.own = program, own
        return result

    def _evaluate_undone(self) -> None:
        """Evaluate what there was before an epoch that was undone."""
        if self._undone is not None:
            self._engine, undone, self._undone = self._new_engine(), self._undone, None
            for name, rows in undone.items():
                self.insert(name, rows)
            self.evaluate()

    def commit(self) -> None:
        """Keep what the last epoch did."""
        self._last = {}

    def undo(self) -> None:
        """Return to the facts before the last epoch.

        They are evaluated again, because expressions remember values that are forgotten by now, and with
        the next epoch, after which all partners get to know values that only an evaluation makes.
        """
        last, self._last = self._last, {}
        if self._undone is not None:
            return
        self._undone = {}
        for name, relation in self.program.relations.items():
            rows = fact_rows(self._engine.input_facts(name), relation.arity)
            if name in last:
                rows = np.concatenate([without_rows(rows, last[name].inserted), last[name].deleted])
            self._undone[name] = rows

    def facts(self, name: str) -> Annotated:
        """Return the facts of a relation."""
        relation = self._engine.relations[name]
        rows = relation.live_rows()
        return _annotated(rows, _levels(relation, rows))

    def changed(self, name: str, result: EpochResult) -> Annotated:
        """Return the facts that an epoch deleted and inserted, to be put on top of those from before."""
        arity, relation = self.program.relations[name].arity, self._engine.relations[name]
        nothing = np.empty((0, arity), np.int64)
        inserted, deleted = (
            fact_rows(side[name], arity) if name in side else nothing
            for side in (result.inserted, result.deleted)
        )
        absent = np.full(len(deleted), ABSENT, np.int32)
        levels = np.concatenate([absent, _levels(relation, inserted)])
        return _annotated(np.concatenate([deleted, inserted]), levels)


def _turned(changes: Mapping[str, CodeDelta]) -> dict[str, RelationChange]:
    """Return changes as the local engine takes them."""
    return {
        name: RelationChange(fact_columns(change.inserted), fact_columns(change.deleted))
        for name, change in changes.items()
    }


def _levels(relation: StoredRelation, rows: CodeArray) -> Int32s:
    """Return the iterations of facts."""
    numbers = relation.find(np.ascontiguousarray(rows.astype(relation.rows.dtype)))
    levels: Int32s = relation.levels[numbers].astype(np.int32)
    return levels


def _annotated(rows: CodeArray, levels: Int32s) -> Annotated:
    return Annotated(rows, levels, np.ones(len(rows), np.int32))
