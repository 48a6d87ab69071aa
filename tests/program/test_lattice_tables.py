"""Lattices whose join is a relation: what it must be like, and what happens where it has no value."""

import re
from collections.abc import Callable

import pytest

import tidelog
from support.building import diagnostics
from tidelog.engine.epoch import Action
from tidelog.errors import TidelogError
from tidelog.session import Session

SIGNS = """
.type Sign <: symbol
.decl join(x: Sign, y: Sign, least: Sign) keys x, y
join("neg", "zero", "nonpos"). join("neg", "nonpos", "nonpos"). join("zero", "nonpos", "nonpos").
join(x, y, z) :- join(y, x, z).
.lattice Sign<> { Lub -> join[_, _] }
.decl edge(x: number, y: number)
.input edge
.decl start(x: number, s: Sign)
.input start
.decl at(x: number, s: Sign<>)
at(x, s) :- start(x, s).
at(y, s) :- at(x, s), edge(x, y).
"""


def _open(engine: str = "local") -> Session:
    facts = {"edge": [(1, 3), (2, 3), (3, 4)], "start": [(1, "neg"), (2, "zero")]}
    return tidelog.open(SIGNS, facts=facts, jobs=1, engine=engine)


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_a_relation_joins_values(engine: str) -> None:
    """Every engine looks the least value above two others up, and proofs check with it."""
    db = _open(engine)

    assert set(db["at"]) == {(1, "neg"), (2, "zero"), (3, "nonpos"), (4, "nonpos")}
    assert all(db.why(("at", fact)).check() for fact in db["at"])


def test_a_lattice_with_a_relation_is_followed() -> None:
    """An epoch changes the values that it can change, as with a functor."""
    db = _open()

    delta = db.apply(delete={"edge": [(1, 3)]}, strategy="update")

    assert set(db["at"]) == {(1, "neg"), (2, "zero"), (3, "zero"), (4, "zero")}
    assert [each.action for each in delta.strata if "at" in each.relations] == [Action.UPDATED]


def test_a_missing_value_leaves_the_state_as_it_was() -> None:
    """Two values without a join are told, and the epoch is taken back."""
    db = _open()
    before = set(db["at"])

    with pytest.raises(TidelogError, match=re.escape("`join['nonpos', 'pos']` has no value")):
        db.apply(insert={"start": [(4, "pos")]}, strategy="update")

    assert set(db["at"]) == before
    db.apply(insert={"start": [(5, "pos")]})
    assert (5, "pos") in db["at"]


def test_a_second_value_is_refused() -> None:
    """A relation with two values for two others is no join."""
    with pytest.raises(TidelogError, match="two-values"):
        tidelog.open(SIGNS + 'join("neg", "zero", "neg").')


@pytest.mark.parametrize(
    "change",
    [
        lambda db: db.apply(insert={"join": [("neg", "pos", "any")]}),
        lambda db: db.add_rules('join("neg", "pos", "any").'),
        lambda db: db.remove_rules("join(x, y, z) :- join(y, x, z)."),
    ],
    ids=["facts", "rules", "fewer rules"],
)
def test_the_relation_stays_as_it_is(change: Callable[[Session], object]) -> None:
    """What a lattice looks values up in is decided when the session opens."""
    db = _open()

    with pytest.raises(TidelogError, match="fixed-relation"):
        change(db)

    assert len(db["at"]) == 4


def test_facts_for_the_relation_are_refused_at_first_too() -> None:
    """Facts from outside would come too late for a relation that joins values."""
    with pytest.raises(TidelogError, match="fixed-relation"):
        tidelog.open(SIGNS, facts={"join": [("neg", "pos", "any")]})


@pytest.mark.parametrize(
    ("join", "reason"), [("left", "is not commutative"), ("least", "is not an upper bound")]
)
def test_a_relation_that_is_no_join_is_recomputed_with_the_reason(join: str, reason: str) -> None:
    """The laws of joins are checked as for functors."""
    text = f"""
    .type V <: symbol
    .decl left(x: V, y: V, z: V) keys x, y
    left("a", "b", "a"). left("b", "a", "b").
    .decl least(x: V, y: V, z: V) keys x, y
    least("a", "b", "c"). least("b", "a", "c"). least("a", "c", "a"). least("c", "a", "a").
    least("b", "c", "b"). least("c", "b", "b").
    .lattice V<> {{ Lub -> {join}[_, _] }}
    .decl start(x: number, v: V)
    .input start
    .decl at(x: number, v: V<>)
    at(x, v) :- start(x, v).
    at(x, v) :- at(y, v), start(x, _), start(y, _), x = y + 1.
    """
    db = tidelog.open(text, facts={"start": [(0, "a")]}, jobs=1)
    db.apply(insert={"start": [(0, "b")]}, strategy="update")

    reports = db.apply(insert={"start": [(7, "b")]}, strategy="update").strata

    report = next(each for each in reports if "at" in each.relations)
    assert report.action is Action.RECOMPUTED
    assert reason in report.reason


MISTAKES = {
    ".decl j(x: V, y: V) keys x\n.lattice V<> { Lub -> j[_, _] }": "does not have three columns of `V`",
    ".decl j(x: V, y: V, z: number) keys x, y\n.lattice V<> { Lub -> j[_, _] }": "three columns of `V`",
    ".decl j(x: V, y: V, z: V)\n.lattice V<> { Lub -> j[_, _] }": "may have several values for two others",
    ".lattice V<> { Lub -> j[_, _] }": "`Lub` names `j`, which is not declared",
    ".decl j(x: V, y: V, z: V) keys x, y\n.input j\n.lattice V<> { Lub -> j[_, _] }": "has input facts",
    ".decl j(x: V, y: V, z: V) keys x, y\n.decl at(v: V<>)\n"
    'at("a").\nj(v, v, v) :- at(v).\n.lattice V<> { Lub -> j[_, _] }': "has values of such a lattice",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_relation_that_cannot_be_a_join_is_told(text: str) -> None:
    """It has three columns of the type, one value for two others, and depends on the program alone."""
    found = diagnostics(".type V <: symbol\n" + text)

    assert any(each.code == "bad-lattice" and MISTAKES[text] in each.message for each in found)
