"""Proofs cut off at what the epoch did not touch: how the blamed changes cause a fault.

A fact that appeared has a proof whose steps all appeared too; a fact that vanished has derivations
it lost, each with the fact that is gone. Where a rule negates, the two meet. Aggregates and laws of a
relation (an equivalence, a choice, ...) do not tell which fact did it: there the blamed changes that can
have an effect stand below.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

import numpy as np

from tidelog.explain.blame.case import Case, Difference
from tidelog.explain.blame.explanation import Explanation, Place, RowDerivation
from tidelog.explain.blame.ground import as_rows
from tidelog.explain.blame.steps import Role, StoryStep
from tidelog.explain.blame.suspects import Key, Mask
from tidelog.plan.flatten import FlatRule, RuleLiteral
from tidelog.storage.annotations import ABSENT

# Lost derivations shown of one fact, and steps shown of one proof.
_MOST_LOST: Final = 3
_MOST_STEPS: Final = 400
# Derivations of one fact that are looked at for some that it lost.
_MOST_LOOKED_AT: Final = 5000


class ProofBuilder:
    """Tells explanations of a world; the engine must still stand in it.

    `taken` are the suspects that are taken back in it. The facts of the older epoch that `difference`
    names must have rows that joins see, for lost derivations are looked up among them.
    """

    def __init__(
        self, case: Case, explanation: Explanation, difference: Difference, taken: frozenset[int]
    ) -> None:
        self._case = case
        self._ground = case.ground
        self._explanation = explanation
        self._difference = difference
        self._blamed = case.everything - taken
        self._explained: set[Place] = set()
        self._old: dict[str, Mask] = {}

    def tell(self, key: Key) -> StoryStep:
        """Return the proof of a fault that is there, or what is lost of one that is not."""
        name, codes = key
        return self._tell((name, int(self._ground.locate(name, as_rows([codes]))[0])))

    def _tell(self, place: Place) -> StoryStep:
        fact, suspect = self._text(place), self._suspect(place)
        is_there = self._is_there(place)
        if suspect in self._blamed and place not in self._explanation.derivations:
            is_insert = self._case.suspects[suspect].is_insert
            if is_insert == is_there:
                return StoryStep(fact, Role.INSERTED if is_insert else Role.DELETED)
        if is_there == self._was_there(place):
            return StoryStep(fact, Role.UNTOUCHED)
        role = Role.APPEARED if is_there else Role.VANISHED
        if place in self._explained or len(self._explained) > _MOST_STEPS:
            return StoryStep(fact, role, is_shown_above=True)
        self._explained.add(place)
        return self._appeared(place, fact) if is_there else self._vanished(place, fact)

    def _premises(self, literal: RuleLiteral, number: int) -> tuple[StoryStep, ...]:
        """Return what is told of one literal of a derivation."""
        place = literal.relation, number
        if number < 0:
            # A negated fact that neither epoch has.
            return ()
        is_touched = self._is_there(place) != self._was_there(place)
        if "/" in literal.relation and literal.relation in self._ground.opaque:
            # The value of an aggregate, which the rule shows; what changed it is told.
            return self._from_changes(place) if is_touched else ()
        if literal.is_negated and not is_touched:
            return (StoryStep(f"!{self._text(place)}", Role.UNTOUCHED),)
        return (self._tell(place),)

    def _appeared(self, place: Place, fact: str) -> StoryStep:
        derivation = self._explanation.derivations.get(place)
        if derivation is None:
            return StoryStep(fact, Role.APPEARED, None, self._from_changes(place))
        found = [
            step
            for literal, number in zip(derivation.rule.literals, derivation.numbers, strict=True)
            for step in self._premises(literal, number)
        ]
        if place[0] not in self._shown:
            # A relation made for a negated atom: its only premise says the same.
            return found[0]
        return StoryStep(fact, Role.APPEARED, _quote(derivation.rule), _without_repeated_changes(found))

    def _vanished(self, place: Place, fact: str) -> StoryStep:
        steps = tuple(
            StoryStep(fact, Role.VANISHED, _quote(derivation.rule), self._losses(derivation, at))
            for derivation, at in self._lost(place)
        )
        if not steps:
            return StoryStep(fact, Role.VANISHED, None, self._from_changes(place))
        if place[0] not in self._shown:
            return steps[0].premises[0]
        if len(steps) == 1:
            return steps[0]
        return StoryStep(fact, Role.VANISHED, None, steps)

    def _losses(self, derivation: RowDerivation, at: int) -> tuple[StoryStep, ...]:
        """Return what is gone of a lost derivation, and all it consisted of where the rule itself is gone."""
        literals, numbers = derivation.rule.literals, derivation.numbers
        (key,) = self._ground.keys(literals[at].relation, [numbers[at]])
        if key not in self._case.names:
            return self._premises(literals[at], numbers[at])
        pairs = zip(literals, numbers, strict=True)
        return tuple(step for literal, number in pairs for step in self._premises(literal, number))

    def _lost(self, place: Place) -> list[tuple[RowDerivation, int]]:
        """Return derivations that the older epoch had, with the literal that fails; causes first.

        Those that are lost by the same rule for the same fact are told once.
        """
        distinct: dict[tuple[str, Place], tuple[RowDerivation, int]] = {}
        for derivation, known in islice(self._derivations_of(place), _MOST_LOOKED_AT):
            if self._did_hold(derivation):
                at = self._cause(derivation) if known is None else known
                missing = derivation.rule.literals[at].relation, derivation.numbers[at]
                distinct.setdefault((_quote(derivation.rule), missing), (derivation, at))
        return sorted(distinct.values(), key=lambda each: self._distance(*each))[:_MOST_LOST]

    def _derivations_of(self, place: Place) -> Iterator[tuple[RowDerivation, int | None]]:
        """Yield derivations of a fact that is not there, with the literal that fails if it is known."""
        failures = self._explanation.failures.get(place)
        if failures:
            yield from failures
        elif place[0] not in self._ground.opaque:
            for rule, batch in self._ground.backward(place[0], np.array([place[1]], np.int64)):
                for row in batch.tolist():
                    yield RowDerivation(rule, tuple(row[1:])), None

    def _cause(self, derivation: RowDerivation) -> int:
        """Return the literal of a derivation that fails here, as near to a change as there is one."""
        failing = [
            at
            for at, literal in enumerate(derivation.rule.literals)
            if self._is_failing(literal, derivation.numbers[at])
        ]
        return min(failing, key=lambda at: self._distance(derivation, at))

    def _distance(self, derivation: RowDerivation, at: int) -> int:
        """Return how far a literal is from a change: 0 for a change itself, 2 for what is told above."""
        place = derivation.rule.literals[at].relation, derivation.numbers[at]
        return 0 if self._suspect(place) in self._blamed else 1 + (place in self._explained)

    def _from_changes(self, place: Place) -> tuple[StoryStep, ...]:
        """Return the blamed changes that a fact can depend on, where no rule tells how."""
        (key,) = self._ground.keys(place[0], [place[1]])
        suspects = (self._case.suspects[n] for n in sorted(self._case.cones.of(key) & self._blamed))
        return tuple(
            StoryStep(self._case.fact_text(each.key), Role.INSERTED if each.is_insert else Role.DELETED)
            for each in suspects
        )

    @property
    def _shown(self) -> frozenset[str]:
        return frozenset(name for name in self._case.engine.program.relations if "/" not in name)

    def _did_hold(self, derivation: RowDerivation) -> bool:
        """Say whether a derivation held in the older epoch."""
        return all(
            (number < 0 or not self._was_there((literal.relation, number)))
            if literal.is_negated
            else self._was_there((literal.relation, number))
            for literal, number in zip(derivation.rule.literals, derivation.numbers, strict=True)
        )

    def _is_failing(self, literal: RuleLiteral, number: int) -> bool:
        return (number >= 0 and self._is_there((literal.relation, number))) == literal.is_negated

    def _is_there(self, place: Place) -> bool:
        name, number = place
        return bool(self._ground.relation(name).levels[number] != ABSENT)

    def _was_there(self, place: Place) -> bool:
        """Say whether a row was a fact in the older epoch."""
        name, number = place
        if name not in self._old:
            stored = self._ground.relation(name)
            flags = stored.levels_before() != ABSENT
            for rows, was_there in ((self._difference.inserted, False), (self._difference.deleted, True)):
                if name in rows:
                    numbers = self._ground.numbers(name, rows[name])
                    flags[numbers[numbers >= 0]] = was_there
            self._old[name] = flags
        # A row that was entered since then is a fact of neither epoch.
        return number < self._old[name].size and bool(self._old[name][number])

    def _suspect(self, place: Place) -> int | None:
        return self._case.numbers.get(self._ground.keys(place[0], [place[1]])[0])

    def _text(self, place: Place) -> str:
        return self._case.fact_text(self._ground.keys(place[0], [place[1]])[0])


def _without_repeated_changes(steps: list[StoryStep]) -> tuple[StoryStep, ...]:
    """Return the steps, each change once: two aggregates of a rule may depend on the same one."""
    changes = {Role.INSERTED, Role.DELETED}
    found: dict[StoryStep | int, StoryStep] = {}
    for place, step in enumerate(steps):
        found.setdefault(step if step.role in changes else place, step)
    return tuple(found.values())


def _quote(rule: FlatRule) -> str:
    return " ".join(rule.span.text.split())
