"""Random programs with lattices of the user's own, widening and narrowing among them, and their epochs."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from hypothesis import strategies as st

from support.lattice_functions import LATTICE_FUNCTIONS
from support.strategies import RandomEpoch, RandomProgram
from tidelog.values import Fact

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]


class _Lattice(NamedTuple):
    """Operators, values to start with, and how a rule may make a value of another one, or of two."""

    operators: str
    values: tuple[str, ...]
    moves: tuple[str, ...]
    meetings: tuple[str, ...]


_LATTICES: Final[Mapping[str, _Lattice]] = {
    "Constant": _Lattice("Lub -> @constant(_, _)", ("a", "b", "?"), ("v",), ("@constant(v, w)",)),
    "Types": _Lattice("Lub -> @union(_, _)", ("i", "s", "i|s", "t"), ("v",), ("@union(v, w)",)),
    "Sign": _Lattice("Lub -> sign_join[_, _]", ("n", "z", "p", "np"), ("v",), ()),
    # Intervals that grow for ever unless something keeps them.
    "Interval": _Lattice(
        "Lub -> @hull(_, _)",
        ("0..0", "2..3"),
        ("v", "@cap(@shift(v, n), 6)", "@cap(v, 2)"),
        ("@cap(@both(v, w), 9)", "@hull(v, w)"),
    ),
    "Wide": _Lattice(
        "Lub -> @hull(_, _), Widen -> @widen(_, _)",
        ("0..0", "2..3"),
        ("v", "@shift(v, n)"),
        ("@both(v, w)", "@hull(v, w)"),
    ),
    "Tight": _Lattice(
        "Lub -> @hull(_, _), Widen -> @widen(_, _), Narrow -> @narrow(_, _)",
        ("0..0", "2..3"),
        ("v", "@cap(@shift(v, n), 4)", "@shift(v, n)"),
        ("@cap(@both(v, w), 9)",),
    ),
}
_LATTICES_BY_RULES: Final = """
.decl sign_below(x: Sign, y: Sign)
sign_below("n", "np"). sign_below("z", "np"). sign_below("z", "zp"). sign_below("p", "zp").
sign_below("np", "?"). sign_below("zp", "?").
.decl sign_above(x: Sign, y: Sign)
sign_above(x, x) :- sign_below(x, _).
sign_above("?", "?").
sign_above(x, z) :- sign_above(x, y), sign_below(y, z).
.decl sign_join(x: Sign, y: Sign, z: Sign) keys x, y
.decl sign_height(x: Sign, n: number)
sign_height(x, n) :- sign_above(x, _), n = count : { sign_above(x, _) }.
.decl sign_two(x: Sign, y: Sign, n: number)
sign_two(x, y, n) :- sign_height(x, _), sign_height(y, _), n = count : { sign_above(x, z), sign_above(y, z) }.
sign_join(x, y, z) :- sign_above(x, z), sign_above(y, z), sign_height(z, n), sign_two(x, y, n).
"""
# Lattices between whose values a rule may lead.
_FAMILIES: Final = (("Constant",), ("Types",), ("Sign",), ("Interval",), ("Wide",), ("Interval", "Tight"))
_SIGNATURES: Final = {
    "shift": "x: symbol, n: number",
    "cap": "x: symbol, n: number",
    **dict.fromkeys(("constant", "union", "hull", "widen", "narrow", "both"), "x: symbol, y: symbol"),
}
_NODES: Final = st.integers(0, 4)
_ALWAYS: Final[Mapping[str, st.SearchStrategy[Fact]]] = {
    "edge": st.tuples(_NODES, _NODES, st.integers(0, 2)),
    "start": st.tuples(_NODES),
}


@st.composite
def lattice_programs(draw: Draw[Any]) -> RandomProgram:
    """Draw a program with one or two strata of relations with lattices, and facts for its inputs."""
    rules: list[str] = []
    for family in draw(st.lists(st.sampled_from(_FAMILIES), min_size=1, max_size=2, unique=True)):
        rules += _family(draw, family)
    text = "\n".join(
        [
            ".decl edge(x: number, y: number, n: number)",
            ".input edge",
            ".decl start(x: number)",
            ".input start",
            *(f".functor {name}({of}): symbol" for name, of in _SIGNATURES.items()),
            *(f".type {name} <: symbol" for name in _LATTICES),
            *(f".lattice {name}<> {{ {each.operators} }}" for name, each in _LATTICES.items()),
            *_LATTICES_BY_RULES.strip().splitlines(),
            *rules,
        ]
    )
    inputs = {name: tuple(draw(_facts(each, 6))) for name, each in _input_facts(text).items()}
    return RandomProgram(text, inputs, {}, LATTICE_FUNCTIONS)


@st.composite
def lattice_epochs(draw: Draw[Any], program: RandomProgram, *, max_epochs: int = 4) -> list[RandomEpoch]:
    """Draw transactions to follow the program's first facts: some are deleted, others inserted."""
    there = {name: dict.fromkeys(facts) for name, facts in program.inputs.items()}
    strategies = _input_facts(program.text)
    drawn = []
    for _ in range(draw(st.integers(1, max_epochs))):
        inserts = {name: tuple(draw(_facts(each, 2))) for name, each in strategies.items()}
        deletes = {
            name: tuple(draw(_facts(st.sampled_from(list(facts)), 3))) if facts else ()
            for name, facts in there.items()
        }
        for name, facts in there.items():
            for fact in deletes[name]:
                facts.pop(fact)
            facts.update(dict.fromkeys(inserts[name]))
        drawn.append(RandomEpoch(inserts, deletes))
    return drawn


