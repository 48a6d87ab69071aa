"""Terms and constraints as SQL.

A term that may have no value comes with the condition under which it has one; a row that does not
satisfy it is dropped.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from tidelog.algebra.nodes import Dialect
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Application, Constant, Constraint, Term, Variable
from tidelog.program.printing import print_literal, print_term
from tidelog.source import Span
from tidelog.values import Kind, TypeTable

_TYPES: Final = {
    "duckdb": {Kind.NUMBER: "BIGINT", Kind.UNSIGNED: "UBIGINT", Kind.FLOAT: "DOUBLE", Kind.SYMBOL: "VARCHAR"},
    "spark": {Kind.NUMBER: "BIGINT", Kind.FLOAT: "DOUBLE", Kind.SYMBOL: "STRING"},
}
_DIVISION: Final = {"duckdb": "//", "spark": "DIV"}
_INFIX: Final = {"+": "+", "-": "-", "*": "*", "cat": "||", "band": "&", "bor": "|"}
_CALLS: Final = {"max": "GREATEST", "min": "LEAST", "strlen": "LENGTH"}
_COMPARISONS: Final = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


@dataclass(frozen=True)
class TermWriter:
    """Writes terms over columns whose SQL is known."""

    dialect: Dialect
    types: TypeTable

    def cast(self, text: str, type_name: str) -> str:
        """Return a term made a value of a type."""
        return f"CAST({text} AS {self.type_of(type_name)})"

    def type_of(self, type_name: str, span: Span | None = None) -> str:
        """Return what SQL calls a type."""
        kind = self.types[type_name].kind
        if kind not in _TYPES[self.dialect]:
            raise no_sql(f"values of kind {kind.value} in the dialect {self.dialect}", span)
        return _TYPES[self.dialect][kind]

    def many(
        self, terms: Iterable[tuple[str, Term]], columns: Mapping[str, str]
    ) -> tuple[dict[str, str], list[str]]:
        """Return named terms of their types, and the conditions under which they have values."""
        conditions: list[str] = []
        texts = {name: (self._term(term, columns, conditions), term) for name, term in terms}
        # A column has its type; the database would choose one for literals and what is computed.
        return {
            name: text if isinstance(term, Variable) else self.cast(text, term.type)
            for name, (text, term) in texts.items()
        }, conditions

    def constraint(self, constraint: Constraint, columns: Mapping[str, str]) -> list[str]:
        """Return conditions that hold where a constraint does."""
        conditions: list[str] = []
        left, right = (self._term(term, columns, conditions) for term in (constraint.left, constraint.right))
        match constraint.op:
            case "contains":
                return [*conditions, f"POSITION({left} IN {right}) > 0"]
            case "!contains":
                return [*conditions, f"POSITION({left} IN {right}) = 0"]
            case op if op in _COMPARISONS:
                return [*conditions, f"{left} {_COMPARISONS[op]} {right}"]
        raise no_sql(f"`{print_literal(constraint)}`", constraint.span)

    def _term(self, term: Term, columns: Mapping[str, str], conditions: list[str]) -> str:
        match term:
            case Variable():
                return columns[term.name]
            case Constant():
                return self._constant(term)
            case Application():
                operands = [self._term(part, columns, conditions) for part in term.terms]
                if all(isinstance(part, Constant) for part in term.terms):
                    # Literals alone would be computed in 32 bits.
                    operands[0] = self.cast(operands[0], term.terms[0].type)
                return self._application(term, operands, conditions)
        raise no_sql(f"`{print_term(term)}`", term.span)

    def _application(self, term: Application, operands: list[str], conditions: list[str]) -> str:
        is_whole = term.kind in (Kind.NUMBER, Kind.UNSIGNED)
        match term.functor:
            case "/" | "%" if is_whole:
                conditions.append(f"{operands[1]} <> 0")
                sign = "%" if term.functor == "%" else _DIVISION[self.dialect]
                return f"({operands[0]} {sign} NULLIF({operands[1]}, 0))"
            case "neg":
                # Two signs side by side would begin a comment.
                return f"(- {operands[0]})"
            case "itof" | "utof" | "to_string" if is_whole:
                return self.cast(operands[0], term.type)
            case "max" | "min" if len(operands) == 1:
                return operands[0]
            case functor if functor in _INFIX:
                return f"({f' {_INFIX[functor]} '.join(operands)})"
            case functor if functor in _CALLS:
                return f"{_CALLS[functor]}({', '.join(operands)})"
        raise no_sql(f"`{print_term(term)}`", term.span)

    def _constant(self, term: Constant) -> str:
        kind = self.types[term.type].kind
        if kind is Kind.SYMBOL:
            return quote_text(str(term.value), self.dialect)
        if kind is Kind.FLOAT:
            return f"CAST('{term.value}' AS DOUBLE)"
        self.type_of(term.type, term.span)
        return str(term.value)


def quote_name(name: str, dialect: Dialect) -> str:
    """Return the name of a table or of a column, whatever stands in it."""
    mark = '"' if dialect == "duckdb" else "`"
    return mark + name.replace(mark, mark * 2) + mark


def quote_text(text: str, dialect: Dialect) -> str:
    """Return a text as a literal on one line."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    prefix = "E" if dialect == "duckdb" and escaped != text else ""
    return f"{prefix}'{escaped}'"


def no_sql(construct: str, span: Span | None = None) -> TidelogError:
    """Return the refusal of what is not written as SQL."""
    message, hint = f"there is no SQL for {construct}", "evaluate it over Arrow tables instead"
    return TidelogError([Diagnostic(code="no-sql", message=message, span=span, hint=hint)])
