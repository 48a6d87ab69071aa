"""Random programs of one recursive stratum in which laws decide: joins, choices, subsumption and keys."""

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from support.strategies import RandomEpoch, RandomProgram

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]

# A join that returns neither of its operands, which a partner must not do twice or with others' values.
LAW_FUNCTIONS: Final = {
    "union": lambda left, right: left | right,
    "leap": lambda old, new: old | new | 64,
}
_HEAD: Final = """
.type Short <: number
.type Long <: number
.type Bits <: number
.functor union(a: Bits, b: Bits): Bits
.functor leap(a: Bits, b: Bits): Bits
.lattice Short<> { Lub -> min(_, _) }
.lattice Long<> { Lub -> max(_, _) }
"""
_LATTICES: Final = ("Short", "Long", "Bits")
_BITS: Final = (
    ".lattice Bits<> { Lub -> @union(_, _) }",
    ".lattice Bits<> { Lub -> @union(_, _), Widen -> @leap(_, _) }",
)
_CHOICES: Final = ("x", "y", "(x, y)", "(x, y), (x, z)", "(y, z), y", "x, y")
_SUBSUMED: Final = (
    "least(x, y, a) <= least(x, y, b) :- b < a.",
    "least(x, _, a) <= least(x, _, b) :- b < a.",
    "least(a, y, z) <= least(b, y, z) :- b > a.",
    "least(a, _, _) <= least(b, _, _) :- b > a + 1.",
)
_NUMBERS: Final = st.integers(0, 31)
_PLAIN: Final = {"e": 2, "f": 3, "plain": 2, "chosen": 3, "least": 3}
_COLUMN_NAMES: Final = "xyz"


@st.composite
def law_programs(draw: Draw[Any], *, has_texts: bool = False) -> RandomProgram:
    """Draw a program whose relations depend on each other, and facts for its inputs."""
    kind = draw(st.sampled_from(["number", "symbol"])) if has_texts else "number"
    lattice = draw(st.sampled_from(_LATTICES))
    subsumption = draw(st.sampled_from(_SUBSUMED if kind == "number" else _SUBSUMED[:2]))
    lines = [
        _HEAD.strip(),
        draw(st.sampled_from(_BITS)),
        f".decl e(x: {kind}, y: {kind}) .input e",
        f".decl f(x: {kind}, y: {kind}, n: {lattice}) .input f",
        f".decl plain(x: {kind}, y: {kind})",
        f".decl chosen(x: {kind}, y: {kind}, z: {kind}) choice-domain {draw(st.sampled_from(_CHOICES))}",
        f".decl least(x: {kind}, y: {kind}, z: {kind})",
        subsumption,
        f".decl joined(x: {kind}, y: {kind}, n: {lattice}<>)",
        ".input joined" if draw(st.booleans()) else "",
        ".input chosen" if draw(st.booleans()) else "",
        ".input least" if draw(st.booleans()) else "",
    ]
    for head in ("plain", "chosen", "least", "joined"):
        lines += [_rule(draw, head, lattice) for _ in range(draw(st.integers(1, 3)))]
    text = "\n".join(filter(None, lines))
    inputs = {name: tuple(draw(_facts(each, most=12))) for name, each in _input_facts(text).items()}
    return RandomProgram(text, inputs, {})


@st.composite
def law_epochs(draw: Draw[Any], program: RandomProgram, *, max_epochs: int = 3) -> list[RandomEpoch]:
    """Draw transactions to follow the program's first facts: some are deleted, others inserted."""
    there = {name: dict.fromkeys(facts) for name, facts in program.inputs.items()}
    drawn = []
    for _ in range(draw(st.integers(1, max_epochs))):
        inserts = {
            name: tuple(draw(_facts(each, most=2))) for name, each in _input_facts(program.text).items()
        }
        deletes = {
            name: tuple(draw(_facts(st.sampled_from(list(facts)), most=3))) if facts else ()
            for name, facts in there.items()
        }
        for name, facts in there.items():
            for fact in deletes[name]:
                facts.pop(fact)
            facts.update(dict.fromkeys(inserts[name]))
        drawn.append(RandomEpoch(inserts, deletes))
    return drawn


def _facts(each: st.SearchStrategy[T], *, most: int) -> st.SearchStrategy[list[T]]:
    return st.lists(each, max_size=most, unique=True)


def _input_facts(text: str) -> dict[str, st.SearchStrategy[tuple[Any, ...]]]:
    """Return what draws a fact, for each relation of a program that takes input facts."""
    texts = st.sampled_from(["", "a", "b", "ab", "ba", "abc"])
    value: st.SearchStrategy[Any] = texts if ".decl e(x: symbol" in text else st.integers(0, 6)
    columns = {"e": (value,) * 2, "f": (value, value, _NUMBERS), "joined": (value, value, _NUMBERS)}
    columns |= {"chosen": (value,) * 3, "least": (value,) * 3}
    return {name: st.tuples(*of) for name, of in columns.items() if f".input {name}" in text}


def _rule(draw: Draw[Any], head: str, lattice: str) -> str:
    """Draw a rule; what is joined is written to a relation that joins, and nowhere else."""
    variables = [f"v{number}" for number in range(draw(st.integers(2, 4)))]
    names = list(_PLAIN)[1:] if head == "joined" else list(_PLAIN)
    atoms, numbers = [], []
    for place in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from([*names, "joined"]))
        terms = [draw(st.sampled_from(variables)) for _ in range(_PLAIN.get(name, 2))]
        if name == "f":
            terms[2] = f"w{place}"
            numbers.append(terms[2])
        if name == "joined":
            terms.append(f"n{place}" if head == "joined" else "_")
            numbers.append(f"n{place}" if head == "joined" else "")
        atoms.append(f"{name}({', '.join(terms)})")
    bound = sorted({v for v in variables if any(v in atom for atom in atoms)})
    count = 2 if head == "joined" else _PLAIN[head]
    terms = [draw(st.sampled_from(bound)) for _ in range(count)]
    if head == "joined":
        known = [number for number in numbers if number] or [f"as(1, {lattice})"]
        value = draw(st.sampled_from(known))
        if lattice == "Short" and draw(st.booleans()):
            value = f"{value} + 1"
        terms.append(value)
    rule = f"{head}({', '.join(terms)}) :- {', '.join(atoms)}."
    # A variable that occurs once is a mistake.
    return re.sub(r"\b[vwn]\d\b", lambda found: found[0] if rule.count(found[0]) > 1 else "_", rule)
