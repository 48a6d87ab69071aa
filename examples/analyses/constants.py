# ruff: noqa: INP001 - a file that is read by its path, no package
"""The lattice of constants.dl: how values are joined, and what operators make of them."""

import operator
from collections.abc import Callable

_ANY = "?"
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Eq": operator.eq,
    "NotEq": operator.ne,
}
_LARGEST = 2**63


def join(x: str, y: str) -> str:
    """Return the least value above both."""
    return x if x == y else _ANY


def operate(operator: str, x: str, y: str) -> str:
    """Return what an operator makes of two values; anything may come of what is not known."""
    found = _OPERATORS.get(operator)
    if found is None or not x.startswith("int ") or not y.startswith("int "):
        return _ANY
    left, right = int(x[4:]), int(y[4:])
    if right == 0 and operator in {"FloorDiv", "Mod"}:
        return _ANY
    result = found(left, right)
    if isinstance(result, bool):
        return f"bool {int(result)}"
    return f"int {result}" if -_LARGEST <= result < _LARGEST else _ANY
