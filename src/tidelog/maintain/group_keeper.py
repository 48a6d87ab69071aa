"""All aggregates of an engine's program: their relations, evaluated from scratch and then followed."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tidelog.engine.local.chains import collect
from tidelog.engine.local.combine import Combine, combiner
from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.range_trees import RangeTree, visible_rows
from tidelog.engine.local.state import LocalState
from tidelog.engine.protocol import StratumStatistics
from tidelog.engine.user_aggregates import UserAggregate
from tidelog.maintain.aggregates import GroupedAggregate
from tidelog.maintain.epoch_marks import EpochMarks
from tidelog.maintain.group_values import GroupValues, numeric_values
from tidelog.maintain.groups import FactChanges, GroupFacts, Groups, changed_derivations, replace_rows
from tidelog.maintain.range_groups import RangeGroups, WindowChange
from tidelog.maintain.row_delta import NO_DELTA, RowDelta
from tidelog.maintain.user_groups import Combined, GroupObjects, OrderedValues, Scans
from tidelog.plan import plan_stratum
from tidelog.plan.flatten import FlatRule
from tidelog.plan.operators import RangeScan
from tidelog.plan.range_scan import range_scan
from tidelog.plan.statistics import Statistics
from tidelog.program.nodes import Stratum

if TYPE_CHECKING:
    from tidelog.storage.kernel import Int64s


class GroupKeeper:
    """The groups of every aggregate that has a relation.

    What an epoch does to them is remembered until `commit` or `undo`. Groups whose values are the user's
    objects cannot always be undone: after a failed call the content of an object is unknown. They are
    dropped then, and their stratum is evaluated from scratch when it is next reached.
    """

    def __init__(
        self, aggregates: Mapping[str, GroupedAggregate], state: LocalState, expressions: Expressions,
        known: "GroupKeeper | None" = None,
    ) -> None:  # fmt: skip
        self.aggregates = aggregates
        self._state = state
        self._expressions = expressions
        # Another program may have some of the same aggregates.
        before = {} if known is None else known.groups
        self.groups: dict[str, GroupFacts] = {
            name: groups for name, groups in before.items() if name in aggregates
        }
        self._changes: list[tuple[GroupFacts, Callable[[], FactChanges]]] = []
        self._failed: GroupFacts | None = None
        self._replaced: dict[str, GroupFacts | None] = {}

    def take(self, relation: str, other: "GroupKeeper") -> None:
        """Take over the groups of an aggregate that another program has as well."""
        if relation in self.aggregates and relation in other.groups:
            self.groups[relation] = other.groups[relation]

    def evaluate(self, stratum: Stratum, statistics: Statistics) -> StratumStatistics:
        """Fill the relations of an aggregate's stratum, which must be empty, from all derivations."""
        start = time.perf_counter()
        state = self._state
        aggregate = self.aggregates[stratum.relations[0]]
        groups, found, work = self._evaluated(aggregate, stratum, statistics)
        changed = self._all_changes(groups, found)
        for name, (_, content) in changed.items():
            state.relations[name].insert(state.pack_rows(content))
            state.set_levels({name: 0}, 1)
            state.show_all(name)
        self._replaced.setdefault(aggregate.relation, self.groups.get(aggregate.relation))
        self.groups[aggregate.relation] = groups
        facts = sum(len(content) for _, content in changed.values())
        return StratumStatistics(stratum.relations, False, 1, facts, work, time.perf_counter() - start)

    def _evaluated(
        self, aggregate: GroupedAggregate, stratum: Stratum, statistics: Statistics
    ) -> tuple[GroupFacts, FactChanges, int]:
        """Return new groups of an aggregate, its facts, and the work: derivations, or facts put in order."""
        scan = self._scan_of(aggregate)
        if scan is None or aggregate.outer is None:
            derivations = self._all_derivations(stratum, statistics)
            groups = Groups(aggregate, self._values(aggregate))
            changed = groups.change(derivations, np.ones(len(derivations), np.int64))
            return groups, changed, len(derivations)
        facts, asked = (
            visible_rows(name, self._state, self._expressions) for name in (scan.relation, aggregate.outer)
        )
        windows = RangeGroups(aggregate, RangeTree(scan, aggregate.aggregate, self._expressions))
        windows.fill(facts)
        changed = windows.change(WindowChange(asked, asked[:0], facts[:0], facts[:0]))
        return windows, changed, len(facts) + len(asked)

    def _scan_of(self, aggregate: GroupedAggregate) -> RangeScan | None:
        """Return the range that an aggregate is over, if a scan tree answers it."""
        return None if aggregate.outer is None else range_scan(aggregate.aggregate)

    def _all_derivations(self, stratum: Stratum, statistics: Statistics) -> "Int64s":
        """Return the heads of all derivations of an aggregate's body."""
        plans = plan_stratum(stratum, self._state.program, statistics, counting=True).once
        found = [collect(plan.operators, self._state, self._expressions) for plan in plans]
        width = len(stratum.rules[0].head.terms)
        return np.concatenate([np.empty((0, width), np.int64), *found])

    def _all_changes(self, groups: GroupFacts, changed: FactChanges) -> FactChanges:  # noqa: ARG002
        """Return what changed in all groups, given what changed in those kept here: the same."""
        return changed

    def follows(self, relation: str) -> bool:
        """Say whether the groups of an aggregate are known and can be followed."""
        return relation in self.groups and not self.groups[relation].is_lost

    def follow(
        self,
        rules: Sequence[FlatRule],
        earlier: Mapping[str, RowDelta],
        derivations: LocalDerivations,
        marks_of: Callable[[str], EpochMarks],
    ) -> tuple[dict[str, RowDelta], int]:
        """Advance the relations of an aggregate to the new epoch; return what changed, and the work."""
        groups, state = self.groups[rules[0].relation], self._state
        change, undo, work = self._change(groups, rules, earlier, derivations)
        changed: FactChanges = {}
        if work:
            self._failed = groups
            changed = change()
            self._failed = None
            self._changes.append((groups, undo))
        found = {
            name: replace_rows(marks_of(name), state.pack_rows(deleted), state.pack_rows(inserted))
            for name, (deleted, inserted) in self._all_changes(groups, changed).items()
            if len(deleted) or len(inserted)
        }
        return found, work

    def _change(
        self,
        groups: GroupFacts,
        rules: Sequence[FlatRule],
        earlier: Mapping[str, RowDelta],
        derivations: LocalDerivations,
    ) -> tuple[Callable[[], FactChanges], Callable[[], FactChanges], int]:
        """Return what changes groups for an epoch, what undoes that, and how many rows it takes."""
        if isinstance(groups, RangeGroups):
            change = self._window_change(groups.aggregate, earlier)
            return partial(groups.change, change), partial(groups.change, change.inverse()), change.size
        assert isinstance(groups, Groups)
        rows, diffs = self._changed_derivations(rules, earlier, derivations)
        return partial(groups.change, rows, diffs), partial(groups.change, rows, -diffs), len(rows)

    def _window_change(self, aggregate: GroupedAggregate, earlier: Mapping[str, RowDelta]) -> WindowChange:
        """Return what an epoch does to the windows of an aggregate, and to the facts they are over."""
        scan = self._scan_of(aggregate)
        assert scan is not None
        assert aggregate.outer is not None
        sides = []
        for name in (aggregate.outer, scan.relation):
            rows, delta = self._state.relations[name].rows, earlier.get(name, NO_DELTA)
            sides += [rows[delta.inserted], rows[delta.deleted]]
        return WindowChange(*sides)

    def _changed_derivations(
        self, rules: Sequence[FlatRule], earlier: Mapping[str, RowDelta], derivations: LocalDerivations
    ) -> "tuple[Int64s, Int64s]":
        """Return the heads of derivations of an aggregate's body that are lost and gained."""
        return changed_derivations(rules, self._state.relations, earlier, derivations)

    def undo(self) -> None:
        """Restore the groups from before the epoch."""
        for name, groups in self._replaced.items():
            if groups is None:
                del self.groups[name]
            else:
                self.groups[name] = groups
        for groups, undo in reversed(self._changes):
            try:
                undo()
            except BaseException:  # noqa: BLE001 - whatever it was, Ctrl-C too, the rest must go back
                groups.is_lost = True
        if self._failed is not None:
            self._failed.is_lost = True
        self.commit()

    def commit(self) -> None:
        """Forget what the epoch did."""
        self._changes = []
        self._failed = None
        self._replaced = {}

    def _values(self, grouped: GroupedAggregate) -> GroupValues:
        aggregate, codec, types = grouped.aggregate, self._expressions.codec, grouped.types
        found = numeric_values(aggregate.functor, aggregate.kind)
        if found is not None:
            return found
        if aggregate.functor in ("min", "max"):
            return OrderedValues(codec, types[0], is_greatest=aggregate.functor == "max")
        if aggregate.functor.startswith("@") and aggregate.init is None:
            name = aggregate.functor[1:]
            user = UserAggregate(name, self._expressions.functions[name])
            if user.can_remove or user.can_merge:
                return (GroupObjects if user.can_remove else Scans)(user, codec, *types)
        return Combined(self._combine(grouped), grouped.group_names)

    def _combine(self, grouped: GroupedAggregate) -> Combine:
        aggregate = grouped.aggregate
        found = combiner(aggregate.functor, *grouped.types, aggregate.init, self._expressions)
        assert found is not None
        return found
