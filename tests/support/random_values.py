"""Values, programs and facts that random programs are made of."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st

from support.programs import written
from tidelog.engine.protocol import UserFunctions
from tidelog.values import Branch, Fact, Value
from tidelog.values.functors import NAN, NUMBER_MAX, NUMBER_MIN, UNSIGNED_MAX

# A constant zero that divides, which the checks refuse.
_DIVISOR = re.compile(r"([/%] (?:\(|as\()*)0(?=u?(?:[^.\dxbu]|$))")
T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]

TYPES = """
.type Pair = [a: number, b: symbol]
.type List = [head: number, tail: List]
.type Shape = Dot {} | Box { w: number, s: symbol }
"""
# Plain types first: drawn most often and shrunk to.
COLUMN_TYPES = ("number",) * 5 + ("symbol",) * 3 + ("unsigned", "float", "Pair", "List", "Shape")
NUMERIC = ("number", "unsigned", "float")
LETTER = {
    "number": "n",
    "symbol": "s",
    "unsigned": "u",
    "float": "f",
    "Pair": "p",
    "List": "l",
    "Shape": "t",
}


# --- values --------------------------------------------------------------------------------

small_numbers = st.integers(-1, 3)
small_symbols = st.sampled_from(["a", "b", "", "ab", "1"])

# What may stand in a program's text: no NaN, which has no literal.
LITERALS: Mapping[str, st.SearchStrategy[Value]] = {
    "number": small_numbers,
    "symbol": small_symbols,
    "unsigned": st.integers(0, 3),
    "float": st.sampled_from([0.0, 0.5, -1.5, 2.0]),
    "Pair": st.none() | st.tuples(small_numbers, small_symbols),
    "List": st.recursive(st.none(), lambda tail: st.tuples(small_numbers, tail), max_leaves=3),
    "Shape": st.just(Branch("Dot"))
    | st.builds(Branch, st.just("Box"), st.tuples(small_numbers, small_symbols)),
}
# What may be given as input: now and then an extreme, too seldom to keep facts from joining.
VALUES: Mapping[str, st.SearchStrategy[Value]] = {
    **LITERALS,
    "number": st.sampled_from([0, 1, 2, 3, -1] * 3 + [NUMBER_MIN, NUMBER_MAX]),
    "symbol": st.sampled_from(["a", "b", "", "ab", "1"] * 3 + ["é\U0001f600", "a b", '"']),
    "unsigned": st.sampled_from([0, 1, 2, 3] * 3 + [UNSIGNED_MAX, 2**63]),
    "float": st.sampled_from([0.0, 0.5, -1.5, 2.0] * 3 + [NAN, float("inf"), 1e300, 5e-324]),
}

# Types that only programs of the whole language have; see `language_terms.py`.
LITERALS = {
    **LITERALS,
    **dict.fromkeys(("Small", "Tiny", "Either", "Low", "High", "Mixed"), small_numbers),
    "Word": small_symbols,
    "Nest": st.none() | st.tuples(LITERALS["Pair"], LITERALS["Shape"]),
    "Tree": st.recursive(
        st.just(Branch("Leaf")),
        lambda tree: st.builds(Branch, st.just("Fork"), st.tuples(tree, small_numbers)),
        max_leaves=3,
    ),
}
VALUES = {**LITERALS, **VALUES}


def literal(value: Value, type_name: str) -> str:
    """Return a value as a term of a program."""
    if type_name == "unsigned":
        return f"{value}u"
    if isinstance(value, Branch) and not value.fields:
        return f"${value.name}()"
    return written(value)


# --- programs and facts --------------------------------------------------------------------


@dataclass(frozen=True)
class RandomProgram:
    """A program's text with its input relations and their facts, and the functions of its functors."""

    text: str
    inputs: Mapping[str, tuple[Fact, ...]]
    input_types: Mapping[str, tuple[str, ...]]
    functions: UserFunctions = field(default_factory=dict)

    def __repr__(self) -> str:
        given = "\n".join(f"// {name}: {list(facts)}" for name, facts in self.inputs.items())
        return f"\n{self.text}\n{given}\n"

    def _repr_pretty_(self, printer: Any, _: object) -> None:
        # Hypothesis would print the text as one long line.
        printer.text(repr(self))


@st.composite
def facts_of(
    draw: Draw[Any], types: Mapping[str, tuple[str, ...]], *, min_facts: int = 0, max_facts: int = 6
) -> dict[str, tuple[Fact, ...]]:
    """Draw facts for input relations of the given column types."""
    return {
        name: tuple(
            draw(
                st.lists(
                    st.tuples(*(VALUES[column] for column in columns)), min_size=min_facts, max_size=max_facts
                )
            )
        )
        for name, columns in types.items()
    }


def without_zero_divisors(term: str) -> str:
    """Return the term with 1 for each constant zero by which it divides; variables may still be zero."""
    return _DIVISOR.sub(r"\g<1>1", term)
