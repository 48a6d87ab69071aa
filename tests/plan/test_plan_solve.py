"""Equalities solved for the one variable in them that has no value yet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.programs import build, run
from tidelog.plan.solve import solve
from tidelog.program.nodes import Constraint
from tidelog.program.printing import print_term

SOLVED = {
    "x + 1": "(v - 1)",
    "1 + x": "(v - 1)",
    "x - y": "(v + y)",
    "3 - x": "(3 - v)",
    "-x": "-v",
    "bnot x": "(bnot v)",
    "y bxor x": "(v bxor y)",
    "2 - (x + y)": "((2 - v) - y)",
}
UNSOLVED = ["x * 2", "x + x", "x % 3", "x band 1", "min(x, 3)", "y + 1", "x bshl 1"]
EDGES = [0, 1, 2, 5, 2**62, 2**63 - 1]


def constraint_of(term: str) -> Constraint:
    """Return the equality of a term over `x` and `y` with the variable `v`."""
    program = build(f".decl a(x: number, y: number, v: number) a(x, y, v) :- a(x, y, v), {term} = v.")
    (found,) = (each for each in program.rules[0].body if isinstance(each, Constraint))
    return found


@pytest.mark.parametrize("term", SOLVED)
def test_a_term_that_can_be_undone_is_solved(term: str) -> None:
    """Sums, differences, signs and bits have one operand for each value."""
    constraint = constraint_of(term)

    found = solve(constraint.left, constraint.right, {"v", "y"})

    assert found is not None
    assert (found[0], print_term(found[1])) == ("x", SOLVED[term])


@pytest.mark.parametrize("term", UNSOLVED)
def test_other_terms_are_left_alone(term: str) -> None:
    """Several operands give the same value, or there is nothing to solve for."""
    constraint = constraint_of(term)

    assert solve(constraint.left, constraint.right, {"v", "y"}) is None


@pytest.mark.parametrize("kind", ["number", "unsigned"])
@given(term=st.sampled_from([*SOLVED, *UNSOLVED, "x + y - 1", "y - bnot x"]), data=st.data())
def test_rules_find_the_same_whichever_atom_comes_first(kind: str, term: str, data: st.DataObject) -> None:
    """Wrapped values included; the plan is fixed in both orders."""
    edges = EDGES if kind == "unsigned" else [*EDGES, *(-each - 1 for each in EDGES)]
    values = st.lists(st.sampled_from(edges), max_size=4)
    facts = {name: [(value,) for value in data.draw(values)] for name in ("a", "b", "c")}
    decls = "".join(f".decl {name}(x: {kind})  .input {name}\n" for name in facts)
    order = data.draw(st.permutations([1, 2, 3]))
    text = f"""{decls}
    .decl r(x: {kind}, y: {kind}, v: {kind})
    r(x, y, v) :- a(x), b(y), c(v), v = {term}.
    .plan 0: ({", ".join(map(str, order))})
    .decl s(x: {kind}, y: {kind})
    s(x, y) :- c({term}), b(y), a(x).
    .plan 0: ({", ".join(map(str, order))})
    """

    assert run(text, engine="local", inputs=facts) == run(text, inputs=facts)
