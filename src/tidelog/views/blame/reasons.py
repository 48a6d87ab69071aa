"""Why facts are there, or not there, in one world: the suspects that this rests on.

A reason is sound for every world: wherever its suspects are taken back, or not, as they are here,
the facts are there, or not there, as they are here.

* A fact is there because of a proof: its given facts must be there, and its negated facts must not.
* Facts are not there because of one another: every derivation that some world may have of any of
  them lacks one of them, lacks a given fact, or has a negated fact that is there.
"""

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tidelog.plan.maintenance import MaintainedRule, RuleLiteral
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import Int64s
from tidelog.views.blame.cone import Cones
from tidelog.views.blame.ground import Ground
from tidelog.views.blame.suspects import Key, Literal, Mask, Reason, Rows

# Derivations of absent facts that one explanation looks at.
_MOST_DERIVATIONS: Final = 500_000
# A row of a relation.
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Derivation:
    """One rule application that was met: rows of the positive and the negated atoms."""

    rule: MaintainedRule
    numbers: tuple[int, ...]


@dataclass
class Explanation:
    """A reason, and what it was found by: a derivation for each fact of the proofs."""

    literals: set[Literal] = field(default_factory=set)
    derivations: dict[Place, Derivation] = field(default_factory=dict)
    # Rows by relation.
    present: dict[str, set[int]] = field(default_factory=dict)
    absent: dict[str, set[int]] = field(default_factory=dict)
    # Facts that the epoch did not touch, taken for granted.
    assumed: dict[Key, None] = field(default_factory=dict)
    # For an absent fact, the derivations it had and which of their literals fails.
    failures: dict[Place, list[tuple[Derivation, int]]] = field(default_factory=dict)

    # Derivations of absent facts that were looked at.
    work: int = 0

    @property
    def is_bounded(self) -> bool:
        """Say whether there were too many derivations, so that cones stand for the rest."""
        return self.work > _MOST_DERIVATIONS

    @property
    def reason(self) -> Reason:
        """Return the literals."""
        return frozenset(self.literals)


class Certain:
    """Facts that were proved without any suspect, so that they hold in every world.

    Rows keep their numbers as long as the relation is not replaced, whatever trial comes and goes.
    """

    def __init__(self, affected: frozenset[str]) -> None:
        self._affected = affected
        self._known: dict[str, tuple[StoredRelation, set[int]]] = {}

    def of(self, name: str, stored: StoredRelation) -> set[int]:
        """Return the rows of a relation that are known to hold always."""
        known = self._known.get(name)
        if known is None or known[0] is not stored:
            known = self._known[name] = stored, set()
        return known[1]

    def is_affected(self, name: str) -> bool:
        """Say whether any suspect can have an effect on a relation."""
        return name in self._affected


