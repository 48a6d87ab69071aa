"""Every variable has a value when it is needed."""

import math

import pytest

from support.building import diagnostics, mistakes
from support.programs import run

BASE = """
.type P = [a: number, b: number]
.type T = L {} | N {a: number, p: P}
.decl e(x: number, y: number)
.decl p(x: P)
.decl t(x: T)
.decl o(x: number)
.input e
.input p
.input t
"""


@pytest.mark.parametrize(
    "body",
    [
        "e(x, _)",
        "p([_, x])",
        "t($N(_, [x, _]))",
        "e(y, _), x = y + 1",
        "e(y, _), y * 2 = x",
        "e(y, _), z = y, x = z",
        "p(r), r = [x, _]",
        "p(r), [x, _] = r",
        "t(n), $N(x, _) = n",
        "x = 1",
        "x = range(0, 5)",
        "e(y, z), x = range(y, z)",
        "x = count : { e(_, _) }",
        "e(y, _), x = sum z : { e(y, z) }",
        "x = max a : { e(a, b), c = b, c > 0 }",
    ],
)
def test_bodies_that_bind(body: str) -> None:
    """Atoms, equalities, patterns, ranges and aggregates give a variable its value."""
    facts = "e(1, 2). p([1, 2]). t($N(3, [4, 5]))."

    assert run(BASE + facts + f"o(x) :- {body}.")["o"]


@pytest.mark.parametrize(
    ("rule", "unbound"),
    [
        ("o(x).", ["x"]),
        ("o(x) :- e(_, y).", ["x"]),
        ("o(x) :- !e(x, _).", ["x"]),
        ("o(x) :- e(x + 1, _).", ["x"]),
        ("o(x) :- e(y, _), y = x + 1.", ["x"]),
        ("o(x) :- x = y, y = x.", ["x", "y"]),
        ("o(x) :- x > 3.", ["x"]),
        ("o(1) :- e(_, _), !e(z, _).", ["z"]),
        ("o(1) :- e(_, _), z < 3.", ["z"]),
        ("o(x) :- x = range(0, y).", ["x", "y"]),
        ("o(c) :- c = count : { e(_, w), w < k }.", ["k"]),
        ("o(c) :- c = sum k : { e(_, _) }.", ["k"]),
        ("o(x) :- 3 = count : { e(x, _) }.", ["x"]),
        ("o(x) :- e(y, _) ; e(x, _).", ["x"]),
        ("o(x) :- [x, y] != [1, 2].", ["x", "y"]),
    ],
)
def test_bodies_that_do_not_bind(rule: str, unbound: list[str]) -> None:
    """Operands, negation, orderings and variables inside an aggregate bind nothing outside."""
    found = [text for code, text in mistakes(BASE + rule) if code == "unbound-variable"]

    assert found == unbound


def test_wildcards_stand_only_where_something_is_matched() -> None:
    """`_` is no value: not in a head, an operand, a comparison or a record that is built."""
    rules = "o(_). o(x) :- e(x, _), x < _. o(strlen(_)). o(x) :- e(x, _), [x, _] != [1, x]. p([1, _])."

    assert [code for code, _ in mistakes(BASE + rules) if code != "unknown-type"] == [
        "misplaced-wildcard"
    ] * 5


def test_a_variable_made_by_a_pass_is_shown_as_written() -> None:
    """Messages use the names in the text, also for variables that were renamed."""
    text = BASE + "o(c + d) :- c = count : { e(y, _) }, d = count : { e(_, k), y < k }."

    found = diagnostics(text)

    assert [each.message.split("`")[1] for each in found if each.code == "unbound-variable"] == ["y"]


def test_a_variable_that_is_not_bound_is_not_told_to_be_single() -> None:
    """One variable gets one diagnostic."""
    found = diagnostics(BASE + "o(x) :- e(_, y).")

    assert [(each.code, each.span and each.span.text) for each in found] == [
        ("unbound-variable", "x"),
        ("single-variable", "y"),
    ]


@pytest.mark.parametrize("term", ["x / 0", "x % 0", "1 / 0", "itou(x) / 0u"])
def test_a_constant_does_not_divide_by_zero(term: str) -> None:
    """A term that never has a value is refused."""
    found = mistakes(BASE + f"o(1) :- e(x, y), y != x, {term} = {term}.")

    assert set(found) == {("division-by-zero", term)}


def test_floats_and_variables_may_be_zero() -> None:
    """A float divided by zero is infinite, and a variable that is zero derives nothing."""
    facts = run(".decl f(x: float, y: number)\nf(1.0 / 0.0, 4 / x) :- x = range(0, 2).")

    assert facts["f"] == {(math.inf, 4)}


def test_aggregates_that_need_each_other_are_shown_as_a_cycle() -> None:
    """The message has the variables along the way, instead of one that nothing binds."""
    found = diagnostics(BASE + "o(a) :- a = sum x : { e(x, b) }, b = 1 + count : { e(_, c), c < a }.")

    assert [(each.code, each.message) for each in found] == [
        ("cyclic-aggregate", "`a` depends on itself through an aggregate: a -> b -> a"),
        ("cyclic-aggregate", "`b` depends on itself through an aggregate: b -> a -> b"),
    ]
