"""Proofs cut off at what the epoch did not touch: how the changes blamed bring a fault about.

A fact that appeared has a proof whose steps all appeared too; a fact that vanished has derivations
it lost, each with the fact that is gone. Where a rule negates, the two meet.
"""

from typing import Final

import numpy as np

from tidelog.plan.maintenance import MaintainedRule
from tidelog.storage.annotations import ABSENT
from tidelog.views.blame.case import Case
from tidelog.views.blame.explanation import Derivation, Explanation, Place
from tidelog.views.blame.steps import Role, Step
from tidelog.views.blame.suspects import Key

# Lost derivations shown of one fact, and steps shown of one proof.
_MOST_LOST: Final = 3
_MOST_STEPS: Final = 400


class Storyteller:
    """Tells explanations of a world; the engine must still stand in it."""

    def __init__(self, case: Case, explanation: Explanation) -> None:
        self._case = case
        self._explanation = explanation
        self._told: set[Place] = set()
        self._old: dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}

    def tell(self, key: Key) -> Step:
        """Return the proof of a fault that is there, or what is lost of one that is not."""
        name, codes = key
        number = int(self._case.ground.numbers(name, np.array([codes], np.int64).reshape(1, len(codes)))[0])
        return self._tell((name, number))

    def _tell(self, place: Place) -> Step:
        fact, suspect = self._text(place), self._suspect(place)
        is_there = self._is_there(place)
        if suspect is not None and (place not in self._explanation.derivations):
            is_insert = self._case.suspects[suspect].is_insert
            if is_insert == is_there:
                return Step(fact, Role.INSERTED if is_insert else Role.DELETED)
        if is_there == self._was_there(place):
            return Step(fact, Role.UNTOUCHED)
        role = Role.APPEARED if is_there else Role.VANISHED
        if place in self._told or len(self._told) > _MOST_STEPS:
            return Step(fact, role, is_shown_above=True)
        self._told.add(place)
        return self._appeared(place, fact) if is_there else self._vanished(place, fact)

    def _appeared(self, place: Place, fact: str) -> Step:
        derivation = self._explanation.derivations.get(place)
        if derivation is None:
            return Step(fact, Role.APPEARED)
        premises = tuple(
            self._tell((literal.relation, number))
            for literal, number in zip(derivation.rule.literals, derivation.numbers, strict=True)
            if number >= 0
        )
        if place[0] not in self._shown:
            # A relation made for a negated atom: its only premise says the same.
            return premises[0]
        return Step(fact, Role.APPEARED, _quote(derivation.rule), premises)

    def _vanished(self, place: Place, fact: str) -> Step:
        lost = [each for each in self._explanation.failures.get(place, ()) if self._did_hold(each[0])]
        steps = tuple(
            Step(
                fact, Role.VANISHED, _quote(derivation.rule),
                (self._tell((derivation.rule.literals[at].relation, derivation.numbers[at])),),
            )
            for derivation, at in lost[:_MOST_LOST]
        )  # fmt: skip
        if place[0] not in self._shown and steps:
            return steps[0].premises[0]
        if len(steps) == 1:
            return steps[0]
        return Step(fact, Role.VANISHED, None, steps)

    @property
    def _shown(self) -> frozenset[str]:
        return frozenset(name for name in self._case.engine.program.relations if "/" not in name)

    def _did_hold(self, derivation: Derivation) -> bool:
        """Say whether a derivation held in the older epoch."""
        return all(
            (number < 0 or not self._was_there((literal.relation, number)))
            if literal.is_negated
            else self._was_there((literal.relation, number))
            for literal, number in zip(derivation.rule.literals, derivation.numbers, strict=True)
        )

    def _is_there(self, place: Place) -> bool:
        name, number = place
        return bool(self._case.ground.relation(name).levels[number] != ABSENT)

    def _was_there(self, place: Place) -> bool:
        """Say whether a row was a fact in the older epoch."""
        name, number = place
        if name not in self._old:
            ground = self._case.ground
            stored = ground.relation(name)
            flags = stored.previous[: stored.count] != ABSENT
            for rows, was_there in ((self._case.inserted, False), (self._case.deleted, True)):
                if name in rows:
                    numbers = ground.numbers(name, rows[name])
                    flags[numbers[numbers >= 0]] = was_there
            self._old[name] = flags
        if "/" in name:
            return self._was_projected(place)
        return bool(self._old[name][number])

    def _was_projected(self, place: Place) -> bool:
        """Say the same of a relation made by maintenance, which no difference of epochs names."""
        name, number = place
        explained = self._explanation
        if place in explained.derivations:
            return self._did_hold(explained.derivations[place])
        lost = explained.failures.get(place)
        if lost is not None:
            return any(self._did_hold(derivation) for derivation, _ in lost)
        return bool(self._old[name][number])

    def _suspect(self, place: Place) -> int | None:
        return self._case.numbers.get(self._case.ground.keys(place[0], [place[1]])[0])

    def _text(self, place: Place) -> str:
        return self._case.fact_text(self._case.ground.keys(place[0], [place[1]])[0])


def _quote(rule: MaintainedRule) -> str:
    return " ".join(rule.rule.span.text.split())
