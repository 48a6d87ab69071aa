"""Relational algebra as text, in the usual symbols."""
# ruff: noqa: RUF001, RUF002 - the symbols of relational algebra

from typing import Final, assert_never

from tidelog.algebra.nodes import (
    Antijoin,
    Expand,
    Expression,
    Extend,
    Given,
    Group,
    Join,
    Project,
    Rename,
    Scan,
    Select,
    TakeApart,
    Union,
    Unit,
)
from tidelog.program.nodes import Aggregate, Constraint, Variable
from tidelog.program.printing import print_literal, print_term

_SYMBOLS: Final = {"!=": "≠", "<=": "≤", ">=": "≥"}


def print_algebra(expression: Expression, *, width: int = 100) -> str:
    """Return the expression on one line, or with its parts indented below it if it is wider.

    π[x, z](path ⋈ ρ[x→y, y→z](edge))
    """
    return "\n".join(_lines(expression, width))


def columns_of(expression: Expression) -> tuple[str, ...]:
    """Return the names of an expression's columns."""
    match expression:
        case Unit():
            return ()
        case Given() | Scan():
            return expression.columns
        case Project():
            return tuple(name for name, _ in expression.columns)
        case Rename():
            return tuple(new for _, new in expression.names)
        case Select() | Antijoin():
            return columns_of(expression.source if isinstance(expression, Select) else expression.left)
        case Join():
            return tuple(dict.fromkeys((*columns_of(expression.left), *columns_of(expression.right))))
        case Extend() | Expand() | Group():
            return (*columns_of(expression.source), expression.column)
        case TakeApart():
            parts = (part.name for part in expression.pattern.terms if isinstance(part, Variable))
            return tuple(dict.fromkeys((*columns_of(expression.source), *parts)))
        case Union():
            return columns_of(expression.sources[0]) if expression.sources else ()
    assert_never(expression)


def _lines(expression: Expression, width: int) -> list[str]:
    line = _one_line(expression)
    if len(line) <= width:
        return [line]
    match expression:
        case Group(source=Unit()):
            return _applied(_label(expression), expression.body, width)
        case Join() | Antijoin() | Group():
            left, symbol, right = _infix(expression)
            if isinstance(expression, Group):
                below = _applied(_label(expression), right, width - 2)
            else:
                below = _lines(right, width - 2)
            # Read from left to right: the left side stays at its depth.
            return [*_lines(left, width), f"{symbol} {below[0]}", *("  " + each for each in below[1:])]
        case Union():
            parts = [_lines(source, width - 2) for source in expression.sources]
            return [("∪ " if row == 0 else "  ") + text for part in parts for row, text in enumerate(part)]
        case Unit() | Given() | Scan():
            return [line]
        case _:
            return _applied(_label(expression), expression.source, width)


def _applied(label: str, source: Expression, width: int) -> list[str]:
    """Return an operator with its source, indented below it if they need more than a line."""
    if len(label) + len(_one_line(source)) + 2 <= width:
        return [f"{label}({_one_line(source)})"]
    return [label, *("  " + below for below in _lines(source, width - 2))]


def _one_line(expression: Expression) -> str:
    match expression:
        case Unit():
            return "{()}"
        case Given():
            return f"given[{', '.join(expression.columns)}]"
        case Scan():
            return expression.relation
        case Project(source=Unit()):
            return f"{{({', '.join(print_term(term) for _, term in expression.columns)})}}"
        case Group(source=Unit()):
            return f"{_label(expression)}({_one_line(expression.body)})"
        case Group():
            left, symbol, right = _infix(expression)
            return f"{_operand(left)} {symbol} {_label(expression)}({_one_line(right)})"
        case Join() | Antijoin():
            left, symbol, right = _infix(expression)
            return f"{_operand(left)} {symbol} {_operand(right)}"
        case Union():
            return " ∪ ".join(_operand(source) for source in expression.sources) or "∅"
        case _:
            return f"{_label(expression)}({_one_line(expression.source)})"


def _infix(expression: Join | Antijoin | Group) -> tuple[Expression, str, Expression]:
    """Return the symbol that stands between two expressions, with both of them."""
    match expression:
        case Join():
            is_product = set(columns_of(expression.left)).isdisjoint(columns_of(expression.right))
            return expression.left, "×" if is_product else "⋈", expression.right
        case Antijoin():
            return expression.left, "▷", expression.right
        case Group(by=()):
            return expression.source, "×", expression.body
        case Group():
            # Count and sum have a value for a row that agrees with nothing.
            has_zero = expression.aggregate.functor in ("count", "sum")
            return expression.source, "⟕" if has_zero else "⋈", expression.body
    assert_never(expression)


def _operand(expression: Expression) -> str:
    """Return an operand of an infix operator, in parentheses where it needs them.

    Joins are read from left to right, so a join on the left needs none; a join that stands on the
    right is never made.
    """
    text = _one_line(expression)
    return f"({text})" if isinstance(expression, Antijoin | Union) else text


def _label(expression: Select | Project | Rename | Extend | TakeApart | Expand | Group) -> str:
    """Return the symbol of an operator with its parameters."""
    match expression:
        case Select():
            return f"σ[{' ∧ '.join(_constraint(each) for each in expression.constraints)}]"
        case Project():
            return f"π[{', '.join(print_term(term) for _, term in expression.columns)}]"
        case Rename():
            return f"ρ[{', '.join(f'{old}→{new}' for old, new in expression.names if old != new)}]"
        case Extend():
            return f"π[*, {expression.column} ← {print_term(expression.term)}]"
        case TakeApart():
            return f"μ[{expression.column} → {print_term(expression.pattern)}]"
        case Expand():
            return f"μ[{expression.column} ← {print_literal(expression.generator).partition(' = ')[2]}]"
        case Group():
            return f"γ[{_grouped(expression.by)}{expression.column} ← {_aggregate(expression.aggregate)}]"
    assert_never(expression)


def _grouped(by: tuple[str, ...]) -> str:
    return f"{', '.join(by)}; " if by else ""


def _aggregate(aggregate: Aggregate) -> str:
    target = "*" if aggregate.target is None else print_term(aggregate.target)
    return f"{aggregate.functor}({target})"


def _constraint(constraint: Constraint) -> str:
    if constraint.op in _SYMBOLS:
        return f"{print_term(constraint.left)} {_SYMBOLS[constraint.op]} {print_term(constraint.right)}"
    return print_literal(constraint)
