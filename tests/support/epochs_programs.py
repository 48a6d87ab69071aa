"""Random programs whose facts have many derivations, and transactions that change their inputs.

`strategies.programs` covers the language; these cover recursion. All values are small numbers, so
that joins succeed, most rules read their own stratum, and a relation may be input and derived at
once. Every fixpoint is finite, because no rule makes a value beyond the small ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st

from support.strategies import RandomEpoch, RandomProgram
from tidelog import aggregate
from tidelog.values import Fact

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]

SIZE = 4
VARIABLES = ("x", "y", "z", "w")
# What a derived relation may be beside plain, where its facts follow a law of their own.
SPECIAL = ("eqrel", "choice", "least")
LAWS = (*SPECIAL, "lattice", "limit", "keys")
# What may gather facts; `spread` is an aggregate in Python, see `FUNCTIONS`.
AGGREGATES = ("count", "sum", "min", "max", "mean", "concat", "spread")
_LATTICE = ".type Low <: number\n.lattice Low<> { Lub -> min(_, _) }"


@aggregate
class Spread:
    """The distance between the least and the greatest value."""

    def __init__(self) -> None:
        self.values: list[int] = []

    def add(self, value: int) -> None:
        """Take a value."""
        self.values.append(value)

    def result(self) -> int:
        """Return the distance."""
        return max(self.values) - min(self.values)


# What programs with the aggregate `spread` are opened with.
FUNCTIONS: dict[str, Any] = {"spread": Spread}


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
        types = ["number"] * self.arity
        if self.role == "lattice":
            types[-1] = "Low<>"
        columns = ", ".join(f"c{place}: {name}" for place, name in enumerate(types))
        qualifier = {"eqrel": " eqrel", "choice": " choice-domain c0", "keys": " keys c0"}.get(self.role, "")
        lines = [f".decl {self.name}({columns}){qualifier}"]
        if self.role == "limit":
            lines.append(f".limitsize {self.name}(n=3)")
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
    if "keys" in special and draw(st.booleans()):
        found.append(Tangled("k0", 2, 0, "keys"))
    for level in range(1, draw(st.integers(1, 3)) + 1):
        for number in range(draw(st.integers(1, 2))):
            role = draw(st.sampled_from(["plain"] * (4 * len(special) + 1) + list(special)))
            arity = 2 if role in {"eqrel", "keys"} else draw(arities)
            if role != "plain" and not arity:
                role = "plain"
            is_input = draw(st.booleans()) and role != "keys"
            found.append(Tangled(f"p{level}{number}", arity, level, role, is_input))
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


def _extra(draw: Draw[Any], below: list[Tangled], bound: list[str], aggregates: tuple[str, ...]) -> str:
    match draw(st.sampled_from(["negation"] * 4 + ["comparison", "binding", "record", "aggregate"])):
        case "negation":
            relation = draw(st.sampled_from(below))
            wild = ["_"] * draw(st.sampled_from([0, 0, 0, 0, 1, 3 * len(bound)]))
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
            return _aggregate(draw, below, bound, aggregates)


def _aggregate(draw: Draw[Any], below: list[Tangled], bound: list[str], functors: tuple[str, ...]) -> str:
    """Return a binding of a new variable `n...` to what facts below come to."""
    relation = draw(st.sampled_from(below))
    terms = [draw(st.sampled_from([*bound, "_"])) for _ in range(relation.arity)]
    made, own = f"n{len(bound)}", f"a{len(bound)}"
    bound.append(made)
    functor = draw(st.sampled_from(functors))
    if functor == "count" or not relation.arity:
        return f"{made} = count : {{ {relation.name}({', '.join(terms)}) }}"
    terms[draw(st.integers(0, relation.arity - 1))] = own
    body = f"{relation.name}({', '.join(terms)})"
    match functor:
        case "mean":
            return f"f{made} = mean {own} : {{ {body} }}, {made} = ftoi(f{made})"
        case "concat":
            text = f't{made} = @@concat s{made} : ",", {{ {body}, s{made} = to_string({own}) }}'
            return f"{text}, {made} = strlen(t{made})"
        case "spread":
            return f"{made} = @@spread {own} : {{ {body} }}"
    return f"{made} = {functor} {own} : {{ {body} }}"


def _rule(draw: Draw[Any], head: Tangled, relations: list[Tangled], aggregates: tuple[str, ...]) -> str:
    below = [relation for relation in relations if relation.level < head.level]
    # Within a stratum values of a lattice may be used in few ways, so nobody reads them there.
    beside = [each for each in relations if each.level == head.level and each.role != "lattice"]
    readable = below if head.role == "lattice" else below + 2 * beside
    bound: list[str] = []
    body = [_atom(draw, draw(st.sampled_from(readable)), bound) for _ in range(draw(st.integers(1, 3)))]
    body.extend(_extra(draw, below, bound, aggregates) for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))))
    # A count may exceed the small values; the head takes it back to them.
    terms = [_made(draw, bound) for _ in range(head.arity)]
    terms = [f"({term} % {SIZE})" if term.startswith("n") else term for term in terms]
    if head.role == "lattice":
        terms[-1] = f"as({terms[-1]}, Low)"
    return f"{head.name}({', '.join(terms)}) :- {', '.join(body)}."


def _rules(
    draw: Draw[Any], head: Tangled, relations: list[Tangled], aggregates: tuple[str, ...]
) -> list[str]:
    if head.role == "keys":
        # One value for each key, whatever the values are.
        keyed = [each for each in relations if each.level < head.level and each.role == "keys"]
        sources = [f"{each.name}(x, y)" for each in keyed] or ["x = range(0, 2), y = count : { e0(%s) }"]
        source = draw(st.sampled_from(sources))
        if "%s" in source:
            source %= ", ".join("_" * relations[0].arity)
        made = draw(st.sampled_from(["y", f"((x + y) % {SIZE})"]))
        return [f"{head.name}(x, {made}) :- {source}."]
    return [_rule(draw, head, relations, aggregates) for _ in range(draw(st.integers(2, 4)))]


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
def tangled_programs(
    draw: Draw[Any], *, special: tuple[str, ...] = (), aggregates: tuple[str, ...] = ("count",)
) -> RandomProgram:
    """Draw a program in which facts depend on one another in many ways."""
    relations = draw(_relations(special))
    lines = [line for relation in relations for line in relation.lines()]
    if any(relation.role == "lattice" for relation in relations):
        lines.insert(0, _LATTICE)
    for relation in relations:
        if relation.level:
            lines.extend(_rules(draw, relation, relations, aggregates))
            lines.extend(
                f"{relation.name}({', '.join(map(str, fact))})."
                for fact in draw(facts(relation.arity, most=int(relation.role != "keys")))
            )
    if "@@spread" in "".join(lines):
        lines.insert(0, ".functor spread(x: number): number")
    inputs = {
        relation.name: draw(facts(relation.arity, most=3) if relation.level else first_facts(relation.arity))
        for relation in relations
        if relation.is_input
    }
    if "k0" in inputs:
        inputs["k0"] = tuple({fact[0]: fact for fact in inputs["k0"]}.values())
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
