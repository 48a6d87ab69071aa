"""Relations declared `inline`."""

import pytest
from hypothesis import HealthCheck, assume, given, settings

from support.building import build, core, diagnostics, mistakes, warnings
from support.programs import run
from support.strategies import RandomProgram, programs

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


@pytest.mark.parametrize("directive", [".output o", ".input o", ".printsize o", ".limitsize o(n=3)"])
def test_an_inlined_relation_has_no_directives(directive: str) -> None:
    """A relation that is read, written, counted or limited cannot be inlined."""
    text = BASE + f".decl o(x: number) inline {directive} o(x) :- num(x). out(x) :- o(x)."

    assert mistakes(text) == [("inlined-directive", directive)]


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


# --- how much inlining may make of a rule ----------------------------------------------------

WIDE = """
.decl a(x: number, y: number, z: number)
.input a
.decl out(x: number, y: number, z: number)
.output out
.decl n(x: number, y: number, z: number) inline
"""
FACTS = [(n, 10 + n, 20 + n) for n in range(8)]


def _facts(name: str) -> str:
    return " ".join(f"{name}({', '.join(map(str, fact))})." for fact in FACTS)


def test_a_relation_that_would_multiply_is_not_inlined() -> None:
    """Where inlining would only save time it is not done, and that is said."""
    text = WIDE + _facts("n") + "out(x, y, z) :- a(x, y, z), !n(x, y, z)."

    assert ("not-inlined", "n(x, y, z)") in warnings(text)
    assert "n" in build(text).relations
    assert run(text, inputs={"a": [(1, 11, 21), (1, 3, 1)]})["out"] == {(1, 3, 1)}


def test_inlined_facts_against_a_negated_inlined_relation() -> None:
    """Facts that are inlined where a wide inlined relation is negated end soon, with the right answer."""
    wide = [f"c{place}: number" for place in range(9)]
    names = [f"x{place}" for place in range(9)]
    facts = {
        name: [tuple(range(n, n + 9)) for n in range(start, start + 4)]
        for name, start in (("p", 0), ("n", 2))
    }
    text = "\n".join(
        [
            f".decl out({', '.join(wide)})\n.output out",
            *(f".decl {name}({', '.join(wide)}) inline" for name in facts),
            *(f"{name}({', '.join(map(str, fact))})." for name, given in facts.items() for fact in given),
            f"out({', '.join(names)}) :- p({', '.join(names)}), !n({', '.join(names)}).",
        ]
    )

    found = run(text)["out"]

    assert found == set(facts["p"]) - set(facts["n"])


def test_rules_that_must_be_inlined_and_multiply_are_reported() -> None:
    """A relation that cannot stay, because it does not bind its variables, is named with what to do."""
    rules = " ".join(f"n(x, y, z) :- x < {n}, y < {n}, z < {n}." for n in range(8))
    text = WIDE + rules + "out(x, y, z) :- a(x, y, z), !n(x, y, z)."

    told = [each for each in diagnostics(text) if each.code == "rule-too-large"]

    assert [each.span.text for each in told if each.span is not None] == [
        "out(x, y, z) :- a(x, y, z), !n(x, y, z)."
    ]
    assert "`n`" in told[0].message
    assert "remove `inline`" in (told[0].hint or "")


def test_bodies_that_double_are_not_inlined() -> None:
    """Inlined relations that read each other twice make few rules but long ones, and stay."""
    levels = 40
    text = ".decl r0(x: number)\n.input r0\n" + "\n".join(
        f".decl r{n}(x: number) inline r{n}(x) :- r{n - 1}(x), r{n - 1}(x + 0)." for n in range(1, levels)
    )
    text += f".decl out(x: number) out(x) :- r{levels - 1}(x)."

    codes = {code for code, _ in warnings(text)}
    found = run(text, inputs={"r0": [(1,), (2,)]})["out"]

    assert codes == {"not-inlined"}
    assert found == {(1,), (2,)}


def test_equal_alternatives_are_one() -> None:
    """What the rules of a negated relation have in common multiplies once."""
    rules = " ".join(f"n(x, y, z) :- a(x, y, z), x = {n}." for n in range(20))
    text = WIDE + rules + "out(x, y, z) :- a(x, y, z), !n(x, y, z)."

    assert core(text, "out")[0] == "out(x, y, z) :- a(x, y, z), !a(x, y, z)."
    assert len(core(text, "out")) == 21
    assert run(text, inputs={"a": [(1, 2, 3), (30, 2, 3)]})["out"] == {(30, 2, 3)}


def test_aggregates_in_the_terms_of_inlined_atoms_are_inlined() -> None:
    """A relation that is read in an aggregate of an atom that is replaced, or stays, is not lost."""
    text = """
    .decl a(x: number)
    .input a
    .decl one(x: number) inline
    one(x) :- a(x), x < 9.
    .decl two(x: number) inline
    two(x) :- a(x), x > 1.
    .decl out(x: number)
    out(x) :- a(x), two(count : { one(_) }), !two(7 + count : { one(_) }).
    """

    assert run(text, inputs={"a": [(1,), (2,), (3,)]})["out"] == {(1,), (2,), (3,)}


def test_a_computed_term_of_a_negated_inlined_atom_has_a_value() -> None:
    """A term without a value yields no derivation, whichever literal of the inlined rule is false."""
    text = """
    .decl a(x: number)
    .input a
    .decl p(x: number, y: number) inline
    p(x, y) :- a(x), a(y).
    .decl stays(x: number, y: number)
    stays(x, y) :- a(x), a(y).
    .decl out(x: number)
    out(x) :- a(x), !p(6 / x, x + 9).
    .decl same(x: number)
    same(x) :- a(x), !stays(6 / x, x + 9).
    """

    found = run(text, inputs={"a": [(0,), (2,), (3,)]})

    assert found["out"] == found["same"] == {(2,), (3,)}
