"""Programs drawn from the grammar: mostly right, and small."""

import random
from typing import Final

_TYPES: Final = (
    "number",
    "number",
    "number",
    "symbol",
    "symbol",
    "unsigned",
    "float",
    "Pair",
    "Tree",
    "Small",
)
_DECLARED: Final = {
    "Pair": ".type Pair = [l: number, r: symbol]\n",
    "Tree": ".type Tree = Leaf {} | Fork {l: Tree, n: number}\n",
    "Small": ".type Small <: number\n",
}
_QUALIFIERS: Final = (
    "",
    "",
    "",
    "",
    "",
    "",
    " inline",
    " brie",
    " btree",
    " eqrel",
    " choice-domain x0",
    " no_inline",
)
_CONSTANTS: Final = {
    "number": ("0", "1", "-2", "7"),
    "Small": ("0", "1"),
    "unsigned": ("0u", "3u"),
    "float": ("1.5", "-0.25"),
    "symbol": ('"a"', '"b"', '""'),
    "Pair": ("nil", '[1, "a"]', "[x0, y0]"),
    "Tree": ("$Leaf", "$Fork($Leaf, 1)"),
}
_NAMES: Final = {"number": "x", "Small": "x", "symbol": "y"}
_FUNCTORS: Final = {
    "number": (
        *("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "{0} % {1}", "{0} ^ {1}", "-{0}"),
        "min({0}, {1})",
        *("max({0}, {1}, 1)", "{0} band {1}", "{0} bshl 1", "bnot {0}", "{0} land {1}", "strlen({s})"),
        "ord({s})",
        *("to_number({s})", "range({0}, 4)", "range({0}, {1}, 2)", "as({0}, number)", "autoinc()"),
        "ftoi(1.5)",
    ),
    "symbol": ("cat({s}, {s})", "substr({s}, 0, 1)", "to_string({0})", 'cat({s}, "z", {s})'),
}
_AGGREGATES: Final = (
    "count : {{ {atom} }}",
    "sum {v} : {{ {atom} }}",
    "min {v} : {atom}",
    "max {v} : {atom}",
    "mean {v} : {atom}",
)


def random_rules(chance: random.Random) -> str:
    """Return the text of a program with a few relations and rules over them."""
    shapes = {f"r{number}": _columns(chance) for number in range(chance.randint(1, 3))}
    used = {kind for types in shapes.values() for kind in types}
    lines = [text for kind, text in _DECLARED.items() if kind in used]
    for name, types in shapes.items():
        columns = ", ".join(f"x{place}: {kind}" for place, kind in enumerate(types))
        lines.append(f".decl {name}({columns}){chance.choice(_QUALIFIERS)}\n")
        if chance.random() < 0.5:
            lines.append(f".input {name}\n")
        if chance.random() < 0.3:
            lines.append(f".output {name}\n")
    lines.extend(_rule(chance, shapes) for _ in range(chance.randint(0, 4)))
    return "".join(lines)


def _columns(chance: random.Random) -> tuple[str, ...]:
    return tuple(chance.choice(_TYPES) for _ in range(chance.choice((0, 1, 1, 2, 2, 2, 3, 4))))


def _rule(chance: random.Random, shapes: dict[str, tuple[str, ...]]) -> str:
    head = _atom(chance, shapes, is_head=True)
    body = [_literal(chance, shapes) for _ in range(chance.choice((0, 1, 1, 2, 2, 3)))]
    if not body:
        return f"{head}.\n"
    between = chance.choices((", ", "; "), (9, 1))[0]
    return f"{head} :- {between.join(body)}.\n"


def _literal(chance: random.Random, shapes: dict[str, tuple[str, ...]]) -> str:
    drawn = chance.random()
    if drawn < 0.65:
        return _atom(chance, shapes)
    if drawn < 0.75:
        return "!" + _atom(chance, shapes)
    if drawn < 0.85:
        kind = chance.choice(("number", "symbol"))
        sign = chance.choice(("=", "!=", "<", "<=", ">", ">="))
        return f"{_term(chance, kind)} {sign} {_term(chance, kind)}"
    if drawn < 0.93:
        atom = _atom(chance, shapes)
        text = chance.choice(_AGGREGATES).format(atom=atom, v=_variable(chance, "number"))
        return f"{_variable(chance, 'number')} = {text}"
    return f"({_literal(chance, shapes)}; {_literal(chance, shapes)})"


def _atom(chance: random.Random, shapes: dict[str, tuple[str, ...]], *, is_head: bool = False) -> str:
    name = chance.choice(list(shapes))
    terms = [_term(chance, kind) if is_head or chance.random() < 0.9 else "_" for kind in shapes[name]]
    return f"{name}({', '.join(terms)})"


def _term(chance: random.Random, kind: str) -> str:
    drawn = chance.random()
    if drawn < 0.7:
        return _variable(chance, kind)
    if drawn < 0.85 or kind not in _FUNCTORS:
        return chance.choice(_CONSTANTS[kind])
    first, second = _term(chance, "number"), _term(chance, "number")
    return "(" + chance.choice(_FUNCTORS[kind]).format(first, second, s=_variable(chance, "symbol")) + ")"


def _variable(chance: random.Random, kind: str) -> str:
    """Return one of two variables for each type, so that atoms share them."""
    return f"{_NAMES.get(kind, kind.lower())}{chance.randrange(2)}"
