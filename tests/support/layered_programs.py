"""Random programs of many strata, of which an epoch reaches only some.

What an engine keeps between epochs (tables, indexes, prices) it makes for a stratum when a change first
reaches it, while others have theirs already. Here every input is read by few strata, an epoch changes one
to three inputs, and strata that run row by row alternate with those that cannot: functors over texts,
aggregates, patterns that bind nothing.
"""

from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from support.random_values import Draw, RandomProgram
from support.strategies import RandomEpoch
from tidelog.values import Fact

_NUMBERS: Final = 6
# Epochs insert values in blocks of their own, too, so that keys are new and postings long.
_BLOCKS: Final = (0, 10, 20)
_TEXTS: Final = ("a", "b", "a!", "b!")
_PAIR: Final = ("number", "number")
_TAGGED: Final = ("number", "symbol")


@dataclass(frozen=True)
class _Layer:
    """A relation and the types of its columns."""

    name: str
    types: tuple[str, ...]


@st.composite
def layered_programs(draw: Draw[Any]) -> RandomProgram:
    """Draw a program whose relations each read one or two others, inputs mostly."""
    pairs = [_Layer(f"e{number}", _PAIR) for number in range(draw(st.integers(2, 4)))]
    tags = [_Layer(f"t{number}", _TAGGED) for number in range(draw(st.integers(1, 2)))]
    inputs = [*pairs, *tags]
    lines = [line for layer in inputs for line in (_declaration(layer), f".input {layer.name}")]
    for number in range(draw(st.integers(3, 7))):
        made, rules = _stratum(draw, f"r{number}", pairs, tags)
        lines.extend([_declaration(made), *rules, f".output {made.name}"])
        (tags if made.types == _TAGGED else pairs).append(made)
    facts = {layer.name: draw(_facts(layer.types, least=10, most=24)) for layer in inputs}
    return RandomProgram("\n".join(lines), facts, {layer.name: layer.types for layer in inputs})


def _declaration(layer: _Layer) -> str:
    columns = ", ".join(f"c{place}: {name}" for place, name in enumerate(layer.types))
    return f".decl {layer.name}({columns})"


def _stratum(draw: Draw[Any], name: str, pairs: list[_Layer], tags: list[_Layer]) -> tuple[_Layer, list[str]]:
    """Draw the rules of one relation; all of them are short, it is the order of strata that matters."""
    one, other = draw(st.sampled_from(pairs)).name, draw(st.sampled_from(pairs)).name
    tag, text = draw(st.sampled_from(tags)).name, draw(st.sampled_from(_TEXTS))
    kinds = "join", "join", "guard", "guard", "closure", "absent", "unmatched", "tag", "text", "text", "count"
    match draw(st.sampled_from(kinds)):
        case "join":
            return _Layer(name, _PAIR), [f"{name}(x, z) :- {one}(x, y), {other}(y, z)."]
        case "guard":
            return _Layer(name, _PAIR), [f'{name}(x, y) :- {one}(x, y), {tag}(_, "{text}").']
        case "closure":
            rules = [f"{name}(x, y) :- {one}(x, y).", f"{name}(x, z) :- {name}(x, y), {other}(y, z)."]
            return _Layer(name, _PAIR), rules
        case "absent":
            return _Layer(name, _PAIR), [f"{name}(x, y) :- {one}(x, y), !{other}(y, x)."]
        case "unmatched":
            return _Layer(name, _PAIR), [f"{name}(x, y) :- {one}(x, y), !{other}(y, _)."]
        case "tag":
            return _Layer(name, _TAGGED), [f"{name}(x, t) :- {one}(x, y), {other}(y, _), {tag}(x, t)."]
        case "text":
            joined = f"{name}(x, t) :- {one}(x, y), {other}(y, _), {tag}(x, t)."
            rules = [joined, f'{name}(x, cat(t, "!")) :- {tag}(x, t).']
            return _Layer(name, _TAGGED), draw(st.permutations(rules))
        case _:
            return _Layer(name, _PAIR), [f"{name}(x, n) :- {one}(x, _), n = count : {{ {other}(x, _) }}."]


def _facts(types: tuple[str, ...], *, least: int = 0, most: int) -> st.SearchStrategy[tuple[Fact, ...]]:
    """Draw facts in one block of values, or all facts of a few keys."""
    numbers = st.integers(0, _NUMBERS - 1)
    second = numbers if types == _PAIR else st.sampled_from(_TEXTS)
    some = st.lists(st.tuples(numbers, second), unique=True, min_size=least, max_size=most)
    block = st.sampled_from(_BLOCKS)
    return st.builds(lambda first, facts: tuple((first + fact[0], *fact[1:]) for fact in facts), block, some)


@st.composite
def layered_epochs(draw: Draw[Any], program: RandomProgram, *, max_epochs: int = 6) -> list[RandomEpoch]:
    """Draw transactions that change one to three inputs each, by a fact or by a dozen."""
    there = {name: dict.fromkeys(facts) for name, facts in program.inputs.items()}
    drawn = []
    for _ in range(draw(st.integers(2, max(2, max_epochs)))):
        inserts: dict[str, tuple[Fact, ...]] = {}
        deletes: dict[str, tuple[Fact, ...]] = {}
        for name in draw(st.lists(st.sampled_from(sorted(there)), unique=True, min_size=1, max_size=3)):
            held = list(there[name])
            if held and draw(st.integers(0, 2)) == 2:
                deletes[name] = tuple(draw(st.lists(st.sampled_from(held), unique=True, max_size=3)))
            else:
                most = draw(st.sampled_from([1, 1, 2, 16]))
                inserts[name] = draw(_facts(program.input_types[name], most=most))
            for fact in deletes.get(name, ()):
                there[name].pop(fact)
            there[name].update(dict.fromkeys(inserts.get(name, ())))
        drawn.append(RandomEpoch(inserts, deletes))
    return drawn
