"""Which number `autoinc()` gave to which derivation.

Numbers are assigned like codes: 0, 1, 2 and so on, permanently, to derivations that never had one. A
derivation that is deleted and derived again gets its old number, and no other derivation ever gets it.
So numbers depend only on the order in which derivations first appeared, whatever engine or strategy found
them, and undoing an epoch means forgetting the numbers it assigned.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import Codes
from tidelog.values import Codec


@dataclass(frozen=True, slots=True)
class CountedRule:
    """A rule with `autoinc()`: the relation of its derivations, and the functor that returns their numbers.

    `name` is the same for the same rule in every program. `types` are those of the relation's columns,
    and `step` is how often the rule counts.
    """

    name: str
    head: str
    relation: str
    functor: str
    types: tuple[str, ...]
    step: int


@dataclass(frozen=True)
class RuleNumbers:
    """The derivations of one rule, a column of codes per variable, with the first number of each.

    A derivation has `step` numbers, one for each `autoinc()` of the rule.
    """

    columns: Sequence[Codes]
    numbers: Codes
    step: int


@dataclass
class _NumberedRule:
    """The numbers of one rule in the order in which they were assigned; the table is built on demand."""

    step: int
    pieces: list[RuleNumbers] = field(default_factory=list)
    table: dict[Hashable, int] | None = None

    def find(self) -> dict[Hashable, int]:
        """Return the number of each derivation."""
        if self.table is None:
            self.table = {}
            for piece in self.pieces:
                self.table.update(
                    zip(_keys(piece.columns, piece.numbers.size), piece.numbers.tolist(), strict=True)
                )
        return self.table

    def since(self, mark: int) -> RuleNumbers:
        """Return the numbers from a mark on."""
        first = len(self.pieces)
        while first and self.pieces[first - 1].numbers[-1] >= mark:
            first -= 1
        pieces = self.pieces[first:]
        numbers = np.concatenate([np.empty(0, np.int64), *(piece.numbers for piece in pieces)])
        columns = [np.concatenate(parts) for parts in zip(*(piece.columns for piece in pieces), strict=True)]
        start = int(np.searchsorted(numbers, mark))
        return RuleNumbers([column[start:] for column in columns], numbers[start:], self.step)

    def rewind(self, mark: int) -> None:
        """Forget the numbers from a mark on."""
        while self.pieces and self.pieces[-1].numbers[-1] >= mark:
            last = self.pieces.pop()
            end = int(np.searchsorted(last.numbers, mark))
            if self.table is not None:
                for key in _keys([column[end:] for column in last.columns], last.numbers.size - end):
                    del self.table[key]
            if end:
                columns = [column[:end] for column in last.columns]
                self.pieces.append(RuleNumbers(columns, last.numbers[:end], self.step))


class Numbering:
    """The numbers assigned so far, by rule; an engine passes it on to the one that replaces it.

    numbering.give(rule, [codes], codes.size, codec)
    numbering.find(rule.name, [codes], codes.size)  ->  [0, 1, 2]
    """

    def __init__(self) -> None:
        self._rules: dict[str, _NumberedRule] = {}
        self._next = 0

    def give(self, rule: CountedRule, columns: Sequence[Codes], count: int, codec: Codec) -> None:
        """Assign numbers in value order to the derivations without one; these must all be different."""
        numbered = self._rules.setdefault(rule.name, _NumberedRule(rule.step))
        if numbered.pieces:
            table = numbered.find()
            keys = _keys(columns, count)
            new = np.array([place for place, key in enumerate(keys) if key not in table], np.int64)
            columns, count = [column[new] for column in columns], new.size
        if not count:
            return
        order = codec.sort_rows(columns, rule.types)
        numbers = self._next + rule.step * np.arange(count, dtype=np.int64)
        piece = RuleNumbers([column[order] for column in columns], numbers, rule.step)
        numbered.pieces.append(piece)
        if numbered.table is not None:
            numbered.table.update(zip(_keys(piece.columns, count), numbers.tolist(), strict=True))
        self._next += rule.step * count

    def find(self, rule: str, columns: Sequence[Codes], count: int) -> Codes:
        """Return the first number of each derivation, -1 for a binding that is not one.

        A plan may ask for the number of a binding before it checks that there is such a derivation.
        """
        numbered = self._rules.get(rule)
        table = {} if numbered is None else numbered.find()
        return np.fromiter((table.get(key, -1) for key in _keys(columns, count)), np.int64, count)

    def mark(self) -> int:
        """Return the next number: `rewind` to it forgets all numbers assigned from here on."""
        return self._next

    def rewind(self, mark: int) -> None:
        """Forget all numbers from a mark on."""
        if mark == self._next:
            return
        for numbered in self._rules.values():
            numbered.rewind(mark)
        self._next = mark

    def export(self, mark: int = 0) -> dict[str, RuleNumbers]:
        """Return the numbers from a mark on, by rule."""
        found = {rule: numbered.since(mark) for rule, numbered in self._rules.items()}
        return {rule: numbers for rule, numbers in found.items() if numbers.numbers.size}

    def take(self, exported: Mapping[str, RuleNumbers]) -> None:
        """Replace all numbers by exported ones."""
        self._rules, self._next = {}, 0
        self.add(exported)

    def add(self, exported: Mapping[str, RuleNumbers]) -> None:
        """Append numbers that were assigned after all known here."""
        for rule, numbers in exported.items():
            numbered = self._rules.setdefault(rule, _NumberedRule(numbers.step))
            numbered.pieces.append(numbers)
            numbered.table = None
            self._next = max(self._next, int(numbers.numbers[-1]) + numbers.step)

    def copy(self) -> "Numbering":
        """Return a copy, for another engine to continue with."""
        other = Numbering()
        other.take(self.export())
        return other


def _keys(columns: Sequence[Codes], count: int) -> list[Hashable]:
    if not columns:
        return [()] * count
    if len(columns) == 1:
        return list(columns[0].tolist())
    return list(zip(*(column.tolist() for column in columns), strict=True))
