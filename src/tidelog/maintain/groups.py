"""The relation of an aggregate, maintained by the groups that a change touches.

An epoch finds the derivations of the aggregate's body that are lost and gained, each once with its sign.
They change their groups, and only the values of these groups are compared with what they were.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.steps import Sink
from tidelog.maintain.aggregates import GroupedAggregate
from tidelog.maintain.epoch_marks import EpochMarks
from tidelog.maintain.group_values import GroupValues, Mask
from tidelog.maintain.judge import EpochJudge
from tidelog.maintain.row_delta import RowDelta
from tidelog.plan.flatten import FlatRule
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT, first_touched
from tidelog.storage.kernel import Bools, CodeArray, Int64s
from tidelog.values.memory import enlarge

# The facts of relations that are deleted, and those that are inserted.
FactChanges = dict[str, tuple[Int64s, Int64s]]


class GroupFacts:
    """The facts that one aggregate has for its groups.

    What changes them is undone by the opposite change, unless it failed: then the groups are lost.
    """

    def __init__(self, aggregate: GroupedAggregate) -> None:
        self.aggregate = aggregate
        self.is_lost = False
        self._table = StoredRelation(len(aggregate.group_types), np.int64, counting=True)
        self._counts: Int64s = np.zeros(0, np.int64)
        self._codes: Int64s = np.zeros(0, np.int64)
        self._has_value: Bools = np.zeros(0, np.uint8)
        self._flags: Bools = np.zeros(0, np.uint8)

    def _numbers(self, columns: CodeArray) -> Int64s:
        """Return the numbers of groups, new ones too, for which there is room then."""
        numbers = self._table.locate(np.ascontiguousarray(columns, np.int64))
        capacity, known = self._table.rows.shape[0], self._counts.size
        if capacity > known:
            enlarge(self, ("_counts", "_codes", "_has_value", "_flags"), capacity, known)
            self._reserve(capacity, known)
        return numbers

    def _reserve(self, capacity: int, known: int) -> None:
        """Make room for so many groups; there is room for the `known` ones."""

    def translate(self, translated: Callable[[Int64s, str], Int64s]) -> None:
        """Give the values of groups other codes, by their type."""
        self._codes = translated(self._codes, self.aggregate.types[1])

    def _once(self, groups: Int64s) -> Int64s:
        """Return groups, each once."""
        touched = np.empty(groups.size, np.int64)
        found = first_touched(self._flags, groups, touched)
        touched = touched[:found]
        self._flags[touched] = 0
        return touched

    def _replace(self, groups: Int64s, counts: Int64s, codes: Int64s, has_value: Mask) -> FactChanges:
        """Give groups the number of their derivations and their values; return the facts that change."""
        columns, was_filled = self._table.rows[groups], self._counts[groups] > 0
        before, had_value = self._codes[groups], self._has_value[groups] != 0
        self._counts[groups] = counts
        self._codes[groups] = codes
        self._has_value[groups] = has_value
        is_other = (had_value != has_value) | (before != codes)
        old, new = is_other & had_value, is_other & has_value
        changed = {
            self.aggregate.relation: (
                np.column_stack([columns[old], before[old]]),
                np.column_stack([columns[new], codes[new]]),
            )
        }
        # A group may get or lose its only derivation without a value that is inserted or deleted.
        if self.aggregate.some is not None:
            is_filled = counts > 0
            changed[self.aggregate.some] = columns[was_filled & ~is_filled], columns[is_filled & ~was_filled]
        return changed


class Groups(GroupFacts):
    """Groups that are given the derivations of the aggregate's body."""

    def __init__(self, aggregate: GroupedAggregate, values: GroupValues) -> None:
        super().__init__(aggregate)
        self.values = values

    def change(self, derivations: Int64s, diffs: Int64s) -> FactChanges:
        """Insert and delete derivations: the group's columns, then the target's code if there is one.

        Return the facts of the aggregate's relations that are deleted thereby, and those inserted.
        """
        width = self._table.arity
        groups = self._numbers(derivations[:, :width])
        touched = self._once(groups)
        before = self._counts[touched]
        np.add.at(self._counts, groups, diffs)
        counts = self._counts[touched]
        self._counts[touched] = before
        targets = derivations[:, width] if derivations.shape[1] > width else diffs
        self.values.change(groups, np.ascontiguousarray(targets), diffs)
        return self._replace(touched, counts, *self.values.codes(touched, counts, self._table.rows[touched]))

    def _reserve(self, capacity: int, known: int) -> None:  # noqa: ARG002 - values know themselves
        self.values.reserve(capacity)


def changed_derivations(
    rules: Sequence[FlatRule],
    relations: Mapping[str, StoredRelation],
    earlier: Mapping[str, RowDelta],
    derivations: LocalDerivations,
    claim: Callable[[FlatRule, CodeArray, int], Mask] = lambda _rule, batch, _first: np.ones(
        batch.shape[0], np.bool_
    ),
) -> tuple[Int64s, Int64s]:
    """Return the heads of derivations that are lost (-1) and gained (+1) by changes of earlier strata.

    A derivation lost through several literals counts as lost at the first of them; gains likewise.
    Only those that `claim` says are for this process to find are returned; it gets the rows of a
    derivation's literals from a column of the batch on.
    """
    judge, width = EpochJudge(relations, {}, earlier), len(rules[0].head.terms)
    heads, diffs = [np.empty((0, width), np.int64)], [np.empty(0, np.int64)]

    def sink_at(rule: FlatRule, place: int, *, lost: bool) -> Sink:
        judged = judge.lost if lost else judge.gained

        def sink(batch: CodeArray) -> None:
            keep, _ = judged(rule, batch, place, claim(rule, batch, width))
            heads.append(batch[keep, :width].astype(np.int64))
            diffs.append(np.full(len(heads[-1]), -1 if lost else 1))

        return sink

    for lost in (True, False):
        for rule, place, rows in judge.changed_literals(rules, lost=lost):
            derivations.forward(rule, rule.literals[place], rows, sink_at(rule, place, lost=lost))
    return np.concatenate(heads), np.concatenate(diffs)


def replace_rows(marks: EpochMarks, old_rows: CodeArray, new_rows: CodeArray) -> RowDelta:
    """Replace facts of a relation by others; each has level 1 and one derivation."""
    relation = marks.relation
    deleted = relation.find(old_rows)
    marks.ensure_room()
    marks.touch(deleted)
    relation.levels[deleted] = ABSENT
    relation.counts[deleted] = 0
    inserted = relation.locate(new_rows)
    marks.ensure_room()
    marks.touch(inserted)
    relation.levels[inserted] = 1
    relation.counts[inserted] = 1
    relation.show_rows(inserted)
    return RowDelta(inserted, deleted)
