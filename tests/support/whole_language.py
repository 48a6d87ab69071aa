"""Random programs that use everything the language has, with the functions of their functors.

The engines of a program must agree on every relation, so nothing here depends on what the language leaves
open: numbers of `autoinc()` and `ord` are asked for and not shown, folds do not depend on order.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hypothesis import assume
from hypothesis import strategies as st

from support.language_functions import FUNCTIONS
from support.language_terms import LETTER, PRELUDE, Known, Scope, Terms
from support.programs import build
from support.random_values import Draw, RandomProgram, facts_of
from tidelog.errors import TidelogError

_TYPES: Final = (
    *("number",) * 6,
    *("symbol",) * 3,
    *("unsigned", "float", "Small", "Tiny", "Either", "Word"),
    *("Pair", "List", "Shape", "Nest", "Tree"),
)
ROLES: Final = (
    *("plain",) * 8,
    *("nullary", "inline", "eqrel", "choice", "least", "keys", "limit", "gated", "component"),
    *("lattice", "lattice"),
)
QUALIFIERS: Final = ("", "", "", " magic", " no_magic", " brie", " btree", " no_inline", " overridable")
# How a value of a lattice column may move on in a recursive rule.
MOVES: Final = {
    "Low": ("{}", "{} + 1", "min({}, 2)"),
    "High": ("{}", "min(max({}, 0) + 1, 6)", "max({}, 1)"),
    "Mixed": ("{}", "@larger({}, 1)"),
}
# Constraints that can only become true while their relation grows.
GATES: Final = (
    "count : {{ {name}(_) }} >= {number}",
    "sum {own} : {{ {name}({own}), {own} > 0 }} > {number}",
    "max {own} : {{ {name}({own}) }} >= {number}",
    "min {own} : {{ {name}({own}) }} < {number}",
)
COMPONENTS: Final = """
.comp Reach<T> {
    .decl edge(x: T, y: T)
    .decl path(x: T, y: T) overridable
    .decl start(x: T)
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), edge(y, z).
    start(x) :- path(x, _).
}
.comp Back<T> : Reach<T> {
    .override path
    path(x, y) :- edge(y, x).
    .decl loop(x: T)
    loop(x) :- path(x, x).
}
"""


class _Writer:
    """Writes one program, line by line."""

    def __init__(self, draw: Draw[Any]) -> None:
        self.draw = draw
        self.terms = Terms(draw)
        self.lines: list[str] = []
        self.known: list[Known] = []
        self.inputs: dict[str, tuple[str, ...]] = {}

    # --- declarations --------------------------------------------------------------------------

    def columns(self, most: int) -> tuple[str, ...]:
        """Draw the types of a relation's columns."""
        return tuple(self.draw(st.lists(st.sampled_from(_TYPES), min_size=1, max_size=most)))

    def declare(self, relation: Known, qualifier: str = "", *, is_input: bool = False) -> Known:
        """Write a declaration, and note the relation."""
        lattices = {"lattice"} if relation.role == "lattice" else set()
        last = len(relation.types) - 1
        columns = ", ".join(
            f"c{place}: {name}{'<>' if lattices and place == last else ''}"
            for place, name in enumerate(relation.types)
        )
        self.lines.append(f".decl {relation.name}({columns}){qualifier}")
        if is_input:
            self.lines.append(f".input {relation.name}")
            self.inputs[relation.name] = relation.types
        return relation

    def input_relations(self) -> None:
        """Write the relations that facts are given for; one may have no columns."""
        for number in range(self.draw(st.integers(1, 3))):
            types = () if self.terms.seldom(10) and number else self.columns(3)
            self.known.append(self.declare(Known(f"in{number}", types, 0, "input"), is_input=True))

    def level(self, level: int) -> None:
        """Write one or two relations of a level, and their rules."""
        made = []
        for number in range(self.draw(st.integers(1, 2))):
            role = self.terms.pick(ROLES)
            name = f"r{level}{number}"
            if role == "component":
                self.component(f"g{level}{number}", level)
            elif role in ("keys", "gated", "lattice"):
                getattr(self, role)(name, level)
            else:
                made.append(self.derived(name, role, level))
        for relation in made:
            rules = 1 if relation.role == "nullary" else self.draw(st.integers(1, 3))
            for _ in range(rules):
                self.rule(relation, made)
            if relation.role != "inline":
                self.facts(relation)
        self.known.extend(made)

    def derived(self, name: str, role: str, level: int) -> Known:
        """Write the declaration of a relation whose rules are drawn freely."""
        types = () if role == "nullary" else self.columns(2)
        qualifier = self.terms.pick(QUALIFIERS) if role == "plain" else f" {role}"
        if role == "eqrel":
            types = types[:1] * 2
        if role == "choice":
            qualifier = self.terms.pick([" choice-domain c0", f" choice-domain c0, c{len(types) - 1}"])
        if role == "least":
            types, qualifier = (*types[:-1], "number"), self.terms.pick(["", " btree_delete"])
        if role in ("nullary", "limit"):
            qualifier = ""
        is_input = role in ("plain", "eqrel", "choice", "least") and self.terms.seldom(5)
        relation = self.declare(Known(name, types, level, role), qualifier, is_input=is_input)
        if role == "limit":
            self.lines.append(f".limitsize {name}(n={self.draw(st.integers(1, 4))})")
        if role == "least":
            self.subsumption(relation)
        return relation

    def subsumption(self, relation: Known) -> None:
        """Write what keeps the least value of the last column, perhaps only where something else holds."""
        keys = [f"k{place}" for place in range(len(relation.types) - 1)]
        less, greater = (f"{relation.name}({', '.join([*keys, last])})" for last in ("n0", "n1"))
        scope = Scope(self.known, depth=2)
        scope.bind("n0", "number")
        scope.bind("n1", "number")
        tests = (
            "",
            f", {self.terms.disjunction(scope)}",
            f", n0 > {self.terms.aggregate('number', scope) or 0}",
        )
        more = self.terms.pick(tests)
        self.lines.append(f"{less} <= {greater} :- n1 < n0{more}.")

    # --- relations with rules of a certain form --------------------------------------------------

    def keys(self, name: str, level: int) -> None:
        """Write a relation with `keys` and the rule that gives every key one value."""
        readable = [known for known in self.known if known.types and known.role != "inline"]
        source = self.terms.pick(readable)
        value = self.terms.pick(["number", "symbol", "float", "Pair"])
        relation = self.declare(Known(name, (source.types[0], value), level, "keys"), " keys c0")
        scope = Scope(self.known)
        key = scope.bind(f"{LETTER[source.types[0]]}0", source.types[0])
        wildcards = ", _" * (len(source.types) - 1)
        term = self.terms.expression(value, scope)
        self.lines.append(f"{name}({key}, {term}) :- {source.name}({key}{wildcards}).")
        self.finish(relation)

    def gated(self, name: str, level: int) -> None:
        """Write a relation whose aggregates over itself only let it grow."""
        relation = self.declare(Known(name, ("number",), level, "gated"))
        for _ in range(self.draw(st.integers(1, 2))):
            scope = Scope(self.known)
            first = self.terms.atom(self.terms.pick(self.known), scope)
            head = self.terms.expression("number", scope, is_bounded=True)
            gate = self.terms.pick(GATES).format(
                name=name, own=scope.new("number"), number=self.draw(st.integers(0, 2))
            )
            self.lines.append(f"{name}({head}) :- {first}, {gate}.")
        scope = Scope(self.known)
        first = self.terms.atom(self.terms.pick(self.known), scope)
        head = self.terms.expression("number", scope, is_bounded=True)
        self.lines.append(f"{name}({head}) :- {first}.")
        self.facts(relation)
        self.known.append(relation)

    def lattice(self, name: str, level: int) -> None:
        """Write a relation with a lattice column, whose values move on in a recursion."""
        value = self.terms.pick(sorted(MOVES))
        key = self.terms.pick(["number", "symbol", "Small"])
        relation = self.declare(Known(name, (key, value), level, "lattice"))
        for _ in range(self.draw(st.integers(1, 2))):
            self.rule(relation, [])
        if self.draw(st.booleans()):
            scope = Scope(self.known)
            first = self.terms.atom(self.terms.pick(self.known), scope)
            scope.bind("k1", key)
            head = self.terms.expression(key, scope, is_bounded=True)
            moved = self.terms.pick(MOVES[value]).format("v1")
            term = moved if moved == "v1" else f"as({moved}, {value})"
            self.lines.append(f"{name}({head}, {term}) :- {name}(k1, v1), {first}.")
        if self.terms.seldom(3):
            scope = Scope(self.known)
            first = self.terms.atom(self.terms.pick(self.known), scope)
            functor = "min" if value == "Low" else "max"
            if value != "Mixed":
                head = self.terms.expression(key, scope, is_bounded=True)
                self.lines.append(f"{name}({head}, {functor} v2 : {{ {name}(_, v2) }}) :- {first}.")
        self.facts(relation)
        self.known.append(relation)

    def component(self, name: str, level: int) -> None:
        """Write an instance of a component, and rules that fill it."""
        if COMPONENTS not in self.lines:
            self.lines.append(COMPONENTS)
        component = self.terms.pick(["Reach", "Back"])
        of = self.terms.pick(["number", "symbol", "Small"])
        self.lines.append(f".init {name} = {component}<{of}>")
        edge = Known(f"{name}.edge", (of, of), level)
        for _ in range(self.draw(st.integers(1, 2))):
            self.rule(edge, [])
        words = {"edge": 2, "path": 2, "start": 1, **({"loop": 1} if component == "Back" else {})}
        for word, arity in words.items():
            self.known.append(Known(f"{name}.{word}", (of,) * arity, level))
            self.lines.append(f".output {name}.{word}")

    # --- rules -----------------------------------------------------------------------------------

    def rule(self, head: Known, beside: Sequence[Known]) -> None:
        """Write a rule, perhaps with several heads and an order."""
        siblings = [known for known in beside if known.role != "inline" and head.role != "inline"]
        second = self.terms.pick([None, *siblings, *self.known])
        is_recursive = second in siblings
        others = [
            known
            for known in siblings
            if known is not head and known.role == "plain" and head.role == "plain" and not is_recursive
        ]
        heads = [head, self.terms.pick(others)] if others and self.terms.seldom(3) else [head]
        # A rule for two heads of one stratum may be part of its recursion.
        is_bounded = is_recursive or len(heads) > 1
        scope = Scope(self.known, counts=not siblings and head.role not in ("inline", "lattice"))
        literals = [self.terms.atom(self.terms.pick(self.known), scope)]
        if second is not None:
            literals.append(self.terms.atom(second, scope))
        literals.extend(
            self.literal(scope, is_bounded=is_bounded) for _ in range(self.draw(st.integers(0, 2)))
        )
        texts = [self.head(each, scope, is_bounded=is_bounded) for each in heads]
        order = self.draw(st.permutations(literals)) if self.draw(st.booleans()) else literals
        plan = self.plan(order, [*self.known, *siblings])
        self.lines.append(f"{', '.join(texts)} :- {', '.join(order)}.{plan}")

    def literal(self, scope: Scope, *, is_bounded: bool) -> str:
        """Return a literal beside the first atoms of a body."""
        terms = self.terms
        match terms.pick(
            [
                "comparison",
                "negation",
                "binding",
                "binding",
                "disjunction",
                "atom",
                "range",
                "either",
                "counter",
                "lookup",
            ]
        ):
            case "comparison":
                return terms.comparison(scope)
            case "negation":
                return terms.negation(scope)
            case "binding":
                return terms.binding(scope, is_bounded=is_bounded)
            case "disjunction":
                return terms.disjunction(scope)
            case "atom":
                return terms.atom(terms.pick(self.known), scope)
            case "range":
                type_name = terms.pick(["number", "unsigned", "float"])
                return terms.generator(scope, scope.new(type_name), type_name)
            case "either":
                return terms.either_binds(scope)
            case "lookup":
                return self.lookup(scope)
            case _:
                return terms.counter(scope)

    def lookup(self, scope: Scope) -> str:
        """Return a constraint on the value of a key, of a relation that has one for each."""
        keyed = [each for each in self.known if each.role in ("choice", "lattice") and len(each.types) > 1]
        if not keyed:
            return self.terms.comparison(scope)
        relation = self.terms.pick(keyed)
        terms = ", ".join(self.terms.expression(name, scope) for name in relation.types[:-1])
        value = scope.new(relation.types[-1])
        scope.bind(value, relation.types[-1])
        return f"{relation.name}[{terms}] = {value}"

    def head(self, relation: Known, scope: Scope, *, is_bounded: bool) -> str:
        """Return the head of a rule; a number may be one of a range."""
        terms = [
            self.terms.range(scope, "number")
            if name == "number" and self.terms.seldom(12)
            else self.terms.expression(name, scope, is_bounded=is_bounded)
            for name in relation.types
        ]
        return f"{relation.name}({', '.join(terms)})"

    def plan(self, literals: Sequence[str], readable: Sequence[Known]) -> str:
        """Return an order for the atoms of a body, if one is drawn; bodies with disjunctions have none."""
        if not self.terms.seldom() or any(" ; " in each or "] = " in each for each in literals):
            return ""
        if self.draw(st.booleans()):
            return "\n.plan leapfrog"
        beginnings = tuple(f"{known.name}(" for known in readable)
        atoms = sum(each.startswith(beginnings) for each in literals)
        order = self.draw(st.permutations(range(1, atoms + 1)))
        return f"\n.plan 0:({', '.join(map(str, order))})"

    def facts(self, relation: Known) -> None:
        """Write facts of a relation, and whether it is an output."""
        for _ in range(self.draw(st.integers(0, 2))):
            scope = Scope([known for known in self.known if known.role != "inline"], depth=1)
            draw_term = self.terms.expression if self.terms.seldom(4) else None
            terms = [
                self.terms.constant(name) if draw_term is None else draw_term(name, scope)
                for name in relation.types
            ]
            self.lines.append(f"{relation.name}({', '.join(terms)}).")
        self.lines.append(f".output {relation.name}")
        if self.terms.seldom(8):
            self.lines.append(f".printsize {relation.name}")

    def pragma(self) -> None:
        """Ask for one join of all atoms of a relation's rules, now and then."""
        if self.terms.seldom(12):
            self.lines.append(f'.pragma "leapfrog" "{self.known[-1].name}"')

    def finish(self, relation: Known) -> None:
        """Make a relation an output that later ones may read."""
        self.lines.append(f".output {relation.name}")
        self.known.append(relation)


