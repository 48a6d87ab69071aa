"""One rule application that yields a fact."""

from tidelog.dataclass import dataclass
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.rules import QuotedRule
from tidelog.values import Fact, Value


@dataclass(frozen=True, slots=True)
class Premise:
    """A positive atom of the body and the fact it stands for."""

    atom: GroundAtom

    def __str__(self) -> str:
        return str(self.atom)


@dataclass(frozen=True, slots=True)
class Absence:
    """A negated atom: no fact of the relation has these values; None is any value.

    `bound` says which columns have a value, because nil is a value too.
    """

    relation: str
    pattern: Fact
    bound: tuple[int, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def atom(self) -> GroundAtom | None:
        """Return the one fact that must not hold, or None if there are several."""
        is_ground = len(self.bound) == len(self.pattern)
        return GroundAtom(self.relation, self.pattern) if is_ground else None


@dataclass(frozen=True, slots=True)
class HeldConstraint:
    """A constraint, or a `range`, with values in the place of variables."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Aggregation:
    """An aggregate: its value, and the facts of its group, each once."""

    text: str
    value: Value
    group: tuple[GroundAtom, ...]

    def __str__(self) -> str:
        return self.text


BodyPart = Premise | Absence | HeldConstraint


@dataclass(frozen=True, slots=True)
class Derivation:
    """A rule applied to facts.

    `bindings` are the rule's variables as the user named them; `parts` the literals of the body in
    the order they were written, `aggregations` the aggregates among their terms.
    """

    head: GroundAtom
    rule: QuotedRule
    bindings: tuple[tuple[str, Value], ...]
    parts: tuple[BodyPart, ...]
    aggregations: tuple[Aggregation, ...] = ()

    @property
    def premises(self) -> tuple[GroundAtom, ...]:
        """Return the facts the derivation rests on: of positive atoms, then of aggregates."""
        positive = [part.atom for part in self.parts if isinstance(part, Premise)]
        grouped = [atom for aggregation in self.aggregations for atom in aggregation.group]
        return tuple(dict.fromkeys([*positive, *grouped]))

    @property
    def negated(self) -> tuple[Absence, ...]:
        """Return the negated atoms."""
        return tuple(part for part in self.parts if isinstance(part, Absence))

    @property
    def constraints(self) -> tuple[HeldConstraint, ...]:
        """Return the constraints."""
        return tuple(part for part in self.parts if isinstance(part, HeldConstraint))

    def __str__(self) -> str:
        body = ", ".join(map(str, self.parts))
        return f"{self.head} :- {body}." if body else f"{self.head}."
