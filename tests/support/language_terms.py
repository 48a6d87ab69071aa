"""Random terms and literals of the whole language, over the variables bound so far.

Text is drawn directly. Every term is well typed and every literal safe where it is put behind the
atoms drawn before it; a literal may be moved, since the order of a body means nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import strategies as st

from support.language_functions import DECLARATIONS
from support.random_values import LITERALS, Draw, literal, without_zero_divisors

TYPES: Final = """
.type Small <: number
.type Tiny <: number
.type Either = Small | Tiny
.type Word <: symbol
.type Pair = [a: number, b: symbol]
.type List = [head: number, tail: List]
.type Shape = Dot {} | Box { w: number, s: symbol }
.type Nest = [pair: Pair, shape: Shape]
.type Tree = Leaf {} | Fork { left: Tree, value: Small }
.type Low <: number
.type High <: number
.type Mixed <: number
.lattice Low<> { Lub -> min(_, _) }
.lattice High<> { Lub -> max(_, _) }
.lattice Mixed<> { Bottom -> -9, Lub -> @larger(_, _), Glb -> @smaller(_, _) }
"""
PRELUDE: Final = TYPES + DECLARATIONS
LETTER: Final = {
    "number": "n",
    "symbol": "s",
    "unsigned": "u",
    "float": "f",
    "Small": "m",
    "Tiny": "y",
    "Either": "e",
    "Word": "w",
    "Pair": "p",
    "List": "l",
    "Shape": "t",
    "Nest": "x",
    "Tree": "r",
    "Low": "a",
    "High": "h",
    "Mixed": "i",
}
# Which variables may be used where a type is wanted.
NARROWER: Final = {
    "number": ("number", "Small", "Tiny", "Either", "Low", "High", "Mixed"),
    "symbol": ("symbol", "Word"),
    "Either": ("Either", "Small", "Tiny"),
}
BASE: Final = {
    **dict.fromkeys(("Small", "Tiny", "Either", "Low", "High", "Mixed"), "number"),
    "Word": "symbol",
}
PARTS: Final = {
    "Pair": ("[{}, {}]", ("number", "symbol")),
    "List": ("[{}, {}]", ("number", "List")),
    "Shape": ("$Box({}, {})", ("number", "symbol")),
    "Nest": ("[{}, {}]", ("Pair", "Shape")),
    "Tree": ("$Fork({}, {})", ("Tree", "Small")),
}
NOTHING: Final = {"Pair": "nil", "List": "nil", "Shape": "$Dot()", "Nest": "nil", "Tree": "$Leaf()"}
COMPARABLE: Final = ("number", "unsigned", "float", "symbol")

_BINARY = (
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "band",
    "bor",
    "bxor",
    "bshl",
    "bshr",
    "bshru",
    "land",
    "lor",
    "lxor",
)
FORMS: Final = {
    "number": [
        *(f"(<number>) {op} (<number>)" for op in _BINARY),
        "max(<number>, <number>, <number>)",
        "min(<number>, <number>)",
        "-(<number>)",
        "bnot (<number>)",
        "lnot (<number>)",
        "strlen(<symbol>)",
        "to_number(<symbol>)",
        "to_number(<float>)",
        "ftoi(<float>)",
        "utoi(<unsigned>)",
        "as(<number>, Small)",
        "@twice(<number>)",
        "@half(<number>)",
        "@tick(<number>)",
    ],
    "unsigned": [
        *(f"(<unsigned>) {op} (<unsigned>)" for op in _BINARY),
        "max(<unsigned>, <unsigned>)",
        "itou(<number>)",
        "ftou(<float>)",
        "to_unsigned(<symbol>)",
        "@low(<unsigned>)",
    ],
    "float": [
        *(f"((<float>) {op} (<float>))" for op in ("+", "-", "*", "/", "^")),
        "max(<float>, <float>)",
        "min(<float>, <float>)",
        "-(<float>)",
        "itof(<number>)",
        "utof(<unsigned>)",
        "to_float(<symbol>)",
        "@sign(<float>)",
    ],
    "symbol": [
        "(<symbol>) + (<symbol>)",
        "min(<symbol>, <symbol>)",
        "max(<symbol>, <symbol>)",
        "substr(<symbol>, <number>, 1)",
        "to_string(<number>)",
        "to_string(<float>)",
        "to_string(<unsigned>)",
        "@glue(<symbol>, <symbol>)",
        "@tag(<Pair>)",
    ],
    "Pair": ["@paired(<number>, <symbol>)"],
}
# A term of few values around one of many, for rules that read their own stratum.
BOUNDED: Final = {
    "number": "({}) % 3",
    "unsigned": "({}) % 3u",
    "float": "itof(ftoi({}) % 3)",
    "symbol": 'substr(cat({}, "a"), 0, 1)',
}
# What ranges are made of: they must stay short.
SHORT: Final = {"number": "({}) % 4", "unsigned": "({}) % 4u", "float": "itof(ftoi({}) % 4)"}
STEPS: Final = {"number": ("1", "2", "-1", "0"), "unsigned": ("1u", "2u"), "float": ("0.5", "-1.0")}
# Behind each aggregate the type of its target and of its result.
AGGREGATES: Final = {
    "number": [
        *("count", "sum number", "min number", "max number"),
        *("@@fold number", "@@Spread number", "@@Total number", "@@Longest symbol"),
    ],
    "unsigned": ["sum unsigned", "min unsigned", "max unsigned"],
    "float": ["sum float", "mean float", "mean number", "min float", "max float", "mean unsigned"],
    "symbol": ["min symbol", "max symbol", "@@concat symbol"],
}


@dataclass(frozen=True)
class Known:
    """A relation that rules may read."""

    name: str
    types: tuple[str, ...]
    level: int
    role: str = "plain"


@dataclass
class Scope:
    """The variables bound so far by type, and the relations that are complete where the terms stand.

    `counts` says that `autoinc()` may stand here; `depth` how deep functors and aggregates may still nest.
    """

    below: Sequence[Known]
    counts: bool = False
    depth: int = 3
    bound: dict[str, list[str]] = field(default_factory=dict)
    made: list[int] = field(default_factory=lambda: [10])

    def bind(self, name: str, type_name: str) -> str:
        """Note that a variable is bound."""
        names = self.bound.setdefault(type_name, [])
        if name not in names:
            names.append(name)
        return name

    def new(self, type_name: str) -> str:
        """Return a variable that stands nowhere else in the rule."""
        self.made[0] += 1
        return f"{LETTER[type_name]}{self.made[0]}"

    def names(self, type_name: str) -> list[str]:
        """Return the variables that may stand for a value of the type."""
        return [
            name for narrow in NARROWER.get(type_name, (type_name,)) for name in self.bound.get(narrow, [])
        ]

    def inner(self) -> "Scope":
        """Return a scope for an aggregate: it sees these variables, and binds its own."""
        bound = {type_name: list(names) for type_name, names in self.bound.items()}
        return Scope(self.below, self.counts, self.depth - 1, bound, self.made)


class Terms:
    """Draws terms and literals."""

    def __init__(self, draw: Draw[Any]) -> None:
        self.draw = draw

    def pick(self, choices: Sequence[Any]) -> Any:
        """Draw one of the choices, the first of them most simply."""
        return self.draw(st.sampled_from(choices))

    def seldom(self, times: int = 6) -> bool:
        """Draw True once in so many times."""
        return bool(self.draw(st.integers(0, times - 1)) == times - 1)

    # --- terms that have a value ---------------------------------------------------------------

    def constant(self, type_name: str) -> str:
        """Return a literal of the type."""
        return literal(self.draw(LITERALS[type_name]), type_name)

    def leaf(self, type_name: str, scope: Scope) -> str:
        """Return a bound variable, or a constant."""
        names = scope.names(type_name)
        return self.pick(names) if names and not self.seldom() else self.constant(type_name)

    def expression(self, type_name: str, scope: Scope, *, is_bounded: bool = False) -> str:
        """Return a term over bound variables; a bounded one takes only few values."""
        if scope.depth <= 0 or self.draw(st.booleans()):
            return self.leaf(type_name, scope)
        scope.depth -= 1
        try:
            return self._compound(type_name, scope, is_bounded=is_bounded)
        finally:
            scope.depth += 1

    def _compound(self, type_name: str, scope: Scope, *, is_bounded: bool) -> str:
        if type_name in BASE:
            return f"as({self.expression(BASE[type_name], scope, is_bounded=is_bounded)}, {type_name})"
        if type_name in PARTS and (type_name not in FORMS or self.draw(st.booleans())):
            form, parts = PARTS[type_name]
            terms = [
                NOTHING[part]
                if is_bounded and part in NOTHING
                else self.expression(part, scope, is_bounded=True)
                for part in parts
            ]
            return form.format(*terms)
        term = self.aggregate(type_name, scope) if type_name in AGGREGATES and self.seldom(4) else None
        term = term or self.fill(self.pick(FORMS[type_name]), scope)
        around = BOUNDED.get(type_name, "{}") if is_bounded else "({})"
        return around.format(term)

    def fill(self, form: str, scope: Scope) -> str:
        """Return a form with a term for each type that it names."""
        for type_name in LETTER:
            while f"<{type_name}>" in form:
                form = form.replace(f"<{type_name}>", self.expression(type_name, scope), 1)
        return without_zero_divisors(form)

    # --- aggregates ----------------------------------------------------------------------------

    def aggregate(self, type_name: str, scope: Scope) -> str | None:
        """Return an aggregate of the type, None if nothing could be aggregated."""
        relations = [known for known in scope.below if known.types]
        if not relations:
            return None
        # A disjunction cannot always be grouped by what only the rule around it binds.
        is_disjunctive = self.seldom(5)
        around = Scope(scope.below, scope.counts, scope.depth, {}, scope.made) if is_disjunctive else scope
        inner = around.inner()
        functor, *wanted = self.pick(AGGREGATES[type_name]).split()
        body = [self.own_atom(self.pick(relations), inner, around)]
        own = {
            kind: [name for name in inner.names(kind) if name not in around.names(kind)]
            for kind in COMPARABLE
        }
        body.extend(self.extra_in_aggregate(inner, own) for _ in range(self.draw(st.integers(0, 2))))
        if is_disjunctive:
            body.append(f"({self.comparison(inner)} ; {self.negation(inner)})")
        text = ", ".join(body)
        if functor == "count":
            return f"count : {{ {text} }}"
        target = self.target(wanted[0], own[wanted[0]], inner)
        if functor in ("@@fold", "@@concat"):
            start = self.expression(type_name, scope)
            return f"{functor} {target} : {start}, {{ {text} }}"
        return f"{functor} {target} : {{ {text} }}"

    def own_atom(self, relation: Known, inner: Scope, outer: Scope) -> str:
        """Return an atom of an aggregate's body: own variables, outer ones, wildcards, patterns."""
        terms = []
        for type_name in relation.types:
            way = self.pick(["own", "own", "own", "outer", "wildcard", "pattern"])
            if way == "outer" and outer.bound.get(type_name):
                terms.append(self.pick(outer.bound[type_name]))
            elif way == "wildcard":
                terms.append("_")
            elif way == "pattern" and type_name in PARTS:
                form, parts = PARTS[type_name]
                terms.append(form.format(*(inner.bind(inner.new(part), part) for part in parts)))
            else:
                terms.append(inner.bind(inner.new(type_name), type_name))
        return f"{relation.name}({', '.join(terms)})"

    def extra_in_aggregate(self, inner: Scope, own: dict[str, list[str]]) -> str:
        """Return another literal of an aggregate's body; it binds nothing that is also outside."""
        match self.pick(["comparison", "negation", "atom", "range"]):
            case "comparison" if own["number"]:
                op = self.pick(["<", ">", "!=", "<="])
                return f"{self.pick(own['number'])} {op} {self.expression('number', inner)}"
            case "negation":
                return self.negation(inner)
            case "atom":
                relations = [known for known in inner.below if known.types]
                return self.own_atom(self.pick(relations), inner, inner)
            case "range":
                return self.generator(inner, inner.new("number"), "number")
            case _:
                return "true"

    def target(self, type_name: str, own: list[str], inner: Scope) -> str:
        """Return what is aggregated: a variable of the aggregate, or a term over it."""
        if own and not self.seldom(4):
            return self.pick(own)
        mine = Scope(inner.below, inner.counts, min(inner.depth, 1), {type_name: own}, inner.made)
        # A mean of whole numbers is a float, so that nothing else says of which type `0 % 0` is.
        return f"(as({self.expression(type_name, mine)}, {type_name}))"

    # --- atoms ---------------------------------------------------------------------------------

    def atom(self, relation: Known, scope: Scope) -> str:
        """Return an atom of a body, whose variables are bound by it."""
        return f"{relation.name}({', '.join(self.atom_term(name, scope) for name in relation.types)})"

    def atom_term(self, type_name: str, scope: Scope, *, is_nested: bool = False) -> str:
        """Return what stands in a column of an atom."""
        ways = ["variable"] * 8 + ["wildcard", "constant", "pattern"] + ([] if is_nested else ["expression"])
        match self.pick(ways):
            case "wildcard":
                return "_"
            case "constant":
                return self.constant(type_name)
            case "pattern" if type_name in PARTS:
                form, parts = PARTS[type_name]
                return form.format(*(self.atom_term(part, scope, is_nested=True) for part in parts))
            case "expression" if scope.bound.get(type_name):
                return self.expression(type_name, scope)
            case _:
                return scope.bind(f"{LETTER[type_name]}{self.draw(st.integers(0, 2))}", type_name)

    def negation(self, scope: Scope) -> str:
        """Return a negated atom: everything in it is bound, or a wildcard."""
        relation = self.pick(scope.below)
        return f"!{relation.name}({', '.join(self.test_term(name, scope) for name in relation.types)})"

    def test_term(self, type_name: str, scope: Scope) -> str:
        """Return what stands in a column of a negated atom."""
        if self.seldom(4):
            return "_"
        if type_name in PARTS and self.seldom(4):
            form, parts = PARTS[type_name]
            return form.format(*(self.test_term(part, scope) for part in parts))
        return self.expression(type_name, scope)

    # --- constraints ---------------------------------------------------------------------------

    def comparison(self, scope: Scope) -> str:
        """Return a constraint between terms with a value."""
        type_name = self.pick(sorted(scope.bound) or ["number"])
        names = scope.names(type_name)
        if not names:
            return self.pick(["1 = 1", "1 != 2", '"a" < "b"', "2.5 >= 2.5", "0u > 1u", "true", "false"])
        left, right = self.pick(names), self.expression(type_name, scope)
        if BASE.get(type_name, type_name) == "symbol" and self.draw(st.booleans()):
            word = self.pick(["contains", "!contains", "match", "!match"])
            return f"{word}({right}, {left})"
        if self.seldom(8):
            return f"ord({left}) = ord({self.pick(names)})"
        is_ordered = BASE.get(type_name, type_name) in COMPARABLE
        return f"{left} {self.pick(['=', '!='] + ['<', '<=', '>', '>='] * is_ordered)} {right}"

    def counter(self, scope: Scope) -> str:
        """Return a constraint that asks for numbers and holds whatever they are."""
        if not scope.counts:
            return "true"
        return self.pick(["autoinc() >= 0", f"{scope.new('number')} = autoinc()"])

    def binding(self, scope: Scope, *, is_bounded: bool) -> str:
        """Return a constraint that binds a new variable, or takes a bound one apart."""
        apart = [(name, each) for name in PARTS for each in scope.bound.get(name, [])]
        if apart and self.draw(st.booleans()):
            type_name, name = self.pick(apart)
            form, parts = PARTS[type_name]
            made = [(scope.new(part), part) for part in parts]
            for each in made:
                scope.bind(*each)
            return f"{name} = {form.format(*(each for each, _ in made))}"
        type_name = self.pick(COMPARABLE)
        if type_name != "symbol" and self.seldom(3):
            return self.generator(scope, scope.new(type_name), type_name)
        term = self.expression(type_name, scope, is_bounded=is_bounded)
        return f"{scope.bind(scope.new(type_name), type_name)} = {term}"

    def range(self, scope: Scope, type_name: str) -> str:
        """Return a `range` of few values, every operand any term."""
        bounds = [SHORT[type_name].format(self.expression(type_name, scope)) for _ in range(2)]
        if self.draw(st.booleans()):
            step = self.pick(STEPS[type_name])
            bounds.append(
                f"{step} + {SHORT[type_name].format(self.expression(type_name, scope))}"
                if self.seldom(3)
                else step
            )
        return f"range({', '.join(bounds)})"

    def generator(self, scope: Scope, name: str, type_name: str) -> str:
        """Return `name = range(...)`, the name bound by it."""
        text = f"{name} = {self.range(scope, type_name)}"
        scope.bind(name, type_name)
        return text

    def disjunction(self, scope: Scope) -> str:
        """Return a disjunction of tests, perhaps negated."""
        tests = (self.comparison, self.negation, self.comparison)
        alternatives = [
            ", ".join(self.pick(tests)(scope) for _ in range(self.draw(st.integers(1, 2)))) for _ in range(2)
        ]
        return f"{'!' * self.seldom(4)}({' ; '.join(alternatives)})"

    def either_binds(self, scope: Scope) -> str:
        """Return a disjunction whose alternatives bind the same new variable."""
        name = scope.new("number")
        alternatives = (
            f"{name} = {self.expression('number', scope, is_bounded=True)}",
            f"{name} = {self.range(scope, 'number')}",
        )
        scope.bind(name, "number")
        return f"({' ; '.join(alternatives)})"
