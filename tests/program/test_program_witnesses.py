"""Variables that an aggregate binds: those for which its value is reached."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.building import core, diagnostics
from support.epochs import Maintained, examples
from support.explanations_oracle import canonical, check_blame, check_proofs, check_why_not
from support.programs import build
from tidelog.engine.epoch import Strategy
from tidelog.values import Fact

BASE = """
.decl e(x: number, y: number)
.input e
.decl f(x: number, y: number)
.input f
"""
WITNESSES = (
    BASE
    + """
.decl most(x: number, y: number)
most(x, m) :- m = max y : { e(x, y) }.
.decl least(x: number)
least(x) :- _ = min x + y : { e(x, y), !f(y, x) }.
.decl grouped(z: number, x: number)
grouped(z, x) :- f(z, l), _ = max y : { e(x, y), y <= l }.
.decl both(x: number, n: number)
both(x, n) :- _ = max y : { e(x, y) ; f(x, y) }, n = count : { f(x, _) }.
.decl inner(n: number)
inner(n) :- n = sum x : { _ = min y : { f(x, y) }, e(_, x) }.
.decl walk(x: number)
walk(x) :- f(x, x).
walk(y) :- walk(x), _ = min z : { e(x, y), f(y, z) }.
"""
)
PROGRAM = build(WITNESSES)
FACTS = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4)
INPUTS = st.fixed_dictionaries({"e": FACTS, "f": FACTS})


@settings(max_examples=examples(25), deadline=None)
@given(
    strategy=st.sampled_from(list(Strategy)),
    first=INPUTS,
    epochs=st.lists(st.tuples(INPUTS, INPUTS), min_size=1, max_size=3),
)
def test_witnesses_follow_changes(
    strategy: Strategy,
    first: dict[str, set[Fact]],
    epochs: list[tuple[dict[str, set[Fact]], dict[str, set[Fact]]]],
) -> None:
    """After every epoch witnesses are those of evaluation from nothing, with levels and counts."""
    followed = Maintained(PROGRAM).start(first)
    followed.check()
    for come, gone in epochs:
        followed.change(insert=come, delete=gone, strategy=strategy)
        followed.check()


@settings(max_examples=examples(8), deadline=None)
@given(first=INPUTS, come=INPUTS, gone=INPUTS, random=st.randoms(use_true_random=True))
def test_witnesses_are_explained(
    first: dict[str, set[Fact]], come: dict[str, set[Fact]], gone: dict[str, set[Fact]], random: Random
) -> None:
    """Proofs suffice, refutations lack what they say, and blame agrees with exhaustive search."""
    after = {name: (facts - gone[name]) | come[name] for name, facts in first.items()}
    with tidelog.open(WITNESSES, facts=first) as db:
        db.apply(insert=come, delete=gone)
        inputs = {name: set(map(canonical, facts)) for name, facts in after.items()}

        check_proofs(db, WITNESSES, inputs, random)
        check_why_not(db, WITNESSES, inputs, random)
        check_blame(db, WITNESSES, first, inputs, random)


def test_a_witness_is_read_again_beside_the_aggregate() -> None:
    """The checked rule has the aggregate over every value, and its body where the value is reached."""
    rules = core(BASE + ".decl r(x: number, m: number)\nr(x, m) :- m = max y : { e(x, y) }.", "r")

    assert rules == ["r(x, m) :- m = max y : { e(_x'1, y) }, e(x, m)."]


def test_a_variable_bound_elsewhere_is_the_group() -> None:
    """A variable with a value outside the aggregate is not a witness."""
    rule = "r(x, m) :- f(x, _), m = max y : { e(x, y) }."

    assert core(BASE + ".decl r(x: number, m: number)\n" + rule, "r") == [rule]


@pytest.mark.parametrize("aggregate", ["count : { e(x, _) }", "sum y : { e(x, y) }", "mean y : { e(x, y) }"])
def test_other_aggregates_have_no_witnesses(aggregate: str) -> None:
    """A value of many derivations is reached by none of them, and the hint says so."""
    found = diagnostics(
        BASE + f".decl r(x: number)\nr(x) :- 0 < {aggregate}.".replace("0 < mean", "0.0 < mean")
    )

    assert [each.code for each in found] == ["unbound-variable"]
    assert "has no witnesses" in str(found[0].hint)


def test_a_variable_that_the_body_only_tests_is_not_bound() -> None:
    """A witness must be bound by the body of its aggregate."""
    found = diagnostics(BASE + ".decl r(x: number)\nr(x) :- _ = max y : { e(_, y), !f(x, y) }.")

    assert [(each.code, each.span and each.span.text) for each in found] == [("unbound-variable", "x")]
