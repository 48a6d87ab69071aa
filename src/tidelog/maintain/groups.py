"""The relation of an aggregate, maintained by the groups that a change touches.

An epoch asks for the derivations of the aggregate's body that are lost and gained, each once with its
sign; they change their groups, and only the values of these groups are compared with what they were.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.steps import Sink
from tidelog.maintain.aggregates import GroupedAggregate
from tidelog.maintain.epoch_marks import EpochMarks
from tidelog.maintain.group_values import GroupValues
from tidelog.maintain.judge import EpochJudge
from tidelog.maintain.row_delta import RowDelta
from tidelog.plan.flatten import FlatRule
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT, first_touched
from tidelog.storage.kernel import Bools, CodeArray, Int64s
from tidelog.storage.memory import enlarged

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class GroupChange:
    """Groups whose value changed: their columns, the values before and after, which of those exist."""

    groups: Int64s
    before: Int64s
    had_value: Mask
    after: Int64s
    has_value: Mask
    became_empty: Mask
    became_filled: Mask


class Groups:
    """The groups of one aggregate with their values.

    `change` can be taken back by the same change with opposite diffs, unless it failed: the groups are lost
    then.
    """

    def __init__(self, aggregate: GroupedAggregate, values: GroupValues) -> None:
        self.aggregate = aggregate
        self.is_lost = False
        self._values = values
        self._table = StoredRelation(len(aggregate.group_types), np.int64, counting=True)
        self._counts: Int64s = np.zeros(0, np.int64)
        self._codes: Int64s = np.zeros(0, np.int64)
        self._has_value: Bools = np.zeros(0, np.uint8)
        self._flags: Bools = np.zeros(0, np.uint8)

    def change(self, derivations: Int64s, diffs: Int64s) -> GroupChange:
        """Insert and delete derivations: the group's columns, then the target's code if there is one."""
        width = self._table.arity
        groups = self._table.locate(np.ascontiguousarray(derivations[:, :width]))
        self._reserve()
        touched = np.empty(groups.size, np.int64)
        found = first_touched(self._flags, groups, touched)
        touched = touched[:found]
        self._flags[touched] = 0
        counts_before = self._counts[touched]
        np.add.at(self._counts, groups, diffs)
        targets = derivations[:, width] if derivations.shape[1] > width else diffs
        self._values.change(groups, np.ascontiguousarray(targets), diffs)
        counts = self._counts[touched]
        codes, has_value = self._values.codes(touched, counts, self._table.rows[touched])
        before, had_value = self._codes[touched], self._has_value[touched] != 0
        is_other = (had_value != has_value) | (had_value & (before != codes))
        self._codes[touched] = codes
        self._has_value[touched] = has_value
        # A group may get or lose its only derivation without a value coming or going.
        is_other |= (counts_before > 0) != (counts > 0)
        return GroupChange(
            self._table.rows[touched[is_other]], before[is_other], had_value[is_other], codes[is_other],
            has_value[is_other], (counts_before > 0)[is_other] & (counts == 0)[is_other],
            (counts_before == 0)[is_other] & (counts > 0)[is_other],
        )  # fmt: skip

    def _reserve(self) -> None:
        capacity, known = self._table.rows.shape[0], self._counts.size
        if capacity > known:
            self._counts = enlarged(self._counts, capacity, known)
            self._codes = enlarged(self._codes, capacity, known)
            self._has_value = enlarged(self._has_value, capacity, known)
            self._flags = enlarged(self._flags, capacity, known)
            self._values.reserve(capacity)


def changed_derivations(
    rules: Sequence[FlatRule],
    relations: Mapping[str, StoredRelation],
    earlier: Mapping[str, RowDelta],
    derivations: LocalDerivations,
) -> tuple[Int64s, Int64s]:
    """Return the heads of derivations that are lost (-1) and gained (+1) by changes of earlier strata.

    A derivation lost through several literals is lost at the first of them, and so are gains.
    """
    judge, width = EpochJudge(relations, {}, earlier), len(rules[0].head.terms)
    heads, diffs = [np.empty((0, width), np.int64)], [np.empty(0, np.int64)]

    def sink_at(rule: FlatRule, place: int, *, lost: bool) -> Sink:
        judged = judge.lost if lost else judge.gained

        def sink(batch: CodeArray) -> None:
            keep, _ = judged(rule, batch, place, np.ones(batch.shape[0], np.bool_))
            heads.append(batch[keep, :width].astype(np.int64))
            diffs.append(np.full(len(heads[-1]), -1 if lost else 1))

        return sink

    for lost in (True, False):
        for rule, place, rows in judge.changed_literals(rules, lost=lost):
            derivations.forward(rule, rule.literals[place], rows, sink_at(rule, place, lost=lost))
    return np.concatenate(heads), np.concatenate(diffs)


def replace_rows(marks: EpochMarks, old_rows: CodeArray, new_rows: CodeArray) -> RowDelta:
    """Take facts from a relation and give it others; each has level 1 and one derivation."""
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


def some_rows(change: GroupChange) -> Iterable[Int64s]:
    """Yield the groups that became empty, then those that are no longer."""
    yield change.groups[change.became_empty]
    yield change.groups[change.became_filled]


def value_rows(change: GroupChange) -> tuple[Int64s, Int64s]:
    """Return the facts of an aggregate's relation that are deleted and those that are inserted."""
    is_other = (change.had_value != change.has_value) | (change.had_value & (change.before != change.after))
    is_deleted, is_inserted = is_other & change.had_value, is_other & change.has_value
    return (
        np.column_stack([change.groups[is_deleted], change.before[is_deleted]]),
        np.column_stack([change.groups[is_inserted], change.after[is_inserted]]),
    )
