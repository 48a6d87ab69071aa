"""Types and values that tests of codes, fact files and outputs share."""

import math

from hypothesis import strategies as st

from tidelog.values import Branch, BranchType, Field, Kind, Value, ValueType

TYPES = {
    "Small": ValueType("Small", Kind.NUMBER, base="number"),
    "Pair": ValueType("Pair", Kind.RECORD, fields=(Field("left", "number"), Field("right", "symbol"))),
    "List": ValueType("List", Kind.RECORD, fields=(Field("head", "float"), Field("tail", "List"))),
    "Unit": ValueType("Unit", Kind.RECORD),
    "Near": ValueType("Near", Kind.RECORD, base="Pair"),
    "Tree": ValueType(
        "Tree",
        Kind.ADT,
        branches=(
            BranchType("Node", (Field("left", "Tree"), Field("right", "Tree"))),
            BranchType("Leaf", (Field("pair", "Pair"), Field("size", "unsigned"))),
            BranchType("Empty", ()),
        ),
    ),
}

numbers = st.integers(-(2**63), 2**63 - 1)
unsigneds = st.integers(0, 2**64 - 1)
floats = st.floats().map(lambda value: math.nan if math.isnan(value) else value + 0.0)
symbols = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
pairs = st.none() | st.tuples(numbers, symbols)
lists = st.recursive(st.none(), lambda tails: st.tuples(floats, tails), max_leaves=6)
trees = st.recursive(
    st.just(Branch("Empty")) | st.builds(lambda pair, size: Branch("Leaf", (pair, size)), pairs, unsigneds),
    lambda inner: st.builds(lambda left, right: Branch("Node", (left, right)), inner, inner),
    max_leaves=6,
)

VALUES: dict[str, st.SearchStrategy[Value]] = {
    "number": numbers,
    "Small": numbers,
    "unsigned": unsigneds,
    "float": floats,
    "symbol": symbols,
    "Pair": pairs,
    "Near": pairs,
    "List": lists,
    "Unit": st.sampled_from([None, ()]),
    "Tree": trees,
}

type_names = st.sampled_from(sorted(VALUES))


def typed_columns(**sizes: int) -> st.SearchStrategy[tuple[str, list[Value]]]:
    """Return a type with a list of its values."""
    return type_names.flatmap(lambda name: st.tuples(st.just(name), st.lists(VALUES[name], **sizes)))


def value_key(value: Value) -> object:
    """Return a key that Python sorts as values are ordered."""
    match value:
        case None:
            return (0,)
        case tuple():
            return (1, *map(value_key, value))
        case Branch():
            return (value.name, *map(value_key, value.fields))
        case float():
            return (1, 0.0) if math.isnan(value) else (0, value)
        case _:
            return value


def same(left: object, right: object) -> bool:
    """Say whether two values are equal, NaN being equal to itself."""
    return repr(left) == repr(right)
