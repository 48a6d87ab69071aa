"""What an explanation consists of: a reason, and the derivations that it was found by."""

from dataclasses import field
from functools import cached_property

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.explain.blame.suspects import Literal, Reason
from tidelog.maintain.small.proving import FOUND_FIRST, FOUND_RELATION, FOUND_ROW, FOUND_RULE
from tidelog.maintain.small.stratum import SmallStratum
from tidelog.plan.flatten import FlatRule
from tidelog.storage.kernel import Int64s

# A row of a relation.
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class RowDerivation:
    """One rule application that was met: rows of the positive and the negated atoms."""

    rule: FlatRule
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Proved:
    """Facts of a stratum that a kernel proved, one line each; see `maintain.small.proving`."""

    stratum: int
    tables: SmallStratum
    rules: list[FlatRule]
    lines: Int64s


@dataclass
class Explanation:
    """A reason, and what it was found by: a derivation for each fact of the proofs."""

    literals: set[Literal] = field(default_factory=set)
    # Proofs that were found by kernels, and one by one.
    proved: list[Proved] = field(default_factory=list)
    slow: dict[Place, RowDerivation] = field(default_factory=dict)
    # Rows by relation.
    absent: dict[str, set[int]] = field(default_factory=dict)
    # Facts that the epoch did not touch, taken for granted.
    assumed: dict[str, Int64s] = field(default_factory=dict)
    # For an absent fact, the derivations it had and which of their literals fails.
    failures: dict[Place, list[tuple[RowDerivation, int]]] = field(default_factory=dict)
    # Derivations of absent facts that were looked at.
    work: int = 0
    # Whether there were too many derivations, so that cones stand for the rest.
    is_bounded: bool = False

    @property
    def reason(self) -> Reason:
        """Return the literals."""
        return frozenset(self.literals)

    def assume(self, name: str, rows: Int64s) -> None:
        """Take facts of a relation for granted."""
        known = self.assumed.get(name)
        self.assumed[name] = rows if known is None else np.concatenate([known, rows])

    @cached_property
    def derivations(self) -> dict[Place, RowDerivation]:
        """Return the derivation of each fact that was proved."""
        found = dict(self.slow)
        for proved in self.proved:
            for line in proved.lines[proved.lines[:, FOUND_RULE] >= 0].tolist():
                rule = proved.rules[line[FOUND_RULE]]
                numbers = tuple(line[FOUND_FIRST : FOUND_FIRST + len(rule.literals)])
                found[proved.tables.names[line[FOUND_RELATION]], line[FOUND_ROW]] = RowDerivation(
                    rule, numbers
                )
        return found
