"""Strata that the driver keeps, on the local engine; with other rules they go on with the same engine."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tidelog.engine.code_rows import as_columns, fact_columns, fact_rows
from tidelog.engine.epoch import EpochResult, MaintenanceSettings, RelationChange, reverse
from tidelog.engine.protocol import Observer, SilentObserver, StratumStatistics
from tidelog.engine.spark.files import Folder
from tidelog.maintain.engine import LocalMaintainedEngine
from tidelog.maintain.partners.differences import (
    Differences,
    GroupResult,
    RelationDifference,
    difference_of,
)
from tidelog.maintain.partners.groups import GroupFacts, PartnerGroup, is_supplied_alike
from tidelog.maintain.partners.session_inputs import SessionInput
from tidelog.maintain.partners.state_files import Found, found_in, without_rows
from tidelog.maintain.rule_change import is_declared_alike
from tidelog.program.nodes import Program
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray


class DriverGroup:
    """Strata kept in the driver."""

    def __init__(
        self, own: tuple[str, ...], reads: tuple[str, ...], program: Program,
        make_engine: Callable[[], LocalMaintainedEngine], folder: Folder,
    ) -> None:  # fmt: skip
        self._folder = folder
        self.own = own
        self.program = program
        self.reads = reads
        self.sources: Mapping[str, PartnerGroup] = {}
        self._make_engine = make_engine
        self._engine: LocalMaintainedEngine | None = None
        # Relations that the group which took the engine does not have.
        self._left: Mapping[str, StoredRelation] = {}

    @property
    def has_engine(self) -> bool:
        """Say whether it was evaluated, and no other group has taken its engine since."""
        return self._engine is not None

    @property
    def engine(self) -> LocalMaintainedEngine:
        """Return the engine, which has the program of the group's strata."""
        assert self._engine is not None, "a group is evaluated first, and used no more once another goes on"
        return self._engine

    def evaluate(self, facts: Mapping[str, GroupFacts], observer: Observer) -> list[StratumStatistics]:
        """Evaluate from scratch."""
        self._engine = self._make_engine()
        for name, found in facts.items():
            rows = _rows(found)
            if len(rows):
                self._engine.insert(name, as_columns(rows))
        finished = self._engine.evaluate(observer).strata
        return [each for each in finished if set(each.relations) & set(self.own)]

    # --- epochs ------------------------------------------------------------------------------------

    def apply(self, changes: Differences, settings: MaintenanceSettings) -> GroupResult:
        """Advance the group to the next epoch; what partners have in files is read here."""
        due = {name: change.as_change() for name, change in changes.items()}
        return self._result(self.engine.apply(due, settings, SilentObserver()))

    def go_on_from(
        self, before: "DriverGroup", changes: Differences, now: Callable[[str], GroupFacts],
        settings: MaintenanceSettings,
    ) -> GroupResult:  # fmt: skip
        """Go on with the engine of another group, and follow changes, those of rules among them.

        `now` returns the input facts of own relations, and all facts of those that are read. The result has
        the differences of relations that the other group has, too.
        """
        engine, due = before.engine, {}
        for name in self.program.relations:
            if is_supplied_alike(name, before, self):
                if name in changes:
                    due[name] = changes[name].as_change()
                continue
            change = self._compared(_rows(now(name)), before.supplied(name, self.program))
            if any(change.sizes):
                due[name] = change.as_change()
        left = {name: engine.relations[name] for name in before.own if name not in self.program.relations}
        result = engine.change_rules(self.program, settings, SilentObserver(), due)
        self._engine = before.give_engine(left)
        return self._result(result)

    def give_engine(self, left: Mapping[str, StoredRelation]) -> LocalMaintainedEngine:
        """Return the engine, which has gone on to other strata; `left` are own relations it no longer has."""
        engine, self._engine, self._left = self.engine, None, left
        return engine

    def supplied(self, name: str, program: Program) -> CodeArray:
        """Return the facts of a relation that the engine has from outside; none if it is another relation."""
        arity = program.relations[name].arity
        if not is_declared_alike(name, self.program, program):
            return np.empty((0, arity), np.int64)
        return fact_rows(self.engine.input_facts(name), arity)

    def _compared(self, rows: CodeArray, before: CodeArray) -> RelationDifference:
        return RelationDifference(without_rows(rows, before), without_rows(before, rows), self._folder)

    def _result(self, result: EpochResult) -> GroupResult:
        """Return what the engine did to own relations."""
        found: dict[str, RelationDifference] = {}
        for name in dict.fromkeys([*result.inserted, *result.deleted]):
            if name in self.own:
                nothing = fact_columns(np.empty((0, self.program.relations[name].arity), np.int64))
                sides = (side.get(name, nothing) for side in (result.inserted, result.deleted))
                change = RelationChange(*sides)
                found[name] = difference_of(change, self.program.relations[name].arity, self._folder)
        return GroupResult(found, tuple(r for r in result.strata if set(r.relations) & set(self.own)))

    def describe(self) -> dict[str, object]:
        """Return nothing: after a restart the driver evaluates its groups again."""
        return {}

    def go_back(self, before: Mapping[str, Any], changes: Differences) -> None:
        """Undo the last epoch by applying the opposite changes."""
        del before
        turned = reverse({name: change.as_change() for name, change in changes.items()})
        self.engine.apply(turned, MaintenanceSettings(), SilentObserver())

    # --- reading -----------------------------------------------------------------------------------

    def size(self, name: str) -> int:
        """Return the number of facts."""
        return len(self.stored(name))

    def stored(self, name: str) -> StoredRelation:
        """Return the facts of a relation; where another group took the engine, those that it left."""
        return self._left[name] if self._engine is None else self._engine.relations[name]

    def look_up(self, name: str, codes: Mapping[int, int]) -> Found:
        """Return the facts that have these codes in these columns, with the iterations of each."""
        relation = self.stored(name)
        return found_in(relation.rows[: relation.count], relation.levels[: relation.count], codes)


def _rows(facts: GroupFacts) -> CodeArray:
    return facts.rows() if isinstance(facts, SessionInput) else facts