def _family(draw: Draw[Any], family: tuple[str, ...]) -> list[str]:
    """Return relations with these lattices that depend on each other, and one that reads them."""
    stem = family[-1].lower()
    relations = {f"{stem}{place}": name for place, name in enumerate(draw(_kinds(family)))}
    lines = [f".decl {name}(x: number, v: {of}<>)" for name, of in relations.items()]
    is_given = draw(st.booleans())
    if is_given:
        lines.append(f".input {stem}0")
    lines += [f".decl {stem}_reached(x: number)", f".decl {stem}_seen(x: number, v: symbol)"]
    for name, of in relations.items():
        value = draw(st.sampled_from(_LATTICES[of].values))
        lines.append(f'{name}(x, as("{value}", {of})) :- start(x).')
        for _ in range(draw(st.integers(1, 3))):
            lines.append(_rule(draw, name, relations, stem))
    last = draw(st.sampled_from(list(relations)))
    lines.append(f"{stem}_reached(y) :- {last}(x, _), edge(x, y, 1).")
    lines.append(f"{stem}_seen(x, v) :- {last}(x, v), !start(x).")
    return lines


def _kinds(family: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(family), min_size=len(family), max_size=3)


def _rule(draw: Draw[Any], head: str, relations: Mapping[str, str], stem: str) -> str:
    """Draw a rule: a value goes on along an edge, alone, with another one, or into what is reached."""
    of = relations[head]
    first, second = (draw(st.sampled_from(list(relations))) for _ in range(2))
    if _LATTICES[of].meetings and draw(st.integers(0, 2)) == 2:
        value = draw(st.sampled_from(_LATTICES[of].meetings))
        return f"{head}(y, as({value}, {of})) :- {first}(x, v), {second}(y, w), edge(x, y, _)."
    value = draw(st.sampled_from(_LATTICES[of].moves))
    shift = "n" if "n)" in value else "_"
    gate = draw(st.sampled_from(["", f", {stem}_reached(x)", ", !start(y)"]))
    return f"{head}(y, as({value}, {of})) :- {first}(x, v), edge(x, y, {shift}){gate}."


def _facts(each: st.SearchStrategy[T], most: int) -> st.SearchStrategy[list[T]]:
    return st.lists(each, max_size=most, unique=True)


def _input_facts(text: str) -> dict[str, st.SearchStrategy[Fact]]:
    """Return what draws a fact, for each relation of a program that takes input facts."""
    found = dict(_ALWAYS)
    for family in _FAMILIES:
        name = f"{family[-1].lower()}0"
        if f".input {name}" in text:
            found[name] = st.tuples(_NODES, st.sampled_from(_LATTICES[family[0]].values))
    return found
