"""Negated conjunctions with variables of their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from support.building import mistakes
from tidelog.program.printing import print_rule

DECLARED = """
    .decl a(x: number, y: number)
    .decl b(x: number, y: number)
    .decl n(x: number)
    .decl r(x: number)
"""
Pair = tuple[int, int]
PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6)
# A rule, and the same with relations of its own for what it negates.
MEANINGS = [
    ("r(x) :- n(x), !(a(x, y), b(y, _)).", "s(x) :- a(x, y), b(y, _). r(x) :- n(x), !s(x)."),
    ("r(x) :- n(x), !(a(x, y), y > x).", "s(x) :- a(x, y), y > x. r(x) :- n(x), !s(x)."),
    (
        "r(x) :- n(x), !(a(x, y), b(y, z), n(z) ; b(x, y)).",
        "s(x) :- a(x, y), b(y, z), n(z). s(x) :- b(x, _). r(x) :- n(x), !s(x).",
    ),
    (
        "r(x) :- n(x), !(a(x, y), (b(y, 1) ; b(1, y))), !(a(y, x), n(y)).",
        "s(x) :- a(x, y), b(y, 1). s(x) :- a(x, y), b(1, y). s(x) :- a(y, x), n(y). r(x) :- n(x), !s(x).",
    ),
    (
        "r(x) :- n(x), !(a(x, y), !(b(y, z), a(z, x))).",
        "t(y, x) :- b(y, z), a(z, x). s(x) :- a(x, y), !t(y, x). r(x) :- n(x), !s(x).",
    ),
    (
        "r(y) :- n(y). r(x) :- r(y), a(y, x), !(b(x, z), z < y).",
        "r(y) :- n(y). s(x, y) :- b(x, z), a(y, x), z < y. r(x) :- r(y), a(y, x), !s(x, y).",
    ),
    ("r(x) :- n(x), !(a(_, y), b(y, _)).", "s(1) :- a(_, y), b(y, _). r(x) :- n(x), !s(1)."),
]


@pytest.mark.parametrize(("written", "meant"), MEANINGS, ids=[written for written, _ in MEANINGS])
@given(a=PAIRS, b=PAIRS, change=PAIRS)
def test_it_holds_where_its_body_has_no_derivation(
    written: str,
    meant: str,
    a: list[Pair],
    b: list[Pair],
    change: list[Pair],
) -> None:
    """It means what a negated relation for its body means, on every engine and after an epoch."""
    helpers = ".decl s(x: number)" if "s(x, y)" not in meant else ".decl s(x: number, y: number)"
    facts = {"a": a, "b": b, "n": [(0,), (1,), (2,)]}
    program = f"{DECLARED} {helpers} .decl t(y: number, x: number) {meant}"
    oracle = tidelog.open(program, engine="reference", facts=facts)
    engines = ("reference", "local")
    sessions = [tidelog.open(DECLARED + written, engine=engine, facts=facts) for engine in engines]
    assert [set(db["r"]) for db in sessions] == [set(oracle["r"])] * 2

    gone = [pair for pair in set(b) if pair in change]
    for db in (oracle, *sessions):
        db.apply(insert={"a": [pair for pair in change if pair not in a]}, delete={"b": gone})

    assert [set(db["r"]) for db in sessions] == [set(oracle["r"])] * 2


@given(a=PAIRS, b=PAIRS)
def test_what_it_keeps_from_holding_is_explained(a: list[Pair], b: list[Pair]) -> None:
    """Proofs name the negated conjunction and hold; near misses name facts that are in its way."""
    program = DECLARED + "r(x) :- n(x), !(a(x, y), b(y, _))."
    db = tidelog.open(program, facts={"a": a, "b": b, "n": [(0,), (1,), (2,)]})

    for x in range(3):
        if (x,) in db["r"]:
            proof = db.why(f"r({x})")
            assert f"!(a({x}, y), b(y, _))" in proof.text()
            assert proof.check()
        else:
            assert f"!(a({x}, y), b(y, _))  [a({x}, " in db.why_not(f"r({x})").text()


def test_no_relation_is_made_that_anyone_sees() -> None:
    """Sessions, deltas and plans know the relations of the text alone."""
    db = tidelog.open(DECLARED + "r(x) :- n(x), !(a(x, y), b(y, _)).", facts={"n": [(1,)], "a": [(1, 2)]})

    delta = db.apply(insert={"b": [(2, 3)]})

    assert db.relations == ("a", "b", "n", "r")
    assert str(delta).splitlines()[1:] == ["+b(2, 3).", "-r(1)."]
    assert "/" not in str(delta.explain_strategy())
    assert print_rule(db.program.rules[-1]) == "r(x) :- n(x), !(a(x, y), b(y, _))."


def test_without_variables_of_its_own_it_is_a_disjunction() -> None:
    """What binds no variable of its own is taken apart, as before: one of its literals fails."""
    db = tidelog.open(DECLARED + "r(x) :- n(x), a(x, y), !(b(x, y), x < y).")

    rules = [print_rule(rule) for rule in db.program.rules]

    assert rules == ["r(x) :- n(x), a(x, y), !b(x, y).", "r(x) :- n(x), a(x, y), x >= y."]


def test_a_variable_that_nothing_binds_is_a_mistake() -> None:
    """A constraint inside needs values for its variables, from inside or outside."""
    assert mistakes(DECLARED + "r(x) :- n(x), !(a(x, y), y < z).") == [("unbound-variable", "z")]


def test_it_must_not_read_its_own_stratum() -> None:
    """What it reads must be complete before: the cycle is named as a negation."""
    with pytest.raises(tidelog.TidelogError, match=r"`r` depends on its own negation: r -> !r"):
        tidelog.open(DECLARED + "r(x) :- n(x), !(a(x, y), r(y)).")
