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
    terms: "tuple[SqlTerm, ...]"
    span: Span


@dataclass(frozen=True, slots=True)
class CastTerm:
    """A term as a value of another kind."""

    term: "SqlTerm"
    kind: Kind
    span: Span


SqlTerm = ColumnTerm | ConstantTerm | CallTerm | CastTerm


@dataclass(frozen=True, slots=True)
class SqlComparison:
    """Two terms that are compared."""

    operator: str
    left: SqlTerm
    right: SqlTerm
    span: Span


@dataclass(frozen=True, slots=True)
class SqlTruth:
    """A condition that always holds, or never."""

    holds: bool


@dataclass(frozen=True, slots=True)
class AllOf:
    """Conditions of which every one must hold."""

    conditions: "tuple[SqlCondition, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Conditions of which one must hold."""

    conditions: "tuple[SqlCondition, ...]"


SqlCondition = SqlComparison | SqlTruth | AllOf | AnyOf

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def negated(condition: SqlCondition) -> SqlCondition:
    """Return the condition that holds where this one does not; there are no nulls."""
    match condition:
        case SqlComparison(operator, left, right, span):
            return SqlComparison(_OPPOSITE[operator], left, right, span)
        case SqlTruth(holds):
            return SqlTruth(not holds)
        case AllOf(conditions):
            return AnyOf(tuple(map(negated, conditions)))
        case AnyOf(conditions):
            return AllOf(tuple(map(negated, conditions)))


def alternatives(condition: SqlCondition) -> list[list[SqlComparison]]:
    """Return comparisons in groups: the condition holds if all of one group do."""
    match condition:
        case SqlComparison():
            return [[condition]]
        case SqlTruth(holds):
            return [[]] if holds else []
        case AnyOf(conditions):
            return [group for each in conditions for group in alternatives(each)]
        case AllOf(conditions):
            groups: list[list[SqlComparison]] = [[]]
            for each in conditions:
                groups = [[*group, *more] for group in groups for more in alternatives(each)]
            return groups
