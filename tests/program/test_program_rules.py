"""Rules as written become rules with one head and a plain body."""

import pytest

from support.building import build, core, mistakes
from tidelog.program.nodes import Aggregate, Constraint, Generator
from tidelog.source import Span

BASE = """
.decl e(x: number, y: number)
.decl p(x: number)
.decl q(x: number)
.decl r(x: number, y: number)
e(1, 2).
p(1).
"""


def test_heads_and_alternatives_multiply() -> None:
    """Each head gets a rule for each alternative of the body."""
    text = BASE + "q(x), p(x) :- e(x, _), (x = 1 ; x = 2, e(_, x))."

    assert core(text, "q") == ["q(x) :- e(x, _), x = 1.", "q(x) :- e(x, _), x = 2, e(_, x)."]
    assert core(text, "p") == ["p(1).", "p(x) :- e(x, _), x = 1.", "p(x) :- e(x, _), x = 2, e(_, x)."]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p(x), !(x = 1 ; x < 0)", ["p(x), x != 1, x >= 0"]),
        ("p(x), !(e(x, x), x > 3)", ["p(x), !e(x, x)", "p(x), x <= 3"]),
        ("p(x), !!e(x, x)", ["p(x), e(x, x)"]),
        ("p(x), true", ["p(x)"]),
        ("p(x), (false ; x = 1)", ["p(x), x = 1"]),
        ("p(x), !(true ; x = 1)", []),
        ('p(x), !match("a", to_string(x))', ['p(x), !match("a", to_string(x))']),
    ],
)
def test_negation_goes_inside(body: str, expected: list[str]) -> None:
    """Negation passes through disjunction, conjunction and constraints; truth values disappear."""
    assert core(BASE + f"q(x) :- {body}.", "q") == [f"q(x) :- {each}." for each in expected]


def test_a_range_becomes_a_generator() -> None:
    """`range` gives its values through a generator, also inside other terms."""
    text = BASE + "q(y) :- p(x), y = range(x, 9, 2). q(x + range(0, 2)) :- p(x)."
    rules = build(text).rules

    assert core(text, "q")[0] == "q(y) :- p(x), y = range(x, 9, 2)."
    assert core(text, "q")[1] == "q((x + _range'1)) :- _range'1 = range(0, 2), p(x)."
    assert sum(isinstance(each, Generator) for rule in rules for each in rule.body) == 2


def aggregate(text: str) -> Aggregate:
    """Return the first aggregate of the rules."""
    for rule in build(text).rules:
        for literal in rule.body:
            if isinstance(literal, Constraint) and isinstance(literal.right, Aggregate):
                return literal.right
    raise AssertionError(text)


def test_variables_outside_an_aggregate_are_outer() -> None:
    """A variable of the body that also stands in the rule is bound from there."""
    found = aggregate(BASE + "r(x, c) :- p(x), c = count : { e(x, y), y > 0 }.")

    assert found.outer == ("x",)


def test_variables_of_the_target_are_the_aggregates_own() -> None:
    """A variable of the target that the body binds is apart from one of that name outside."""
    found = aggregate(BASE + "r(x, c) :- p(x), c = sum x : { e(_, x) }.")

    assert found.outer == ()


def test_aggregates_do_not_share_their_own_variables() -> None:
    """Equal names in two aggregates of one rule are different variables."""
    text = BASE + "r(a, b) :- a = count : { p(y) }, b = sum y : { e(_, y) }."

    assert core(text, "r") == ["r(a, b) :- a = count : { p(y) }, b = sum _y'1 : { e(_, _y'1) }."]


def test_nested_aggregates_see_what_is_around_them() -> None:
    """An inner aggregate's outer variables come from the aggregate around it, or from the rule."""
    text = BASE + "r(x, c) :- p(x), c = count : { e(x, y), y < max z : { e(z, y), z > x } }."
    outer = aggregate(text)
    inner = outer.body[1]

    assert outer.outer == ("x",)
    assert isinstance(inner, Constraint)
    assert isinstance(inner.right, Aggregate)
    assert set(inner.right.outer) == {"x", "y"}


def test_a_disjunction_in_an_aggregate_becomes_a_relation() -> None:
    """An aggregate over alternatives is over the distinct bindings of their variables."""
    text = BASE + "r(z, c) :- p(z), c = count : { e(x, _), x < z ; e(_, x) }."

    (made,) = (name for name in build(text).relations if name.startswith("_aggregate"))
    assert core(text, made) == [f"{made}(x, z) :- e(x, _), x < z, p(z).", f"{made}(x, z) :- e(_, x), p(z)."]
    assert core(text, "r") == [f"r(z, c) :- p(z), c = count : {{ {made}(x, z) }}."]


def test_a_relation_made_for_an_aggregate_keeps_its_name_when_rules_go() -> None:
    """Its name depends on its own rule: what held before a rule went is not compared with another."""
    first = "r(z, c) :- p(z), c = count : { e(x, _), x < z ; e(_, x) }."
    second = "r(c, z) :- p(z), c = count : { e(x, _) ; e(_, x) }."

    def made(*rules: str) -> list[str]:
        return [name for name in build(BASE + "\n".join(rules)).relations if name.startswith("_aggregate")]

    assert made(first, second) == made(first) + made(second)
    assert len(set(made(first, first))) == 2


def test_every_alternative_of_an_aggregate_binds_its_variables() -> None:
    """A variable that one alternative leaves open is a mistake."""
    assert ("unbound-variable", "y") in mistakes(BASE + "q(c) :- c = count : { p(x) ; q(y) }.")


def test_a_rule_keeps_the_place_of_what_was_written() -> None:
    """Every rule made of a written one carries its span."""
    text = BASE + "q(x), p(x) :- e(x, _) ; e(_, x)."
    spans = [rule.span for rule in build(text).rules if rule.body]

    assert len(spans) == 4
    assert all(isinstance(span, Span) and span.text.startswith("q(x), p(x)") for span in spans)


def test_plans_and_limits_are_kept() -> None:
    """`.plan`, `.limitsize`, choice-domain and qualifiers reach the program."""
    program = build(
        ".decl e(x: number, y: number) btree choice-domain (x, y), x .input e .limitsize e(n=7) "
        ".decl p(x: number, y: number) p(x, z) :- e(x, y), e(y, z). .plan 0:(2,1)"
    )

    assert program.relations["e"].choices == ((0, 1), (0,))
    assert program.relations["e"].size_limit == 7
    assert program.rules[0].plan == ((0, (2, 1)),)
    assert program.is_input("e")


def test_a_variable_met_in_lattice_columns_is_the_greatest_lower_bound() -> None:
    """Values of several lattice columns meet by `Glb`, and `Bottom` is no meeting."""
    text = """
    .functor lub(x: number, y: number): number
    .functor glb(x: number, y: number): number
    .lattice number<> { Bottom -> 0, Lub -> @lub(_, _), Glb -> @glb(_, _) }
    .decl a(v: number<>)
    .decl b(v: number<>)
    .decl c(v: number<>)
    a(1). b(2).
    c(v) :- a(v), b(v).
    """

    assert core(text, "c") == ["c(v) :- a(_v'1), b(_v'2), v = @glb(_v'1, _v'2), v != 0."]
    assert build(text).lattices["number"].lub == "lub"
    assert build(text).relations["c"].columns[0].is_lattice