class Explainer:
    """Explains facts of the world that the engine stands in.

    All possible facts must be visible to joins. `changed` are the facts that the epoch brought:
    proofs go around them where they can, and with `assumes` stop at all others.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what there is to know about a case
        self, ground: Ground, suspects: Mapping[Key, int], cones: Cones, certain: Certain,
        taken: frozenset[int], changed: Rows, *, assumes: bool = False,
    ) -> None:  # fmt: skip
        self._ground = ground
        self._suspects = suspects
        self._cones = cones
        self._certain = certain
        self._taken = taken
        self._changed = changed
        self._assumes = assumes
        self._flags: dict[str, Mask] = {}
        self.end = math.inf

    def explain(self, facts: Iterable[Key], *, are_there: bool) -> Explanation:
        """Return why the facts are all there, or all not there.

        Raises `TimeoutError` when it is later than `end`.
        """
        found = Explanation()
        present: dict[str, set[int]] = {}
        absent: dict[str, set[int]] = {}
        for name, codes in facts:
            number = int(self._ground.numbers(name, np.array([codes], np.int64).reshape(1, len(codes)))[0])
            if number >= 0:
                (present if are_there else absent).setdefault(name, set()).add(number)
            elif name in self._ground.unsure:
                found.literals.update((each, each in self._taken) for each in self._cones.of((name, codes)))
        while present or absent:
            if time.monotonic() > self.end:
                raise TimeoutError
            if present:
                name, numbers = present.popitem()
                self._present(name, numbers - found.present.get(name, set()), found, present, absent)
            else:
                name, numbers = absent.popitem()
                self._absent(name, numbers - found.absent.get(name, set()), found, present, absent)
        self._remember(found)
        return found

    def _remember(self, found: Explanation) -> None:
        """Note the facts whose proofs rest on no suspect."""
        stratum_of = self._ground.stratum_of
        levels = {name: self._ground.relation(name).levels for name in found.present}
        places = [(name, number) for name, numbers in found.present.items() for number in numbers]
        for name, number in sorted(places, key=lambda each: (stratum_of[each[0]], levels[each[0]][each[1]])):
            known = self._certain.of(name, self._ground.relation(name))
            derivation = found.derivations.get((name, number))
            if number in known or derivation is None:
                continue
            pairs = zip(derivation.rule.literals, derivation.numbers, strict=True)
            if all(self._is_certain(literal, row) for literal, row in pairs):
                known.add(number)

    def _is_certain(self, literal: RuleLiteral, row: int) -> bool:
        name = literal.relation
        if literal.is_negated:
            return row < 0 and (name not in self._ground.unsure or not self._certain.is_affected(name))
        return self.is_certain((name, row))

    def is_certain(self, place: Place) -> bool:
        """Say whether a fact is known to hold in every world."""
        name, row = place
        if not self._certain.is_affected(name):
            return True
        stored = self._ground.relation(name)
        if row in self._certain.of(name, stored):
            return True
        # A given fact that nobody suspects.
        is_given = name not in self._ground.opaque and stored.levels[row] == 0
        return bool(is_given and self._ground.keys(name, [row])[0] not in self._suspects)

    # --- facts that are there --------------------------------------------------------------------

    def _present(
        self, name: str, asked: set[int], found: Explanation,
        present: dict[str, set[int]], absent: dict[str, set[int]],
    ) -> None:  # fmt: skip
        stored = self._ground.relation(name)
        found.present.setdefault(name, set()).update(asked)
        if not self._certain.is_affected(name):
            return
        numbers = np.array(sorted(asked - self._certain.of(name, stored)), np.int64)
        if name in self._ground.opaque:
            self._by_cone(name, numbers, found)
            return
        if self._assumes:
            is_touched = self._flags_of(name)[numbers]
            found.assumed.update(dict.fromkeys(self._ground.keys(name, numbers[~is_touched])))
            numbers = numbers[is_touched]
        levels = stored.levels[numbers]
        self._given(name, numbers[levels == 0], found)
        for number, derivation in self._proofs(name, numbers[levels != 0]).items():
            found.derivations[name, number] = derivation
            for literal, row in zip(derivation.rule.literals, derivation.numbers, strict=True):
                if not literal.is_negated:
                    present.setdefault(literal.relation, set()).add(row)
                elif row >= 0:
                    absent.setdefault(literal.relation, set()).add(row)
                elif literal.relation in self._ground.unsure:
                    self._by_whole_cone(literal.relation, found)

    def _proofs(self, name: str, numbers: Int64s) -> dict[int, Derivation]:
        """Return a derivation of each row from rows of lower level, with few changed facts in it."""
        best: dict[int, tuple[int, Derivation]] = {}
        if not numbers.size:
            return {}
        for rule, batch in self._ground.backward(name, numbers):
            valid = batch[self._holds(name, rule, batch)]
            if not len(valid):
                continue
            scores = self._scores(rule, valid)
            order = np.lexsort((scores, valid[:, 0]))
            heads = valid[order, 0]
            firsts = order[np.flatnonzero(np.diff(heads, prepend=-1))]
            for row, score in zip(valid[firsts].tolist(), scores[firsts].tolist(), strict=True):
                if row[0] not in best or score < best[row[0]][0]:
                    best[row[0]] = score, Derivation(rule, tuple(row[1:]))
        assert len(best) == numbers.size, "every fact has a proof"
        return {number: derivation for number, (_, derivation) in best.items()}

    def _holds(self, name: str, rule: MaintainedRule, batch: Int64s) -> Mask:
        """Say of derivations whether they hold here, from rows of lower level than their heads."""
        ground = self._ground
        levels = ground.relation(name).levels[batch[:, 0]]
        holds = np.ones(len(batch), np.bool_)
        for place, literal in enumerate(rule.literals, start=1):
            numbers = batch[:, place]
            of_rows = ground.relation(literal.relation).levels[np.maximum(numbers, 0)]
            if literal.is_negated:
                holds &= (numbers < 0) | (of_rows == ABSENT)
                continue
            holds &= of_rows != ABSENT
            if ground.stratum_of[literal.relation] == ground.stratum_of[name]:
                holds &= of_rows < levels
        return holds

    def _scores(self, rule: MaintainedRule, batch: Int64s) -> Int64s:
        """Return how many facts of each derivation may be others in other worlds."""
        scores = np.zeros(len(batch), np.int64)
        for place, literal in enumerate(rule.literals, start=1):
            numbers = batch[:, place]
            if literal.is_negated:
                # A row that joins see and that is no fact here is one in another world.
                scores += numbers >= 0
            else:
                scores += self._flags_of(literal.relation)[numbers]
        return scores

    def _flags_of(self, name: str) -> Mask:
        """Return for each row whether the fact is one that the epoch, or the trial, brought."""
        flags = self._flags.get(name)
        if flags is None:
            stored = self._ground.relation(name)
            flags = (stored.previous[: stored.count] == ABSENT) & (stored.levels[: stored.count] != ABSENT)
            if name in self._changed:
                numbers = self._ground.numbers(name, self._changed[name])
                flags[numbers[numbers >= 0]] = True
            self._flags[name] = flags
        return flags

    # --- facts that are not there ------------------------------------------------------------------

    def _absent(
        self, name: str, asked: set[int], found: Explanation,
        present: dict[str, set[int]], absent: dict[str, set[int]],
    ) -> None:  # fmt: skip
        numbers = np.array(sorted(asked), np.int64)
        found.absent.setdefault(name, set()).update(asked)
        if name in self._ground.unsure:
            self._by_cone(name, numbers, found)
            return
        if found.work > _MOST_DERIVATIONS:
            self._by_cone(name, numbers, found)
            return
        self._given(name, numbers, found)
        open_ones: list[tuple[int, Derivation, list[int]]] = []
        for rule, batch in self._ground.backward(name, numbers):
            found.work += len(batch)
            blocked = self._blocked(rule, batch)
            for row, flags in zip(batch.tolist(), blocked.tolist(), strict=True):
                failing = [place for place, is_failing in enumerate(flags) if is_failing]
                assert failing, "a fact with a derivation is there"
                open_ones.append((row[0], Derivation(rule, tuple(row[1:])), failing))
        for head, derivation, place in self._choose(open_ones, found):
            found.failures.setdefault((name, head), []).append((derivation, place))
            literal, row = derivation.rule.literals[place], derivation.numbers[place]
            (present if literal.is_negated else absent).setdefault(literal.relation, set()).add(row)

    def _blocked(self, rule: MaintainedRule, batch: Int64s) -> Mask:
        """Say of each literal of derivations whether it fails here."""
        blocked = np.zeros((len(batch), len(rule.literals)), np.bool_)
        for place, literal in enumerate(rule.literals):
            numbers = batch[:, place + 1]
            of_rows = self._ground.relation(literal.relation).levels[np.maximum(numbers, 0)]
            if literal.is_negated:
                blocked[:, place] = (numbers >= 0) & (of_rows != ABSENT)
            else:
                blocked[:, place] = of_rows == ABSENT
        return blocked

    def _choose(
        self, open_ones: list[tuple[int, Derivation, list[int]]], found: Explanation
    ) -> list[tuple[int, Derivation, int]]:
        """Return which literal fails in each derivation: as few facts as possible altogether.

        Facts that are explained already cost nothing; then the one that fails in most derivations is
        taken, a given fact before a derived one, until all are covered.
        """
        chosen: list[tuple[int, Derivation, int]] = []
        left = []
        for each in open_ones:
            head, derivation, failing = each
            free = [place for place in failing if self._is_explained(derivation, place, found)]
            if free:
                chosen.append((head, derivation, free[0]))
            else:
                left.append(each)
        while left:
            counts = Counter(
                _place(derivation, place) for _, derivation, failing in left for place in failing
            )
            best = max(
                counts, key=lambda each: (counts[each], each[0] and not self._ground.rules[each[1]], each)
            )
            kept = []
            for head, derivation, failing in left:
                places = [place for place in failing if _place(derivation, place) == best]
                if places:
                    chosen.append((head, derivation, places[0]))
                else:
                    kept.append((head, derivation, failing))
            left = kept
        return chosen

    @staticmethod
    def _is_explained(derivation: Derivation, place: int, found: Explanation) -> bool:
        is_positive, name, number = _place(derivation, place)
        return number in (found.absent if is_positive else found.present).get(name, ())

    # --- both ----------------------------------------------------------------------------------------

    def _given(self, name: str, numbers: Int64s, found: Explanation) -> None:
        """Note the suspects among given facts, or among facts that are not given."""
        for key in self._ground.keys(name, numbers):
            suspect = self._suspects.get(key)
            if suspect is not None:
                found.literals.add((suspect, suspect in self._taken))

    def _by_whole_cone(self, name: str, found: Explanation) -> None:
        """Note all that a relation depends on, for a fact of it that has no row."""
        if self._certain.is_affected(name):
            anything = (None,) * self._ground.relation(name).arity
            found.literals.update((each, each in self._taken) for each in self._cones.of((name, anything)))

    def _by_cone(self, name: str, numbers: Int64s, found: Explanation) -> None:
        for key in self._ground.keys(name, numbers):
            found.literals.update((each, each in self._taken) for each in self._cones.of(key))


def _place(derivation: Derivation, place: int) -> tuple[bool, str, int]:
    literal = derivation.rule.literals[place]
    return not literal.is_negated, literal.relation, derivation.numbers[place]
