"""Relational algebra as text, in the usual symbols."""
# ruff: noqa: RUF001, RUF002 - the symbols of relational algebra

from typing import Final, assert_never

from tidelog.algebra import nodes
from tidelog.algebra.nodes import Expression
from tidelog.program.nodes import Aggregate, Constraint
from tidelog.program.printing import print_literal, print_term

_SYMBOLS: Final = {"!=": "≠", "<=": "≤", ">=": "≥"}


def print_algebra(expression: Expression, width: int = 100) -> str:
    """Return the expression on one line, or with its parts indented below it if it is wider.

    π[x, z](path ⋈ ρ[x→y, y→z](edge))
    """
    return "\n".join(_lines(expression, width))


def print_definition(name: str, expression: Expression, width: int = 100) -> list[str]:
    """Return the lines that say what the facts of a relation are: `name = expression`."""
    line = f"{name} = {_one_line(expression)}"
    if len(line) <= width:
        return [line]
    return [f"{name} =", *("  " + each for each in _lines(expression, width - 2))]


def _lines(expression: Expression, width: int) -> list[str]:
    line = _one_line(expression)
    if len(line) <= width:
        return [line]
    match expression:
        case nodes.Group(source=nodes.Unit()):
            return _applied(_operator(expression), expression.body, width)
        case nodes.NaturalJoin() | nodes.Antijoin() | nodes.Group():
            left, symbol, right = _infix(expression)
            if isinstance(expression, nodes.Group):
                below = _applied(_operator(expression), right, width - 2)
            else:
                below = _lines(right, width - 2)
            # Read from left to right: the left side stays at its depth.
            return [*_lines(left, width), f"{symbol} {below[0]}", *("  " + each for each in below[1:])]
        case nodes.Union():
            parts = [_lines(source, width - 2) for source in expression.sources]
            return [("∪ " if row == 0 else "  ") + text for part in parts for row, text in enumerate(part)]
        case nodes.Fixpoint(definitions=((_, only),)):
            return _applied(_operator(expression), only, width)
        case nodes.Fixpoint():
            lines = (print_definition(name, each, width - 2) for name, each in expression.definitions)
            return [_operator(expression), *("  " + line for each in lines for line in each)]
        case nodes.Unit() | nodes.Outer() | nodes.Scan():
            return [line]
        case _:
            return _applied(_operator(expression), expression.source, width)


def _applied(operator: str, source: Expression, width: int) -> list[str]:
    """Return an operator with its source, indented below it if they need more than a line."""
    if len(operator) + len(_one_line(source)) + 2 <= width:
        return [f"{operator}({_one_line(source)})"]
    return [operator, *("  " + below for below in _lines(source, width - 2))]


def _one_line(expression: Expression) -> str:  # noqa: C901 - one case per node
    match expression:
        case nodes.Unit():
            return "{()}"
        case nodes.Outer():
            return f"outer[{', '.join(expression.columns)}]"
        case nodes.Scan():
            return f"input {expression.relation.name}" if expression.is_input else expression.relation.name
        case nodes.Project(source=nodes.Unit()):
            return f"{{({', '.join(print_term(term) for _, term in expression.terms)})}}"
        case nodes.Group(source=nodes.Unit()):
            return f"{_operator(expression)}({_one_line(expression.body)})"
        case nodes.Group():
            left, symbol, right = _infix(expression)
            return f"{_operand(left)} {symbol} {_operator(expression)}({_one_line(right)})"
        case nodes.NaturalJoin() | nodes.Antijoin():
            left, symbol, right = _infix(expression)
            return f"{_operand(left)} {symbol} {_operand(right)}"
        case nodes.Union():
            return " ∪ ".join(_operand(source) for source in expression.sources)
        case nodes.Fixpoint(definitions=((_, only),)):
            return f"{_operator(expression)}({_one_line(only)})"
        case nodes.Fixpoint():
            each = (f"{name} = {_one_line(part)}" for name, part in expression.definitions)
            return f"{_operator(expression)}({'; '.join(each)})"
        case _:
            return f"{_operator(expression)}({_one_line(expression.source)})"


def _infix(
    expression: nodes.NaturalJoin | nodes.Antijoin | nodes.Group,
) -> tuple[Expression, str, Expression]:
    """Return the symbol that stands between two expressions, with both of them."""
    match expression:
        case nodes.NaturalJoin():
            is_product = set(expression.left.columns).isdisjoint(expression.right.columns)
            return expression.left, "×" if is_product else "⋈", expression.right
        case nodes.Antijoin():
            return expression.left, "▷", expression.right
        case nodes.Group(by=()):
            return expression.source, "×", expression.body
        case nodes.Group():
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
    return f"({text})" if isinstance(expression, nodes.Antijoin | nodes.Union) else text


def _operator(
    expression: nodes.Select
    | nodes.Project
    | nodes.Rename
    | nodes.Extend
    | nodes.TakeApart
    | nodes.Expand
    | nodes.Group
    | nodes.Fixpoint,
) -> str:
    """Return the symbol of an operator with its parameters."""
    match expression:
        case nodes.Select():
            return f"σ[{' ∧ '.join(_constraint(each) for each in expression.constraints)}]"
        case nodes.Project():
            return f"π[{', '.join(print_term(term) for _, term in expression.terms)}]"
        case nodes.Rename():
            return f"ρ[{', '.join(f'{old}→{new}' for old, new in expression.names if old != new)}]"
        case nodes.Extend():
            return f"π[*, {expression.column} ← {print_term(expression.term)}]"
        case nodes.TakeApart():
            return f"μ[{expression.column} → {print_term(expression.pattern)}]"
        case nodes.Expand():
            return f"μ[{expression.column} ← {print_literal(expression.generator).partition(' = ')[2]}]"
        case nodes.Group():
            return f"γ[{_grouped(expression.by)}{expression.column} ← {_aggregate(expression.aggregate)}]"
        case nodes.Fixpoint():
            return f"fix[{expression.relation}]"
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
