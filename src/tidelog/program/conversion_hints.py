"""What to write where a value of another type is expected."""

from typing import Final

from tidelog.program.functor_types import CONVERSIONS
from tidelog.program.type_environment import TypeEnvironment
from tidelog.values import Kind

_FUNCTORS: Final = {
    **CONVERSIONS,
    (Kind.SYMBOL, Kind.NUMBER): "to_number",
    (Kind.SYMBOL, Kind.UNSIGNED): "to_unsigned",
    (Kind.SYMBOL, Kind.FLOAT): "to_float",
    (Kind.NUMBER, Kind.SYMBOL): "to_string",
    (Kind.UNSIGNED, Kind.SYMBOL): "to_string",
    (Kind.FLOAT, Kind.SYMBOL): "to_string",
}


def conversion_hint(env: TypeEnvironment, found: str, expected: str) -> str:
    """Return how to make a value of the `expected` type from one of another type.

    conversion_hint(env, "number", "symbol")  # "convert it with `to_string(...)`"
    """
    if env.same_root(found, expected):
        return f"`{found}` is not a subtype of `{expected}`; convert with `as(..., {expected})`"
    functor = _FUNCTORS.get((env.kind(found), env.kind(expected)))
    if functor is not None:
        return f"convert it with `{functor}(...)`"
    composite = (Kind.RECORD, Kind.ADT)
    if env.kind(expected) in composite:
        return f"a value of `{expected}` is written `{_shape(env, expected)}`"
    return f"take the value of `{found}` apart: `{_shape(env, found)}`"


def _shape(env: TypeEnvironment, name: str) -> str:
    """Return how values of a record or an algebraic type are written: `[x, y]`, `$Branch(x)`."""
    declared = env.table[env.root(name)]
    if declared.kind is Kind.RECORD:
        return f"[{', '.join(field.name for field in declared.fields)}]"
    branch = declared.branches[0]
    fields = ", ".join(field.name for field in branch.fields)
    return f"${branch.name}({fields})" if fields else f"${branch.name}"
