"""Functors and comparisons of numbers, unsigned and floats row by row, beside the reference engine."""

import math

import pytest

from engine.local.test_small_iterations import by_row
from support.epochs import Maintained
from support.programs import Facts, build, outputs, run_program, show
from tidelog.engine.local.by_row import evaluate
from tidelog.values import Value

EDGES: dict[str, list[Value]] = {
    "number": [0, 1, -1, 2, -7, 63, 64, 2**31, -(2**31), 2**63 - 1, -(2**63)],
    "unsigned": [0, 1, 2, 7, 63, 64, 2**32, 2**63 - 1, 2**63, 2**64 - 1],
    "float": [0.0, 1.0, -1.0, 0.1, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan],
}
INTEGER = [
    "x + y",
    "x - y",
    "x * y",
    "x / y",
    "x % y",
    "x band y",
    "x bor y",
    "x bxor y",
    "x bshl y",
    "x bshr y",
]
INTEGER += ["x bshru y", "x land y", "x lor y", "x lxor y", "bnot x", "lnot x", "min(x, y)", "max(x, y, 1)"]
TERMS = {
    "number": [*INTEGER, "-x", "to_number(x)", "utoi(itou(x))"],
    "unsigned": [*INTEGER, "-x", "itou(utoi(x))"],
    "float": ["x + y", "x - y", "x * y", "x / y", "-x", "to_float(x)"],
}
TO_FLOAT = {"number": ["itof(x)", "to_float(y)"], "unsigned": ["utof(x)", "to_float(y)"]}
CASES = [
    *((kind, kind, term) for kind, terms in TERMS.items() for term in terms),
    *((kind, "float", term) for kind, terms in TO_FLOAT.items() for term in terms),
]
STEPS = """
.decl pair(i: number, x: {kind}, y: {kind})  .input pair
.decl step(i: number)
step(0).
step(i + 1) :- step(i), pair(i, _, _).
"""


def pairs_of(kind: str) -> Facts:
    """Return a numbered fact for every pair of edge cases."""
    pairs = [(x, y) for x in EDGES[kind] for y in EDGES[kind]]
    return {"pair": [(number, *pair) for number, pair in enumerate(pairs)]}


def found_by_row(text: str, facts: Facts) -> str:
    """Return the outputs of a program whose iterations run row by row."""
    makes: list[bool] = []
    make = evaluate.make_row_iterations

    def watched(*arguments):
        made = make(*arguments)
        makes.append(made is not None)
        return made

    program = build(text)
    with pytest.MonkeyPatch.context() as patch:
        by_row(patch)
        patch.setattr(evaluate, "make_row_iterations", watched)
        found = show(run_program(program, engine="local", inputs=facts), outputs(program))
    assert any(makes), "the kernel has run"
    return found


@pytest.mark.parametrize(("kind", "result", "term"), CASES, ids=lambda each: each)
def test_functors_have_the_values_of_the_reference_engine(kind: str, result: str, term: str) -> None:
    """Each value of each functor, and none where there is none; the recursion goes through its relation."""
    text = f"""{STEPS.format(kind=kind)}
    .decl value(i: number, z: {result})  .output value
    value(i, {term}) :- step(i), pair(i, x, y), x = x, y = y.
    step(i) :- value(i, _), i < 0.
    """
    program, facts = build(text), pairs_of(kind)

    expected = show(run_program(program, inputs=facts), outputs(program))

    assert found_by_row(text, facts) == expected


@pytest.mark.parametrize("kind", EDGES)
@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">="])
def test_comparisons_hold_as_in_the_reference_engine(kind: str, op: str) -> None:
    """Of values, of computed ones, and negated: NaN is neither less nor greater than anything."""
    text = f"""{STEPS.format(kind=kind)}
    .decl holds(i: number, how: number)  .output holds
    holds(i, 1) :- step(i), pair(i, x, y), x {op} y.
    holds(i, 2) :- step(i), pair(i, x, y), !(x {op} y).
    holds(i, 3) :- step(i), pair(i, x, y), x + 1 {op} y * 2.
    step(i) :- holds(i, _), i < 0.
    """
    program, facts = build(text), pairs_of(kind)

    expected = show(run_program(program, inputs=facts), outputs(program))

    assert found_by_row(text, facts) == expected


@pytest.mark.parametrize("kind", EDGES)
def test_small_epochs_compute_the_same(kind: str) -> None:
    """An epoch of a few facts runs in the same interpreter."""
    text = f"""{STEPS.format(kind=kind)}
    .decl value(i: number, z: {kind})
    value(i, x * y - x) :- step(i), pair(i, x, y), x < y.
    step(i) :- value(i, _), i < 0.
    """
    facts = list(pairs_of(kind)["pair"])
    running = Maintained(build(text)).start({"pair": facts[:40]})

    for number in range(40, 48):
        running.change(insert={"pair": facts[number : number + 1]})
        running.check()
    running.change(delete={"pair": facts[20:21]})
    running.check()
