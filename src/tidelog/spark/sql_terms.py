"""Terms and conditions of recursive SQL, as they are written."""

from tidelog.dataclass import dataclass
from tidelog.source import Span
from tidelog.values import Kind


@dataclass(frozen=True, slots=True)
class ColumnTerm:
    """A column, perhaps of a table that is named."""

    table: str | None
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class ConstantTerm:
    """A number or a text; its kind is that of its value."""

    value: int | float | str
    span: Span


@dataclass(frozen=True, slots=True)
class CallTerm:
    """An operator or a function of terms."""

    name: str
    terms: "tuple[Term, ...]"
    span: Span


@dataclass(frozen=True, slots=True)
class CastTerm:
    """A term as a value of another kind."""

    term: "Term"
    kind: Kind
    span: Span


Term = ColumnTerm | ConstantTerm | CallTerm | CastTerm


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two terms that are compared."""

    operator: str
    left: Term
    right: Term
    span: Span


@dataclass(frozen=True, slots=True)
class Truth:
    """A condition that always holds, or never."""

    holds: bool


@dataclass(frozen=True, slots=True)
class AllOf:
    """Conditions of which every one must hold."""

    conditions: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Conditions of which one must hold."""

    conditions: "tuple[Condition, ...]"


Condition = Comparison | Truth | AllOf | AnyOf

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def negated(condition: Condition) -> Condition:
    """Return the condition that holds where this one does not; there are no nulls."""
    match condition:
        case Comparison(operator, left, right, span):
            return Comparison(_OPPOSITE[operator], left, right, span)
        case Truth(holds):
            return Truth(not holds)
        case AllOf(conditions):
            return AnyOf(tuple(map(negated, conditions)))
        case AnyOf(conditions):
            return AllOf(tuple(map(negated, conditions)))


def alternatives(condition: Condition) -> list[list[Comparison]]:
    """Return comparisons in groups: the condition holds if all of one group do."""
    match condition:
        case Comparison():
            return [[condition]]
        case Truth(holds):
            return [[]] if holds else []
        case AnyOf(conditions):
            return [group for each in conditions for group in alternatives(each)]
        case AllOf(conditions):
            groups: list[list[Comparison]] = [[]]
            for each in conditions:
                groups = [[*group, *more] for group in groups for more in alternatives(each)]
            return groups
