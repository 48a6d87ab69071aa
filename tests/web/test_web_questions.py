"""What the explorer answers about single facts: proofs, refutations, blame and repair."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidelog
from support.web_serving import Client, serving
from tidelog.session import Session
from tidelog.web import Limits, WebSettings

POINTSTO = Path(__file__).parents[2] / "examples" / "pointsto"
LAWS = """\
.decl edge(x: number, y: number)
.input edge
.decl same(x: number, y: number) eqrel
same(x, y) :- edge(x, y).
.decl total(n: number)
total(n) :- n = count : { edge(_, _) }.
.decl lonely(x: number)
lonely(x) :- edge(x, _), !edge(_, x).
"""

Node = dict[str, Any]


@pytest.fixture
def db() -> Iterator[Session]:
    """Return the points-to example."""
    with tidelog.open(POINTSTO / "pointsto.dl", facts=POINTSTO / "facts") as session:
        yield session


@pytest.fixture
def client(db: Session) -> Iterator[Client]:
    """Return an explorer of it."""
    with serving(db) as client:
        yield client


def texts(nodes: list[Node]) -> list[str]:
    """Return what nodes say."""
    return [node["text"] for node in nodes]


def test_why_gives_the_rule_and_its_premises(client: Client) -> None:
    """A node has its rule with the place in the text, the bindings, and premises down to the depth."""
    proof = client.post("/api/why", {"fact": "alias('userSession', 'ins').", "depth": 1}).json["proof"]

    assert proof["text"] == 'alias("userSession", "ins")'
    assert (proof["rule"]["name"], proof["rule"]["place"]["line"]) == ("alias#1", 49)
    assert dict(proof["bindings"]) == {"var1": '"userSession"', "var2": '"ins"', "obj": '"L3"'}
    assert texts(proof["premises"]) == [
        'vpt("userSession", "L3")',
        'vpt("ins", "L3")',
        '"userSession" != "ins"',
        '"L3" != "nullptr"',
    ]
    below = proof["premises"][0]
    assert (below["premises"], below["has_more"]) == (None, True)


def test_a_node_is_opened_by_its_path(client: Client) -> None:
    """The way of premises from the root leads to every node, down to the input facts."""
    fact = 'alias("userSession", "ins")'
    proof = client.post("/api/why", {"fact": fact, "depth": 1}).json["proof"]
    below = client.post("/api/why", {"fact": fact, "path": proof["premises"][1]["path"]}).json["proof"]

    assert below["text"] == 'vpt("ins", "L3")'
    assert [(each["text"], each["is_input"]) for each in below["premises"]] == [('new("ins", "L3")', True)]
    assert below["premises"][0]["has_more"] is False


def test_laws_are_told() -> None:
    """Equivalences, aggregates and negated atoms stand in a proof as what they are, and open further."""
    facts = {"edge": [(1, 2), (2, 3), (5, 5)]}
    with tidelog.open(LAWS, facts=facts) as db, serving(db) as other:
        same = other.post("/api/why", {"fact": "same(3, 1)", "depth": 3}).json["proof"]
        total = other.post("/api/why", {"fact": "total(3)", "depth": 1}).json["proof"]
        lonely = other.post("/api/why", {"fact": "lonely(1)", "depth": 1}).json["proof"]
        path = same["premises"][0]["path"]
        opened = other.post("/api/why", {"fact": "same(3, 1)", "path": path}).json["proof"]

    assert "equivalence" in same["note"]
    assert opened["rule"]["name"] == "same#1"
    aggregate = next(each for each in total["premises"] if each["kind"] == "aggregate")
    assert set(texts(aggregate["premises"])) == {"edge(1, 2)", "edge(2, 3)", "edge(5, 5)"}
    negated = next(each for each in lonely["premises"] if each["kind"] == "negated")
    assert negated["text"].startswith("!edge(")


def test_a_proof_has_a_limit(db: Session) -> None:
    """A proof is sent in pieces: what goes beyond the limit is asked for when it is opened."""
    with serving(db, WebSettings(limits=Limits(proof_nodes=3))) as client:
        proof = client.post("/api/why", {"fact": "alias('userSession', 'ins')", "depth": 9}).json["proof"]

    below = proof["premises"][-3]
    assert (below["premises"], below["has_more"]) == (None, True)


def test_support_and_derivations(client: Client) -> None:
    """The input facts at the leaves, and every way to derive a fact."""
    support = client.post("/api/support", {"fact": "vpt('userSession', 'L3')"}).json
    others = client.post("/api/derivations", {"fact": "vpt('superuser', 'L3')"}).json

    assert support == {
        "facts": ['assign("userSession", "ins")', 'new("ins", "L3")'],
        "size": 2,
        "offset": 0,
    }
    rules = {proof["rule"]["name"] for proof in others["proofs"]}
    assert rules == {"vpt#2", "vpt#3"}
    opened = client.post("/api/why", {"fact": "vpt('superuser', 'L3')", "derivation": 1, "path": [0]}).json
    assert opened["proof"]["text"] in texts(others["proofs"][1]["premises"])


def test_why_not_marks_every_literal(client: Client) -> None:
    """Near misses come nearest first; each literal holds or fails, and the missing fact is named."""
    found = client.post("/api/why-not", {"fact": "vpt('userSession', 'L4')", "depth": 2}).json["refutation"]

    nearest = found["premises"][0]
    assert nearest["note"].startswith("1 literal of ")
    marks = [(each["mark"], each["text"]) for each in nearest["premises"]]
    assert ("fails", 'vpt("ins", "L4")') in marks or ("fails", 'new("userSession", "L4")') in marks
    by_assign = next(each for each in found["premises"] if each["rule"]["name"] == "vpt#2")
    assert [each["mark"] for each in by_assign["premises"]] == ["holds", "fails"]
    missing = by_assign["premises"][1]
    assert missing["fact"] == 'vpt("ins", "L4")'
    assert missing["premises"]
    assert missing["place"]["line"] == 38


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/api/why", {}, "bad-request"),
        ("/api/why", {"fact": 7}, "bad-request"),
        ("/api/why", {"fact": "vpt('ins', 'L3')", "depth": -1}, "bad-request"),
        ("/api/why", {"fact": "vpt('ins', 'L3')", "path": "0"}, "bad-request"),
        ("/api/why", {"fact": "vpt('ins', 'L3')", "path": [9]}, "bad-request"),
        ("/api/why", {"fact": "vpt('ins', 'L3')", "path": ["x"]}, "bad-request"),
        ("/api/why", {"fact": "vpt('ins', 'L3')", "derivation": 9}, "bad-request"),
        ("/api/why", {"fact": "vpt('ins', 'L9')"}, "fact-absent"),
        ("/api/why", {"fact": "vpt('ins'"}, "syntax"),
        ("/api/why", {"fact": "x" * 300_000}, "request-too-large"),
        ("/api/why-not", {"fact": "nothing(1)"}, "undeclared-relation"),
        ("/api/support", {"fact": "vpt('ins', 'L9')"}, "fact-absent"),
        ("/api/blame", {"unwanted": "vpt"}, "bad-request"),
        ("/api/blame", {"unwanted": ["vpt(x, y)"], "epoch": "last"}, "bad-request"),
        ("/api/repair", {"unwanted": ["vpt(x, y)"] * 101}, "request-too-large"),
    ],
)
def test_wrong_questions_are_told(client: Client, path: str, body: object, code: str) -> None:
    """A question that cannot be answered is a diagnostic."""
    reply = client.post(path, body)

    assert code in reply.codes
    assert 400 <= reply.status < 500


def test_proofs_follow_epochs(db: Session, client: Client) -> None:
    """After a change a proof speaks of the present facts, though an earlier one was kept."""
    fact = {"fact": "vpt('superuser', 'L3')", "depth": 9}
    before = client.post("/api/support", fact).json["facts"]
    db.apply(delete=[before[0]])

    after = client.post("/api/support", fact).json["facts"]

    assert before[0] not in after


def test_blame_and_repair() -> None:
    """The changes that brought a fact are named with how they did it, and the fewest to take back."""
    with tidelog.open(POINTSTO / "pointsto.dl", facts=POINTSTO / "facts") as db, serving(db) as client:
        db.apply(insert=['new("x", "L9")', 'assign("sec", "x")', 'new("other", "L8")'])
        asked = {"unwanted": ["alias('sec', 'x')"], "epoch": 1}
        blame = client.post("/api/blame", asked).json
        repair = client.post("/api/repair", {**asked, "alternatives": 2}).json
        rejected = client.post("/api/repair", {**asked, "reject": [repair["changes"][0]["text"]]}).json

    assert {each["text"] for each in blame["changes"]} == {'+new("x", "L9")', '+assign("sec", "x")'}
    assert blame["proofs"][0]["text"] == 'alias("sec", "x")'
    assert (len(repair["apply"]), repair["optimal"], len(repair["alternatives"])) == (1, True, 1)
    assert rejected["found"]
    assert rejected["apply"] != repair["apply"]
