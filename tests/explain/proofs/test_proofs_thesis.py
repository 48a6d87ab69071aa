"""The running example of the thesis that proofs follow: points-to, and paths of length two."""

import os
from pathlib import Path

import pytest

import tidelog
from support.programs import ENGINES
from tidelog.explain.proofs.guided import GuidedRefutation
from tidelog.session import Session

GOLDEN = Path(__file__).parents[2] / "golden" / "proofs"
FACTS = {
    "new": [
        ("admin", "L1"), ("sec", "L2"), ("ins", "L3"), ("userSession", "nullptr"), ("superuser", "nullptr"),
    ],
    "store": [("admin", "session", "ins"), ("admin", "session", "sec")],
    "assign": [("superuser", "sec"), ("userSession", "ins"), ("superuser", "userSession")],
    "load": [("superuser", "admin", "session")],
}  # fmt: skip
PATHS = """
.decl edg(x: symbol, y: symbol)
.input edg
.decl path2(x: symbol, y: symbol)
path2(X, Z) :- edg(X, Y), edg(Y, Z), !edg(X, Z), X != Z.
path2(X, Z) :- edg(X, Y), path2(Y, Z), !edg(X, Z), X != Z.
"""


@pytest.fixture(params=[("local", None), ("local", "height"), ("reference", None), ("reference", "height")])
def db(request: pytest.FixtureRequest) -> Session:
    """Return the points-to analysis on each engine, with iterations and with heights."""
    engine, provenance = request.param
    assert engine in ENGINES
    text = (GOLDEN / "pointsto.dl").read_text()
    return tidelog.open(text, facts=FACTS, engine=engine, provenance=provenance)


def agree(name: str, text: str) -> None:
    """Compare the text with a golden file, or write it when UPDATE_GOLDEN is set."""
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text + "\n", encoding="utf-8")

    assert text + "\n" == path.read_text(encoding="utf-8")


def test_why_two_variables_may_be_aliases(db: Session) -> None:
    """Figure 4.1: alias(userSession, ins) rests on one object, L3, that both point to."""
    proof = db.why("alias('userSession', 'ins')")

    assert proof.height == 3
    assert proof.check()
    assert proof.support() == {"new": {("ins", "L3")}, "assign": {("userSession", "ins")}}
    agree("alias.txt", proof.text(width=80))


def test_a_circular_assignment_makes_no_proof_go_round(db: Session) -> None:
    """Figure 4.2: with ins = userSession there are endlessly many proofs, and why gives a small one."""
    db.apply(insert={"assign": [("ins", "userSession")]})

    proof = db.why("vpt('ins', 'L3')")

    assert (proof.height, proof.size) == (1, 2)


def test_why_a_variable_does_not_point_to_an_object(db: Session) -> None:
    """Figure 4.13, without questions: the near misses of vpt(userSession, L4)."""
    refutation = db.why_not("vpt('userSession', 'L4')")

    agree("not_vpt.txt", refutation.text(width=80))


def test_why_not_by_choosing_a_rule_and_values(db: Session) -> None:
    """Figure 4.13 as in the thesis: pick rule 2, pick "ins" for Var2, and see what fails."""
    asked = db.why_not("vpt('userSession', 'L4')", guided=True)

    rule = asked.choose(2)

    assert rule.free == ("Var2",)
    assert rule.suggest("Var2") == ("ins",)
    judged = [(str(each), each.verdict.value) for each in rule.bind(Var2="ins").literals]
    assert judged == [('assign("userSession", "ins")', "holds"), ('vpt("ins", "L4")', "fails")]
    deeper = rule.bind(Var2="ins").follow(1)
    assert isinstance(deeper, GuidedRefutation)
    assert str(deeper.atom) == 'vpt("ins", "L4")'


def test_a_variable_that_is_never_null(db: Session) -> None:
    """A negated atom is a leaf of the proof."""
    proof = db.why("safevar('ins')")

    assert [str(each) for each in proof.negated] == ['!vpt("ins", "nullptr")']
    assert proof.negated[0].atom is not None
    assert db.why_not(proof.negated[0].atom).near_misses


def test_paths_of_length_two() -> None:
    """Figure 4.10: path2(a, d) with its constraints and negated atoms."""
    with tidelog.open(PATHS, facts={"edg": [("a", "b"), ("b", "c"), ("c", "d")]}) as db:
        agree("path2.txt", db.why("path2('a', 'd')").text(width=80))


def test_the_layout_of_figure_4_12(db: Session) -> None:
    """Premises stand side by side over a line with the number of the rule, the conclusion below it."""
    agree("alias_horizontal.txt", db.why("alias('userSession', 'ins')").horizontal())
