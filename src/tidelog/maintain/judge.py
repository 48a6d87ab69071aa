"""How an epoch changes derivations: lost, standing, possible or better, and the level each gives its head.

Derivations are judged here in batches, and one at a time by the kernel of small epochs; both ask
`storage.judge_row`. A derivation is a row of a batch: what is known of its head, then the row of each
literal, from the column `first` on.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.maintain.epoch_marks import EpochMarks
from tidelog.maintain.row_delta import RowDelta
from tidelog.plan.flatten import FlatRule
from tidelog.storage import StoredRelation
from tidelog.storage.address import address_of
from tidelog.storage.annotations import ABSENT
from tidelog.storage.judge_row import GAINING, HOLDING, LOSING, SETTLING, judge_batch
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s
from tidelog.storage.structs import addresses_of

Mask = npt.NDArray[np.bool_]
# The mask of the derivations that count, and levels for each of these.
Judged = tuple[Mask, Int32s] | tuple[Mask, Int32s, Int32s]
# A rule, the place of a literal, and the rows that changed there.
ChangedLiteral = tuple[FlatRule, int, Int64s]
# In place of a literal: derivations that are not found through any.
NOWHERE = -1


@dataclass(frozen=True)
class EpochJudge:
    """Judges the derivations of one stratum in one epoch.

    `marks` are those of the stratum's own relations, `earlier` what changed in earlier strata. Every answer
    is the mask of those `among` the derivations that count, and the level each of them gives its head.
    """

    relations: Mapping[str, StoredRelation]
    marks: Mapping[str, EpochMarks]
    earlier: Mapping[str, RowDelta]

    def lost(self, rule: FlatRule, batch: CodeArray, place: int, among: Mask) -> tuple[Mask, Int32s]:
        """Return the derivations that were lost at a literal; with `NOWHERE` the rule itself is deleted."""
        was, now = self._levels(rule, batch, len(rule.head.terms), place, LOSING)
        keep = among & (was != ABSENT) if place == NOWHERE else among & (was < now)
        return keep, was[keep] + 1

    def standing(self, rule: FlatRule, batch: CodeArray, first: int, among: Mask) -> tuple[Mask, Int32s]:
        """Return the derivations that no changed literal and no affected fact has removed."""
        _, now = self._levels(rule, batch, first, NOWHERE, LOSING)
        keep = among & (now != ABSENT)
        return keep, now[keep] + 1

    def holding(self, rule: FlatRule, batch: CodeArray, first: int, among: Mask) -> tuple[Mask, Int32s]:
        """Return the derivations that hold in the new epoch."""
        _, now = self._levels(rule, batch, first, NOWHERE, HOLDING)
        keep = among & (now != ABSENT)
        return keep, now[keep] + 1

    def gained(self, rule: FlatRule, batch: CodeArray, place: int, among: Mask) -> tuple[Mask, Int32s]:
        """Return the derivations that became possible at a literal; with `NOWHERE` the rule itself is new."""
        if place == NOWHERE:
            return self.holding(rule, batch, len(rule.head.terms), among)
        was, now = self._levels(rule, batch, len(rule.head.terms), place, GAINING)
        keep = among & (now < was)
        return keep, now[keep] + 1

    def improved(
        self, rule: FlatRule, batch: CodeArray, place: int, among: Mask
    ) -> tuple[Mask, Int32s, Int32s]:
        """Return the derivations to which settled facts give a smaller level, and the level they had.

        A derivation that had no level has `ABSENT`.
        """
        was, now = self._levels(rule, batch, len(rule.head.terms), place, SETTLING)
        keep = among & (now < was)
        before = was[keep]
        return keep, now[keep] + 1, np.where(before == ABSENT, ABSENT, before + 1)

    def is_recursive(self, rule: FlatRule) -> bool:
        """Say whether a rule reads its own stratum."""
        return any(literal.relation in self.marks for literal in rule.literals)

    def changed_literals(self, rules: Iterable[FlatRule], *, lost: bool) -> Iterator[ChangedLiteral]:
        """Yield the literals of earlier strata that became false (or true) with the rows that did it."""
        for rule in rules:
            for place, literal in enumerate(rule.literals):
                change = self.earlier.get(literal.relation)
                if change is None or literal.relation in self.marks:
                    continue
                rows = change.deleted if lost != literal.is_negated else change.inserted
                if rows.size:
                    yield rule, place, rows

    def _levels(
        self, rule: FlatRule, batch: CodeArray, first: int, place: int, reading: int
    ) -> tuple[Int32s, Int32s]:
        """Return the level of each derivation as it was and as it is now."""
        literals = []
        # Another thread may replace an array by a larger one: the kernel needs the one it has the address of.
        arrays: list[Int32s | Bools] = []
        for literal in rule.literals:
            relation, marks = self.relations[literal.relation], self.marks.get(literal.relation)
            # The engine only pushes derivations from facts, so unchanged atoms hold in both epochs.
            must_check = literal.is_negated or literal.relation in self.earlier
            flags = (0, literal.is_negated, marks is not None, must_check)
            read: list[Int32s | Bools] = [relation.levels, relation.before]
            read += [] if marks is None else [marks.marks]
            arrays += read
            literals.append((*flags, *map(address_of, read), *[0] * (3 - len(read))))
        return _judged(literals, batch, first, place, reading)


def levels_now(
    relations: Mapping[str, StoredRelation],
    own: Collection[str],
    rule: FlatRule,
    batch: CodeArray,
    first: int,
) -> Int32s:
    """Return the level of each derivation whose facts are there now, `ABSENT` for the others.

    `own` are the relations of the rule's stratum.
    """
    literals = []
    for literal in rule.literals:
        levels = address_of(relations[literal.relation].levels)
        literals.append((0, literal.is_negated, literal.relation in own, 1, levels, levels, 0))
    return _judged(literals, batch, first, NOWHERE, HOLDING)[1]


def _judged(
    literals: Sequence[tuple[int, ...]], batch: CodeArray, first: int, place: int, reading: int
) -> tuple[Int32s, Int32s]:
    table: Int64s = np.array(literals, np.int64).reshape(len(literals), 7)
    was, now = np.empty(batch.shape[0], np.int32), np.empty(batch.shape[0], np.int32)
    judge_batch(addresses_of(table), batch, first, place, reading, was, now)
    return was, now
