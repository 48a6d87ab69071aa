"""Random bodies of joins over three relations, and facts for them."""

from typing import Any

from hypothesis import strategies as st

INPUTS = """
.decl a(x: number, y: number)
.decl b(x: number, y: number, z: number)
.decl c(x: number)
.input a, b, c
"""
ARITIES = {"a": 2, "b": 3, "c": 1}
NAMES = ("x", "y", "z", "w", "v")

terms = st.sampled_from(NAMES * 4 + ("_", "1", "2"))
comparisons = st.sampled_from(["<", "<=", ">", ">=", "=", "!="])


@st.composite
def bodies(draw: Any) -> str:
    """Draw a rule over `a`, `b` and `c` with one head column for each of some bound variables."""
    atoms = [
        f"{relation}({', '.join(draw(terms) for _ in range(ARITIES[relation]))})"
        for relation in draw(st.lists(st.sampled_from("aabbc"), min_size=2, max_size=5))
    ]
    bound = sorted({name for name in NAMES if any(name in atom for atom in atoms)})
    extra = []
    if bound:
        known = st.sampled_from([*bound, "1"])
        for _ in range(draw(st.integers(0, 2))):
            left, right = draw(known), draw(known)
            kind = draw(st.sampled_from(["compare", "sum", "negate"]))
            if kind == "compare":
                extra.append(f"{left} {draw(comparisons)} {right}")
            elif kind == "sum":
                extra.append(f"{draw(known)} = {left} + {right}")
            else:
                extra.append(f"!a({left}, {right})")
    head = draw(st.lists(st.sampled_from(bound), max_size=3)) if bound else []
    columns = ", ".join(f"c{place}: number" for place in range(len(head)))
    body = draw(st.permutations([*atoms, *extra]))
    return f".decl r({columns})\nr({', '.join(head)}) :- {', '.join(body)}.\n"


codes = st.sampled_from([0, 1, 2, 3, 2, 1, -1, 2**40])
inputs = st.fixed_dictionaries(
    {name: st.lists(st.tuples(*[codes] * arity), max_size=14).map(tuple) for name, arity in ARITIES.items()}
)
