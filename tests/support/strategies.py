"""Random well-typed programs as text, with facts and epochs of changes.

A program is drawn as small structured values (declarations, then rules term by term) and printed
at the end, simplest choices first, so that a failing one shrinks to a few lines. Every fixpoint
is finite: rules that read their own stratum make only values from a small set.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from support.random_values import (
    COLUMN_TYPES,
    LETTER,
    LITERALS,
    NUMERIC,
    TYPES,
    Draw,
    RandomProgram,
    facts_of,
    literal,
    without_zero_divisors,
)
from support.whole_language import whole_language_programs
from tidelog.values import Fact

__all__ = [
    "RandomEpoch",
    "RandomProgram",
    "dense_programs",
    "epochs",
    "facts_of",
    "programs",
    "whole_language_programs",
]

# --- declarations --------------------------------------------------------------------------


@dataclass(frozen=True)
class Declared:
    """A relation; its rules may read the levels below its own, and its own if it is recursive.

    `role` is input, plain, inline, eqrel, choice, or least (subsumption keeps the least value of
    the last column).
    """

    name: str
    types: tuple[str, ...]
    role: str
    level: int

    def __str__(self) -> str:
        columns = ", ".join(f"{_column(number)}: {name}" for number, name in enumerate(self.types))
        qualifier = {
            "inline": " inline",
            "eqrel": " eqrel",
            "choice": f" choice-domain {_column(0)}",
        }.get(self.role, "")
        lines = [f".decl {self.name}({columns}){qualifier}"]
        if self.role == "input":
            lines.append(f".input {self.name}")
        if self.role == "least":
            keys = [_column(number) for number in range(len(self.types) - 1)]
            less, greater = (f"{self.name}({', '.join([*keys, last])})" for last in ("x", "y"))
            lines.append(f"{less} <= {greater} :- y < x.")
        return "\n".join(lines)


def _column(number: int) -> str:
    return f"c{number}"


@st.composite
def _declarations(draw: Draw[Any], *, levels: int, column_types: tuple[str, ...]) -> list[Declared]:
    types = st.lists(st.sampled_from(column_types), min_size=1, max_size=3).map(tuple)
    declared = [Declared(f"in{number}", draw(types), "input", 0) for number in range(draw(st.integers(1, 3)))]
    for level in range(1, levels + 1):
        for number in range(draw(st.integers(1, 2))):
            role = draw(st.sampled_from(["plain"] * 6 + ["inline", "eqrel", "choice", "least"]))
            columns = draw(types)[:2]
            if role == "eqrel":
                columns = columns[:1] * 2
            if role == "least":
                columns = (*columns[:-1], "number")
            declared.append(Declared(f"r{level}{number}", columns, role, level))
    return declared


# --- rules ---------------------------------------------------------------------------------


@dataclass
class Scope:
    """The variables of a rule that its atoms have bound so far, by type."""

    bound: dict[str, list[str]] = field(default_factory=dict)
    fresh: int = 10

    def bind(self, name: str, type_name: str) -> str:
        """Note that a variable is bound."""
        names = self.bound.setdefault(type_name, [])
        if name not in names:
            names.append(name)
        return name

    def new(self, type_name: str) -> str:
        """Return a variable that stands nowhere else in the rule."""
        self.fresh += 1
        return f"{LETTER[type_name]}{self.fresh}"


def _variable(draw: Draw[Any], type_name: str, scope: Scope) -> str:
    return scope.bind(f"{LETTER[type_name]}{draw(st.integers(0, 2))}", type_name)


def _constant(draw: Draw[Any], type_name: str) -> str:
    return literal(draw(LITERALS[type_name]), type_name)


def _pattern(draw: Draw[Any], type_name: str, scope: Scope) -> str:
    """Return a term that takes a value apart."""

    def part(name: str) -> str:
        return _atom_term(draw, name, scope, is_nested=True)

    match type_name:
        case "Pair":
            return f"[{part('number')}, {part('symbol')}]"
        case "List":
            return f"[{part('number')}, {part('List')}]"
        case "Shape":
            return f"$Box({part('number')}, {part('symbol')})"
        case _:
            return _constant(draw, type_name)


def _atom_term(draw: Draw[Any], type_name: str, scope: Scope, *, is_nested: bool = False) -> str:
    ways = ["variable"] * 8 + ["wildcard", "constant"] + ([] if is_nested else ["pattern", "expression"])
    match draw(st.sampled_from(ways)):
        case "wildcard":
            return "_"
        case "constant":
            return _constant(draw, type_name)
        case "pattern":
            return _pattern(draw, type_name, scope)
        case "expression" if scope.bound.get(type_name):
            return _expression(draw, type_name, scope, is_bounded=False)
        case _:
            return _variable(draw, type_name, scope)


def _leaf(draw: Draw[Any], type_name: str, scope: Scope) -> str:
    """Return a bound variable, or a constant."""
    names = scope.bound.get(type_name, [])
    if names and draw(st.integers(0, 4)) < 4:
        return draw(st.sampled_from(names))
    return _constant(draw, type_name)


def _expression(draw: Draw[Any], type_name: str, scope: Scope, *, is_bounded: bool) -> str:
    """Return a term over bound variables; a bounded one takes only few values."""
    if draw(st.booleans()):
        return _leaf(draw, type_name, scope)
    match type_name:
        case "number":
            term = _fill(draw, NUMBER_FORMS, scope)
            return f"({term}) % 3" if is_bounded else f"({term})"
        case "unsigned":
            term = _fill(draw, UNSIGNED_FORMS, scope)
            return f"({term}) % 3u" if is_bounded else f"({term})"
        case "float":
            return _fill(draw, BOUNDED_FLOAT_FORMS if is_bounded else FLOAT_FORMS, scope)
        case "symbol":
            return _fill(draw, BOUNDED_SYMBOL_FORMS if is_bounded else SYMBOL_FORMS, scope)
        case "Pair":
            return f"[{_bounded(draw, 'number', scope)}, {_bounded(draw, 'symbol', scope)}]"
        case "List":
            tail = "nil" if is_bounded else _leaf(draw, "List", scope)
            return f"[{_bounded(draw, 'number', scope)}, {tail}]"
        case _:
            return f"$Box({_bounded(draw, 'number', scope)}, {_bounded(draw, 'symbol', scope)})"


def _bounded(draw: Draw[Any], type_name: str, scope: Scope) -> str:
    return _expression(draw, type_name, scope, is_bounded=True)


def _fill(draw: Draw[Any], forms: list[str], scope: Scope) -> str:
    """Return one of the forms with a bound variable or a constant for each type it names."""
    form = draw(st.sampled_from(forms))
    for type_name in LETTER:
        while f"<{type_name}>" in form:
            form = form.replace(f"<{type_name}>", _leaf(draw, type_name, scope), 1)
    return without_zero_divisors(form)


NUMBER_FORMS = [
    *(f"<number> {op} <number>" for op in ("+", "-", "*", "/", "%", "band", "bxor", "land", "bshl")),
    "max(<number>, <number>)",
    "-(<number>)",
    "strlen(<symbol>)",
    "to_number(<symbol>)",
    "ftoi(<float>)",
]
UNSIGNED_FORMS = [
    *(f"<unsigned> {op} <unsigned>" for op in ("+", "-", "*", "/", "%", "band", "bshr")),
    "itou(<number>)",
]
FLOAT_FORMS = [f"(<float> {op} <float>)" for op in ("+", "-", "*", "/")]
BOUNDED_FLOAT_FORMS = ["max(<float>, <float>)", "itof(<number> % 3)"]
BOUNDED_SYMBOL_FORMS = [
    "min(<symbol>, <symbol>)",
    "substr(<symbol>, <number>, 1)",
    "substr(cat(<symbol>, <symbol>), 0, 1)",
    "to_string(<number> % 3)",
]
SYMBOL_FORMS = [*BOUNDED_SYMBOL_FORMS, "cat(<symbol>, <symbol>)", "to_string(<number>)", "to_string(<float>)"]


def _atom(draw: Draw[Any], relation: Declared, scope: Scope) -> str:
    return f"{relation.name}({', '.join(_atom_term(draw, name, scope) for name in relation.types)})"


def _test_term(draw: Draw[Any], type_name: str, scope: Scope) -> str:
    """Return a term of a negated atom: everything in it is bound, or a wildcard."""
    if draw(st.integers(0, 3)) == 0:
        return "_"
    return _expression(draw, type_name, scope, is_bounded=False)


def _negation(draw: Draw[Any], below: list[Declared], scope: Scope) -> str:
    relation = draw(st.sampled_from([r for r in below if r.role != "inline"]))
    return f"!{relation.name}({', '.join(_test_term(draw, name, scope) for name in relation.types)})"


def _negated_conjunction(draw: Draw[Any], below: list[Declared], scope: Scope) -> str:
    """Return `!(a(x, v), b(v))`: variables of its own beside bound ones."""
    own: dict[str, list[str]] = {}
    literals = []
    for _ in range(draw(st.integers(1, 2))):
        relation = draw(st.sampled_from([r for r in below if r.role != "inline"]))
        terms = []
        for type_name in relation.types:
            names = [*own.get(type_name, []), *scope.bound.get(type_name, [])]
            if names and draw(st.booleans()):
                terms.append(draw(st.sampled_from(names)))
            else:
                terms.append(scope.new(type_name))
                own.setdefault(type_name, []).append(terms[-1])
        literals.append(f"{relation.name}({', '.join(terms)})")
    if own.get("number") and draw(st.booleans()):
        literals.append(f"{own['number'][0]} > {_leaf(draw, 'number', scope)}")
    return f"!({', '.join(literals)})"


def _comparison(draw: Draw[Any], scope: Scope) -> str:
    type_name = draw(st.sampled_from(sorted(scope.bound) or ["number"]))
    left = _leaf(draw, type_name, scope)
    right = _expression(draw, type_name, scope, is_bounded=False)
    if type_name == "symbol" and draw(st.booleans()):
        word = draw(st.sampled_from(["contains", "!contains", "match", "!match"]))
        return f"{word}({left}, {right})"
    ops = ["=", "!="] + (["<", "<=", ">", ">="] if type_name in (*NUMERIC, "symbol") else [])
    op = draw(st.sampled_from(ops))
    # Two literals may leave the type open; a record's type always is.
    if left[0].isalpha() and left != "nil":
        return f"{left} {op} {right}"
    return "true"


def _binding(draw: Draw[Any], scope: Scope, *, is_bounded: bool) -> str:
    """Return a constraint that binds a new variable, or takes a bound one apart."""
    pairs = scope.bound.get("Pair", [])
    if pairs and draw(st.booleans()):
        number, symbol = scope.new("number"), scope.new("symbol")
        text = f"{draw(st.sampled_from(pairs))} = [{number}, {symbol}]"
        scope.bind(number, "number")
        scope.bind(symbol, "symbol")
        return text
    if draw(st.integers(0, 3)) == 0:
        name = scope.bind(
            draw(st.sampled_from([*scope.bound.get("number", []), scope.new("number")])), "number"
        )
        step = draw(st.sampled_from(["", ", 2", ", -1"]))
        return f"{name} = range({draw(st.integers(-1, 1))}, {draw(st.integers(0, 3))}{step})"
    # A new variable needs an operand that tells its type.
    type_name = draw(st.sampled_from(["number", "symbol"]))
    term = _expression(draw, type_name, scope, is_bounded=is_bounded)
    return f"{scope.bind(scope.new(type_name), type_name)} = {term}"


def _aggregate(draw: Draw[Any], below: list[Declared], scope: Scope) -> str:
    relation = draw(st.sampled_from([r for r in below if r.role != "inline"]))
    own: dict[str, list[str]] = {}
    terms = []
    for type_name in relation.types:
        way = draw(st.sampled_from(["own", "own", "outer", "wildcard"]))
        if way == "outer" and scope.bound.get(type_name):
            terms.append(draw(st.sampled_from(scope.bound[type_name])))
        elif way == "wildcard":
            terms.append("_")
        else:
            name = scope.new(type_name)
            own.setdefault(type_name, []).append(name)
            terms.append(name)
    body = f"{relation.name}({', '.join(terms)})"
    numeric = [(name, type_name) for type_name in NUMERIC for name in own.get(type_name, [])]
    if own.get("number") and draw(st.booleans()):
        body += f", {own['number'][0]} > {_leaf(draw, 'number', scope)}"
    if not numeric or draw(st.integers(0, 4)) == 4:
        return f"{scope.bind(scope.new('number'), 'number')} = count : {{ {body} }}"
    target, type_name = draw(st.sampled_from(numeric))
    functor = draw(st.sampled_from(["sum", "min", "max", "mean"]))
    result = "float" if functor == "mean" else type_name
    return f"{scope.bind(scope.new(result), result)} = {functor} {target} : {{ {body} }}"


def _disjunction(draw: Draw[Any], below: list[Declared], scope: Scope) -> str:
    alternatives = [
        _comparison(draw, scope) if draw(st.booleans()) else _negation(draw, below, scope) for _ in range(2)
    ]
    return f"({' ; '.join(alternatives)})"


def _rule(draw: Draw[Any], head: Declared, declared: list[Declared]) -> str:
    below = [relation for relation in declared if relation.level < head.level]
    beside = [r for r in declared if r.level == head.level and r.role != "inline" and head.role != "inline"]
    scope = Scope()
    first = draw(st.sampled_from(below))
    literals = [_atom(draw, first, scope)]
    second = draw(st.sampled_from([None, *beside, *below]))
    is_recursive = second in beside
    if second is not None:
        literals.append(_atom(draw, second, scope))
    extras = {
        "negation": lambda: _negation(draw, below, scope),
        "negated conjunction": lambda: _negated_conjunction(draw, below, scope),
        "comparison": lambda: _comparison(draw, scope),
        "binding": lambda: _binding(draw, scope, is_bounded=is_recursive),
        "aggregate": lambda: _aggregate(draw, below, scope),
        "disjunction": lambda: _disjunction(draw, below, scope),
        "atom": lambda: _atom(draw, draw(st.sampled_from(below[:1])), scope),
    }
    literals.extend(extras[kind]() for kind in draw(st.lists(st.sampled_from(sorted(extras)), max_size=2)))
    terms = [_expression(draw, name, scope, is_bounded=is_recursive) for name in head.types]
    order = draw(st.permutations(literals)) if draw(st.booleans()) else literals
    return f"{head.name}({', '.join(terms)}) :- {', '.join(order)}."


def _fact(draw: Draw[Any], relation: Declared) -> str:
    return f"{relation.name}({', '.join(_constant(draw, name) for name in relation.types)})."


# --- programs, facts, epochs ---------------------------------------------------------------


@st.composite
def programs(
    draw: Draw[Any], *, column_types: tuple[str, ...] = COLUMN_TYPES, min_facts: int = 0, max_facts: int = 6
) -> RandomProgram:
    """Draw a well-typed program of a few strata, with facts in its text and as input."""
    declared = draw(_declarations(levels=draw(st.integers(1, 3)), column_types=column_types))
    lines = [TYPES.strip(), *map(str, declared)]
    for relation in declared:
        if relation.role == "input":
            continue
        lines.extend(_rule(draw, relation, declared) for _ in range(draw(st.integers(1, 3))))
        if relation.role != "inline":
            lines.extend(_fact(draw, relation) for _ in range(draw(st.integers(0, 2))))
            lines.append(f".output {relation.name}")
    types = {relation.name: relation.types for relation in declared if relation.role == "input"}
    inputs = draw(facts_of(types, min_facts=min_facts, max_facts=max_facts))
    return RandomProgram("\n".join(lines), inputs, types)


def dense_programs() -> st.SearchStrategy[RandomProgram]:
    """Draw programs over numbers with enough facts that most rules derive something."""
    return programs(column_types=("number",), min_facts=4, max_facts=12)


@dataclass(frozen=True)
class RandomEpoch:
    """The changes of one transaction: facts to insert and facts to delete, by relation."""

    inserts: Mapping[str, tuple[Fact, ...]]
    deletes: Mapping[str, tuple[Fact, ...]]


@st.composite
def epochs(draw: Draw[Any], program: RandomProgram, *, max_epochs: int = 4) -> list[RandomEpoch]:
    """Draw transactions to follow the program's first facts.

    Only facts that are there are deleted; an inserted fact may be there already.
    """
    there = {name: dict.fromkeys(facts) for name, facts in program.inputs.items()}
    drawn = []
    for _ in range(draw(st.integers(1, max_epochs))):
        inserts = draw(facts_of(program.input_types, max_facts=2))
        deletes = {
            name: tuple(draw(st.lists(st.sampled_from(list(facts)), unique=True, max_size=2)))
            if facts
            else ()
            for name, facts in there.items()
        }
        for name, facts in there.items():
            for fact in deletes[name]:
                facts.pop(fact)
            facts.update(dict.fromkeys(inserts[name]))
        drawn.append(RandomEpoch(inserts, deletes))
    return drawn
