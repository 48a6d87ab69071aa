"""Random programs whose facts have many derivations, and transactions that change their inputs.

`strategies.programs` covers the language; these cover recursion. All values are small numbers, so
that joins succeed, most rules read their own stratum, and a relation may be input and derived at
once. Every fixpoint is finite, because no rule makes a value beyond the small ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st

from strategies import RandomEpoch, RandomProgram
from tidelog.values import Fact

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]

SIZE = 4
VARIABLES = ("x", "y", "z", "w")
# What a derived relation may be beside plain, where its facts follow a law of their own.
SPECIAL = ("eqrel", "choice", "least")


@dataclass(frozen=True)
class Tangled:
    """A relation of numbers; its rules read relations of its own level and of those below."""

    name: str
    arity: int
    level: int
    role: str = "plain"
    is_input: bool = True

    def lines(self) -> list[str]:
        """Return the declaration."""
        columns = ", ".join(f"c{place}: number" for place in range(self.arity))
        qualifier = {"eqrel": " eqrel", "choice": " choice-domain c0"}.get(self.role, "")
        lines = [f".decl {self.name}({columns}){qualifier}"]
        if self.is_input:
            lines.append(f".input {self.name}")
        if self.role == "least":
            keys = [f"k{place}" for place in range(self.arity - 1)]
            less, greater = (f"{self.name}({', '.join([*keys, last])})" for last in ("x", "y"))
            lines.append(f"{less} <= {greater} :- y < x.")
        return lines


@st.composite
def _relations(draw: Draw[Any], special: tuple[str, ...]) -> list[Tangled]:
    arities = st.sampled_from([2, 2, 2, 2, 2, 1, 1, 1, 0])
    found = [Tangled(f"e{number}", draw(arities), 0) for number in range(draw(st.integers(1, 2)))]
    for level in range(1, draw(st.integers(1, 3)) + 1):
        for number in range(draw(st.integers(1, 2))):
            role = draw(st.sampled_from(["plain"] * (4 * len(special) + 1) + list(special)))
            arity = 2 if role == "eqrel" else draw(arities)
            if role != "plain" and not arity:
                role = "plain"
            found.append(Tangled(f"p{level}{number}", arity, level, role, draw(st.booleans())))
    return found


def _atom(draw: Draw[Any], relation: Tangled, bound: list[str]) -> str:
    terms = []
    for _ in range(relation.arity):
        term = draw(st.sampled_from([*VARIABLES * 6, "_", *map(str, range(SIZE))]))
        if term in VARIABLES and term not in bound:
            bound.append(term)
        terms.append(term)
    return f"{relation.name}({', '.join(terms)})"


def _known(draw: Draw[Any], bound: list[str]) -> str:
    return draw(st.sampled_from([*bound * 6, *map(str, range(SIZE))]))


def _made(draw: Draw[Any], bound: list[str]) -> str:
    """Return a term that has one of the small values."""
    if draw(st.integers(0, 5)) < 5:
        return _known(draw, bound)
    return f"(({_known(draw, bound)} + {_known(draw, bound)}) % {SIZE})"


def _extra(draw: Draw[Any], below: list[Tangled], bound: list[str]) -> str:
    match draw(st.sampled_from(["negation"] * 4 + ["comparison", "binding", "record", "aggregate"])):
        case "negation":
            relation = draw(st.sampled_from(below))
            wild = ["_"] if draw(st.integers(0, 5)) == 5 else []
            known = [*bound * 3, *map(str, range(SIZE)), *wild]
            return (
                f"!{relation.name}({', '.join(draw(st.sampled_from(known)) for _ in range(relation.arity))})"
            )
        case "comparison":
            op = draw(st.sampled_from(["!=", "<", "<="]))
            return f"{_known(draw, bound)} {op} {_known(draw, bound)}"
        case "binding":
            made = f"b{len(bound)}"
            text = f"{made} = ({_known(draw, bound)} + 1) % {SIZE}"
            bound.append(made)
            return text
        case "record":
            first, second = f"r{len(bound)}", f"r{len(bound) + 1}"
            text = f"[{first}, {second}] = [{_known(draw, bound)}, {_known(draw, bound)}]"
            bound.extend((first, second))
            return text
        case _:
            relation = draw(st.sampled_from(below))
            terms = [draw(st.sampled_from([*bound, "_"])) for _ in range(relation.arity)]
            made = f"n{len(bound)}"
            bound.append(made)
            return f"{made} = count : {{ {relation.name}({', '.join(terms)}) }}"


def _rule(draw: Draw[Any], head: Tangled, relations: list[Tangled]) -> str:
    below = [relation for relation in relations if relation.level < head.level]
    readable = below + 2 * [relation for relation in relations if relation.level == head.level]
    bound: list[str] = []
    body = [_atom(draw, draw(st.sampled_from(readable)), bound) for _ in range(draw(st.integers(1, 3)))]
    body.extend(_extra(draw, below, bound) for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))))
    # A count may exceed the small values; the head takes it back to them.
    terms = [_made(draw, bound) for _ in range(head.arity)]
    terms = [f"({term} % {SIZE})" if term.startswith("n") else term for term in terms]
    return f"{head.name}({', '.join(terms)}) :- {', '.join(body)}."


def facts(arity: int, *, least: int = 0, most: int) -> st.SearchStrategy[tuple[Fact, ...]]:
    """Draw facts of small numbers, each once."""
    values = st.tuples(*[st.integers(0, SIZE - 1)] * arity)
    all_of_them = SIZE**arity
    return st.lists(
        values, unique=True, min_size=min(least, all_of_them // 2), max_size=min(most, all_of_them)
    ).map(tuple)


def first_facts(arity: int) -> st.SearchStrategy[tuple[Fact, ...]]:
    """Draw enough facts that rules find something to join."""
    return facts(arity, least=4, most=9)


@st.composite
def tangled_programs(draw: Draw[Any], *, special: tuple[str, ...] = ()) -> RandomProgram:
    """Draw a program in which facts depend on one another in many ways."""
    relations = draw(_relations(special))
    lines = [line for relation in relations for line in relation.lines()]
    for relation in relations:
        if relation.level:
            lines.extend(_rule(draw, relation, relations) for _ in range(draw(st.integers(2, 4))))
            lines.extend(
                f"{relation.name}({', '.join(map(str, fact))})."
                for fact in draw(facts(relation.arity, most=1))
            )
    inputs = {
        relation.name: draw(facts(relation.arity, most=3) if relation.level else first_facts(relation.arity))
        for relation in relations
        if relation.is_input
    }
    types = {relation.name: ("number",) * relation.arity for relation in relations if relation.is_input}
    return RandomProgram("\n".join(lines), inputs, types)


@st.composite
def tangled_epochs(draw: Draw[Any], program: RandomProgram, *, max_epochs: int = 4) -> list[RandomEpoch]:
    """Draw transactions, small ones mostly; some inserted facts are there and some deleted ones are not."""
    there = {name: dict.fromkeys(given) for name, given in program.inputs.items()}
    drawn = []
    for _ in range(draw(st.integers(1, max_epochs))):
        inserts, deletes = {}, {}
        for name, types in program.input_types.items():
            inserts[name] = draw(facts(len(types), most=draw(st.sampled_from([0, 1, 2]))))
            held = list(there[name])
            deletes[name] = draw(facts(len(types), most=draw(st.sampled_from([0, 0, 1]))))
            if held:
                size = draw(st.sampled_from([0, 1, 1, 2, len(held)]))
                some = draw(st.lists(st.sampled_from(held), unique=True, max_size=min(size, len(held))))
                deletes[name] += tuple(fact for fact in some if fact not in deletes[name])
            for fact in deletes[name]:
                there[name].pop(fact, None)
            there[name].update(dict.fromkeys(inserts[name]))
        drawn.append(RandomEpoch(inserts, deletes))
    return drawn
