"""Relations declared `inline`."""

from hypothesis import HealthCheck, assume, given, settings

from building import build, core, mistakes
from programs import run
from strategies import RandomProgram, programs

BASE = """
.decl num(x: number)
.decl out(x: number)
num(1). num(2). num(3).
.decl small(x: number) inline
small(x) :- x < 3.
.decl pick(x: number) inline
pick(x) :- num(x), x > 1.
pick(7).
"""


def test_a_rule_takes_the_place_of_its_atom() -> None:
    """An inlined relation need not bind its variables itself; its rules multiply."""
    text = BASE + "out(y) :- num(y), small(y). out(z) :- pick(z)."

    assert core(text, "out") == [
        "out(y) :- num(y), y < 3.",
        "out(z) :- num(z), z > 1.",
        "out(z) :- 7 = z.",
    ]
    assert set(build(text).relations) == {"num", "out"}


def test_variables_of_an_inlined_rule_are_its_own() -> None:
    """Names in the inlined rule do not meet names where it is used."""
    text = (
        BASE
        + ".decl two(x: number, z: number) inline two(x, z) :- num(y), x = y, z = y. out(y) :- two(y, _)."
    )

    assert core(text, "out") == ["out(y) :- num(y)."]


def test_negation_of_an_inlined_relation() -> None:
    """Without variables of its own the negation goes inside; otherwise the relation stays."""
    text = (
        BASE
        + """
    .decl even(x: number) inline
    even(x) :- num(x), num(y), x = y + y.
    out(x) :- num(x), !small(x), !even(x).
    """
    )

    assert core(text, "out") == ["out(x) :- num(x), x >= 3, !even(x)."]
    assert "even" in build(text).relations


def test_an_aggregate_counts_facts_not_derivations() -> None:
    """In an aggregate a relation stays unless it has one derivation for each fact."""
    text = (
        BASE
        + ".decl any(x: number) inline any(x) :- num(x), num(_). out(c) :- c = count : { any(x), small(x) }."
    )

    assert core(text, "out") == ["out(c) :- c = count : { any(x), x < 3 }."]


def test_patterns_meet() -> None:
    """Records in the head of an inlined rule are matched member by member."""
    text = (
        BASE
        + """
    .type P = [a: number, b: number]
    .decl p(x: P) inline
    p([a, b]) :- num(a), num(b).
    out(y) :- p([y, 2]).
    """
    )

    assert core(text, "out") == ["out(y) :- num(y), num(2)."]


def test_an_inlined_relation_with_output_stays() -> None:
    """A relation that is written out, limited or chosen from is not inlined away."""
    text = BASE + ".decl o(x: number) inline .output o o(x) :- num(x). out(x) :- o(x)."

    assert core(text, "out") == ["out(x) :- o(x)."]


def test_recursion_cannot_be_inlined() -> None:
    """Inlined relations that depend on each other are reported."""
    declared = ".decl a(x: number) inline .decl b(x: number) inline"
    text = BASE + declared + " a(x) :- b(x). b(x) :- a(x), num(x). out(x) :- a(x)."

    assert [code for code, _ in mistakes(text)] == ["recursive-inline"]


def test_what_inlining_leaves_unbound_is_reported() -> None:
    """The variables of a rule must be bound once everything is inlined."""
    assert mistakes(BASE + "out(y) :- small(y).") == [("unbound-variable", "y")]


# By chance many programs in a row inline nothing.
@settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much])
@given(program=programs())
def test_inlining_does_not_change_answers(program: RandomProgram) -> None:
    """A program with its `inline` taken away gives the same facts."""
    assume(" inline" in program.text)
    plain = program.text.replace(" inline", "")

    found = run(program.text, inputs=program.inputs)
    expected = run(plain, inputs=program.inputs)

    assert found == {name: expected[name] for name in found}
