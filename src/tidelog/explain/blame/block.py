"""All derivations around unwanted facts at once, as inequalities.

A fault may have more proofs than anyone can list, though few derivations. Where breaking proofs one by
one goes on for long, the derivations themselves go into the integer program: a variable `y` for each
fact that the epoch brought is 1 if the fact holds, so that

    y(head)  >=  sum of y(premises) - (number of premises - 1)

and `y` of a fault is 0. What a row takes for granted must be certain for the row to prove a bound.
"""

from collections.abc import Iterable
from dataclasses import field
from typing import Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.explain.blame.case import Case
from tidelog.explain.blame.explanation import Place
from tidelog.explain.blame.suspects import Key, Mask
from tidelog.plan.flatten import FlatRule
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import Int64s

# More derivations than these are left to proofs one by one.
_MOST_ROWS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Row:
    """A derivation, or an input fact: premises by their variables, suspects that must stay, the rest."""

    head: int
    premises: frozenset[int]
    suspects: frozenset[int] = frozenset()
    assumed: frozenset[Place] = frozenset()


@dataclass
class Block:
    """The facts that have variables, those of faults, and the rows."""

    places: dict[Place, int] = field(default_factory=dict)
    faults: set[int] = field(default_factory=set)
    rows: dict[Row, None] = field(default_factory=dict)

    @property
    def assumed(self) -> set[Place]:
        """Return all facts that rows take for granted."""
        return {place for row in self.rows for place in row.assumed}

    def variable(self, place: Place) -> int:
        """Return the variable of a fact."""
        return self.places.setdefault(place, len(self.places))


def find_block(case: Case, faults: Iterable[Key]) -> Block | None:
    """Return the derivations of facts that appeared; None if there are too many.

    The engine stands in the newer epoch, and all possible facts are visible to joins.
    """
    search = _Search(case)
    for name, codes in faults:
        number = int(case.ground.numbers(name, np.array([codes], np.int64).reshape(1, len(codes)))[0])
        search.block.faults.add(search.node((name, number)))
    return search.block if search.run() else None


class _Search:
    """Goes backward from the faults through facts that the epoch brought."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._ground = case.ground
        self.block = Block()
        self._waiting: dict[str, list[int]] = {}
        self._touched: dict[str, Mask] = {}

    def node(self, place: Place) -> int:
        """Return the variable of a fact, which is looked at later if it is new."""
        if place not in self.block.places:
            self._waiting.setdefault(place[0], []).append(place[1])
        return self.block.variable(place)

    def run(self) -> bool:
        """Look at all facts; return False if there are too many derivations."""
        while self._waiting:
            name, numbers = self._waiting.popitem()
            if name in self._ground.opaque:
                continue
            self._inputs(name, numbers)
            for rule, batch in self._ground.backward(name, np.array(numbers, np.int64)):
                if len(batch) + len(self.block.rows) > _MOST_ROWS:
                    return False
                for row in batch[self._holds(rule, batch)].tolist():
                    self._derivation((name, row[0]), rule, row[1:])
        return True

    def _inputs(self, name: str, numbers: list[int]) -> None:
        stored = self._ground.relation(name)
        for number, key in zip(numbers, self._ground.keys(name, numbers), strict=True):
            if stored.levels[number] == 0:
                suspect = self._case.numbers.get(key)
                suspects = frozenset() if suspect is None else frozenset((suspect,))
                self.block.rows[Row(self.block.variable((name, number)), frozenset(), suspects)] = None

    def _holds(self, rule: FlatRule, batch: Int64s) -> Mask:
        """Say which derivations hold now, and will as long as their premises do."""
        holds: Mask = np.ones(len(batch), np.bool_)
        for place, literal in enumerate(rule.literals, start=1):
            numbers = batch[:, place]
            if literal.is_negated:
                holds &= (numbers < 0) & (literal.relation not in self._ground.unsure)
            else:
                holds &= self._ground.relation(literal.relation).levels[numbers] != ABSENT
        return holds

    def _derivation(self, head: Place, rule: FlatRule, numbers: list[int]) -> None:
        premises: set[int] = set()
        assumed: set[Place] = set()
        for literal, number in zip(rule.literals, numbers, strict=True):
            if literal.is_negated:
                continue
            place = literal.relation, number
            if self._is_touched(place):
                premises.add(self.node(place))
            elif literal.relation in self._case.marks.affected:
                assumed.add(place)
        if self.block.variable(head) not in premises:
            row = Row(self.block.variable(head), frozenset(premises), frozenset(), frozenset(assumed))
            self.block.rows[row] = None

    def _is_touched(self, place: Place) -> bool:
        name, number = place
        if name not in self._touched:
            flags = np.zeros(self._ground.relation(name).count, np.bool_)
            if name in self._case.inserted:
                found = self._ground.numbers(name, self._case.inserted[name])
                flags[found[found >= 0]] = True
            self._touched[name] = flags
        return bool(self._touched[name][number])
