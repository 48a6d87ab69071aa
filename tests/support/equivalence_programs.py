"""Random programs with equivalences, given and derived, alone and in a recursion with other relations."""

from typing import Any, Final

from hypothesis import strategies as st

from support.random_values import Draw, RandomProgram

_RULES: Final = (
    "same(x, y) :- e(x, y).",
    "same(x, z) :- e(x, y), f(y, z).",
    "same(x, w) :- same(x, y), f(y, w).",
    "same(x, y) :- beside(x, y), e(y, _).",
    "same(x, w) :- same(x, y), beside(y, z), same(z, w).",
    "beside(x, y) :- same(x, y), f(x, _).",
    "beside(y, x) :- e(x, y).",
    "other(x, y) :- f(x, y).",
    "other(x, z) :- other(x, y), same(y, z).",
)
_AFTER: Final = """
.decl apart(x: {kind}, y: {kind})
apart(x, y) :- e(x, y), !same(x, y).
.decl size(x: {kind}, n: number)
size(x, n) :- same(x, _), n = count : {{ same(x, _) }}.
"""


@st.composite
def equivalence_programs(draw: Draw[Any]) -> RandomProgram:
    """Draw a program with one or two equivalences, given or derived, and its facts."""
    kind = draw(st.sampled_from(["number", "symbol"]))
    value = st.integers(0, 9) if kind == "number" else st.sampled_from(["", "a", "b", "ab", "ba", "c"])
    pairs = st.lists(st.tuples(value, value), unique=True, max_size=10).map(tuple)
    laws = {"same": " eqrel", "other": draw(st.sampled_from(["", " eqrel"])), "beside": ""}
    inputs = ["e", "f", *draw(st.lists(st.sampled_from(sorted(laws)), unique=True))]
    lines = [
        f".decl {name}(x: {kind}, y: {kind}){laws.get(name, '')}{f' .input {name}' if name in inputs else ''}"
        for name in ("e", "f", *laws)
    ]
    lines += draw(st.lists(st.sampled_from(_RULES), unique=True, max_size=6))
    if kind == "number" and draw(st.booleans()):
        lines.append("same(3, 4).")
    text = "\n".join(lines) + _AFTER.format(kind=kind)
    return RandomProgram(text, {name: draw(pairs) for name in inputs}, dict.fromkeys(inputs, (kind, kind)))
