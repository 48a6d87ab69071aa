"""What an epoch makes of a derivation: lost, standing, possible or better, and the level it gives its head.

A derivation comes as a row of a batch: what is known of its head, then the row of each literal, from the
column `first` on. Every answer is the mask of the derivations that count, and the level that each of
them gives its head. Whoever enumerates derivations of plain rules asks here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.maintain.labels import CURRENT, UNTOUCHED, RelationLabels
from tidelog.maintain.row_change import RowChange
from tidelog.plan.flatten import FlatRule, RuleLiteral
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT, largest_level, largest_level_before
from tidelog.storage.kernel import CodeArray, Int32s

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class EpochJudge:
    """Judges the derivations of one stratum in one epoch.

    `labels` are those of the stratum's own relations, `earlier` what changed in earlier strata.
    """

    relations: Mapping[str, StoredRelation]
    labels: Mapping[str, RelationLabels]
    earlier: Mapping[str, RowChange]

    def lost(
        self, rule: FlatRule, batch: CodeArray, place: int, among: Mask, *, by_earlier: bool
    ) -> tuple[Mask, Int32s]:
        """Return the derivations that were lost at a literal, and the level each gave its head.

        A derivation lost through several literals is lost at the first of them: changed literals of
        earlier strata first, then affected facts in the order in which they were found. With `place` -1
        the rule itself is deleted.
        """
        first = len(rule.head.terms)
        keep, level = among, np.zeros(batch.shape[0], np.int32)
        for other, literal in enumerate(rule.literals):
            rows = batch[:, first + other]
            if literal.relation in self.labels:
                self._raise_to(literal, batch, first + other, level)
                if not by_earlier and other != place:
                    marks = self.labels[literal.relation].marks[rows]
                    keep &= (marks == UNTOUCHED) | ((marks == CURRENT) & (other > place))
            elif self._must_check(literal) and other != place:
                keep &= self._held(literal, rows, new=False)
                if not by_earlier or other < place:
                    keep &= self._held(literal, rows, new=True)
        if by_earlier:
            keep &= level != ABSENT
        return keep, level[keep] + 1

    def standing(self, rule: FlatRule, batch: CodeArray, first: int, among: Mask) -> tuple[Mask, Int32s]:
        """Return the derivations that no changed literal and no affected fact takes away."""
        keep, level = among, np.zeros(batch.shape[0], np.int32)
        for other, literal in enumerate(rule.literals):
            rows = batch[:, first + other]
            if literal.relation in self.labels:
                self._raise_to(literal, batch, first + other, level)
                keep &= self.labels[literal.relation].marks[rows] == UNTOUCHED
            elif self._must_check(literal):
                keep &= self._held(literal, rows, new=False) & self._held(literal, rows, new=True)
        keep &= level != ABSENT
        return keep, level[keep] + 1

    def possible(
        self, rule: FlatRule, batch: CodeArray, first: int, place: int | None, among: Mask
    ) -> tuple[Mask, Int32s]:
        """Return the derivations that hold in the new epoch.

        With `place`, -1 for a rule that is new itself, those count that belong to the first literal that
        became true.
        """
        keep, level = among, np.zeros(batch.shape[0], np.int32)
        for other, literal in enumerate(rule.literals):
            rows = batch[:, first + other]
            if literal.relation in self.labels:
                self._raise_to(literal, batch, first + other, level)
            elif self._must_check(literal) and other != place:
                keep &= self._held(literal, rows, new=True)
                if place is not None and other < place:
                    keep &= self._held(literal, rows, new=False)
        keep &= level != ABSENT
        return keep, level[keep] + 1

    def improved(
        self, rule: FlatRule, batch: CodeArray, place: int, among: Mask
    ) -> tuple[Mask, Int32s, Int32s]:
        """Return the derivations to which settled facts give a smaller level, and the level they had.

        What had none has the level `ABSENT`.
        """
        first = len(rule.head.terms)
        keep, level = among, np.zeros(batch.shape[0], np.int32)
        before = np.zeros(batch.shape[0], np.int32)
        for other, literal in enumerate(rule.literals):
            column = first + other
            labels = self.labels.get(literal.relation)
            if labels is not None:
                levels = labels.relation.levels
                largest_level(levels, batch, column, level)
                largest_level_before(levels, labels.before, labels.marks, CURRENT, batch, column, before)
                if other < place:
                    keep &= labels.marks[batch[:, column]] != CURRENT
            elif self._must_check(literal):
                keep &= self._held(literal, batch[:, column], new=True)
        keep &= level < before
        was = before[keep]
        return keep, level[keep] + 1, np.where(was == ABSENT, ABSENT, was + 1)

    def is_recursive(self, rule: FlatRule) -> bool:
        """Say whether a rule reads its own stratum."""
        return any(literal.relation in self.labels for literal in rule.literals)

    def _raise_to(self, literal: RuleLiteral, batch: CodeArray, column: int, level: Int32s) -> None:
        largest_level(self.relations[literal.relation].levels, batch, column, level)

    def _must_check(self, literal: RuleLiteral) -> bool:
        """Say whether a derivation pushed by the engine may fail at this literal of an earlier stratum."""
        return literal.is_negated or literal.relation in self.earlier

    def _held(self, literal: RuleLiteral, rows: CodeArray, *, new: bool) -> Mask:
        """Say where a literal over an earlier stratum held in the new epoch, or in the old one."""
        relation = self.relations[literal.relation]
        return _holds(literal, rows, relation.levels if new else relation.previous)


def holds_now(relations: Mapping[str, StoredRelation], rule: FlatRule, batch: CodeArray, first: int) -> Mask:
    """Say which derivations are of facts that are there now, whatever the epoch makes of them."""
    holds = np.ones(batch.shape[0], np.bool_)
    for place, literal in enumerate(rule.literals):
        holds &= _holds(literal, batch[:, first + place], relations[literal.relation].levels)
    return holds


def _holds(literal: RuleLiteral, rows: CodeArray, levels: Int32s) -> Mask:
    present: Mask = (rows >= 0) & (levels[np.maximum(rows, 0)] != ABSENT)
    return ~present if literal.is_negated else present