@st.composite
def whole_language_programs(
    draw: Draw[Any], *, levels: int = 3, min_facts: int = 0, max_facts: int = 5
) -> RandomProgram:
    """Draw a well-typed program of any features of the language, with its functions and facts.

    The `functions` of the program must be given to whatever runs it. Programs that inlining would blow up,
    which the checker refuses, are not drawn.
    """
    writer = _Writer(draw)
    writer.input_relations()
    for level in range(1, draw(st.integers(1, levels)) + 1):
        writer.level(level)
    writer.pragma()
    text = with_prelude("\n".join(writer.lines))
    assume(not _is_too_large(text))
    inputs: Mapping[str, Any] = draw(facts_of(writer.inputs, min_facts=min_facts, max_facts=max_facts))
    functions = {name: function for name, function in FUNCTIONS.items() if f"@{name}" in text}
    return RandomProgram(text, inputs, writer.inputs, functions)


def with_prelude(text: str) -> str:
    """Return the text behind the declarations of the types and functors that it names."""
    waiting = [line for line in PRELUDE.splitlines() if line]
    kept: set[str] = set()
    before = -1
    while len(kept) > before:
        before = len(kept)
        named = set(re.findall(r"@?\w+", " ".join([text, *kept])))
        kept.update(line for line in waiting if _declared(line) in named)
    return "\n".join([*(line for line in waiting if line in kept), text])


def _declared(line: str) -> str:
    """Return the word by which a text uses a declaration."""
    word, name = line.split("(", maxsplit=1)[0].split("<", maxsplit=1)[0].split()[:2]
    return f"@{name}" if word == ".functor" else name


def _is_too_large(text: str) -> bool:
    if " inline" not in text:
        return False
    try:
        build(text)
    except TidelogError as error:
        return any(each.code == "rule-too-large" for each in error.diagnostics)
    return False
