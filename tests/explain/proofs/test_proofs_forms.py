"""Proofs as text, JSON, graphs, pages and relations; annotations and metrics; the command line."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import tidelog
from support.command_line import Command, make_command
from tidelog.explain.proofs.metric import Metric
from tidelog.explain.proofs.semiring import Semiring
from tidelog.session import Session

PROGRAM = """\
.decl edge(x: symbol, y: symbol)
.input edge
.decl path(x: symbol, y: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z), x != z.
.decl last(x: symbol)
last(x) :- edge(_, x), !edge(x, _).
"""
NASTY = '<script>alert("&")</script>'


@pytest.fixture
def db() -> Session:
    """Return paths a-b-c-d, and one value that would be markup."""
    return tidelog.open(PROGRAM, facts={"edge": [("a", "b"), ("b", "c"), ("c", "d"), ("d", NASTY)]})


def test_text_fits_the_width(db: Session) -> None:
    """No line is longer than the width, and parts too deep for it are drawn below."""
    db.apply(insert={"edge": [(str(x), str(x + 1)) for x in range(20)]})

    text = db.why("path('0', '20')").text(width=48)

    assert max(map(len, text.splitlines())) <= 48
    assert "→(1)" in text
    assert "\n(1) " in text


def test_text_stops_at_the_depth(db: Session) -> None:
    """Below the depth facts are named and not proved."""
    assert db.why("path('a', 'd')", depth=1).text(width=80).splitlines() == [
        'path("a", "d")  [path#2, program:5]',
        '├─ path("a", "c")  [...]',
        '├─ edge("c", "d")  [input]',
        '└─ "a" != "d"',
    ]


def test_json_has_every_node_once(db: Session) -> None:
    """The schema: numbered nodes with their rules, bindings, premises and leaves; a version."""
    proof = json.loads(db.why("path('a', 'c')").to_json())

    assert (proof["form"], proof["version"], proof["root"], proof["epoch"]) == ("tidelog-proof", 1, 0, 0)
    root = proof["nodes"][0]
    assert root["text"] == 'path("a", "c")'
    assert root["rule"]["line"] == 5
    assert root["bindings"] == {"x": "a", "z": "c", "y": "b"}
    assert [proof["nodes"][number]["text"] for number in root["premises"]] == [
        'path("a", "b")', 'edge("b", "c")',
    ]  # fmt: skip
    assert root["constraints"] == ['"a" != "c"']
    assert [node["kind"] for node in proof["nodes"]] == ["rule", "rule", "input", "input"]
    cut = json.loads(db.why("path('a', 'd')").to_json(depth=1))
    assert [node["expanded"] for node in cut["nodes"]] == [True, False, True]


def test_json_of_a_negated_leaf(db: Session) -> None:
    """A wildcard of a negated atom has no value; the bound columns are named."""
    (absence,) = json.loads(db.why(("last", (NASTY,))).to_json())["nodes"][0]["negated"]

    assert absence["pattern"] == [NASTY, None]
    assert absence["bound"] == [0]


def test_graphs_name_their_nodes(db: Session) -> None:
    """DOT and Mermaid draw each fact once, with an edge from every premise."""
    proof = db.why("path('a', 'd')")

    dot, mermaid = proof.to_dot(), proof.to_mermaid()

    assert dot.count("label=") == len(list(proof.nodes())) + 2
    assert len(re.findall(r"n\d+ -> n\d+;", dot)) == len(re.findall(r"n\d+ --> n\d+", mermaid)) == 5
    assert NASTY not in db.why(("path", ("d", NASTY))).to_mermaid()


class _Balance(HTMLParser):
    """Counts tags, and says whether they close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_nothing_and_escapes_values(db: Session) -> None:
    """The page is well formed, has no script and no address, and shows markup in values as text."""
    page = db.why(("path", ("a", NASTY))).to_html()

    balance = _Balance()
    balance.feed(page)
    assert balance.open == []
    assert "script" not in balance.seen
    assert "://" not in page
    assert "&lt;script&gt;" in page
    fragment = db.why("path('a', 'd')")._repr_html_()
    assert ET.fromstring(fragment).tag == "div"  # noqa: S314 - our own text


def test_relations_can_be_queried(db: Session) -> None:
    """Arrow tables of nodes, premises, bindings and leaves, joined by node numbers."""
    tables = db.why("path('a', 'c')").to_arrow()

    asking = tidelog.open(
        """
        .decl node(node: number, relation: symbol, fact: symbol, kind: symbol)
        .decl premise(node: number, place: number, premise: number)
        .input node, premise
        .decl leaf(fact: symbol)
        leaf(f) :- premise(_, _, n), node(n, _, f, "input").
        """,
        facts={
            "node": tables["node"].select(["node", "relation", "fact", "kind"]),
            "premise": tables["premise"],
        },
    )

    assert set(asking["leaf"]) == {('edge("a", "b")',), ('edge("b", "c")',)}
    assert tables["binding"].to_pylist()[0] == {"node": 0, "variable": "x", "value": '"a"'}
    assert tables["constraint"].to_pylist() == [{"node": 0, "place": 0, "text": '"a" != "c"'}]


# --- annotations and metrics -----------------------------------------------------------------------------

GRAPH = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
DIAMOND = [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (1, 4)]


def test_counting_proofs() -> None:
    """Without circles `count` is the number of proof trees."""
    db = tidelog.open(GRAPH, facts={"edge": DIAMOND})

    assert db.annotate("path(1, 5)", "count") == 3
    assert db.annotate("path(1, 4)", "boolean") is True


def test_the_cheapest_proof() -> None:
    """`tropical` adds up leaves and takes the least sum over all proofs, also where facts go in circles."""
    db = tidelog.open(GRAPH, facts={"edge": [*DIAMOND, (5, 1)]})
    weights = {(1, 4): 10.0}

    def weigh(atom: object) -> float:
        return weights.get(atom.fact, 1.0)  # type: ignore[attr-defined]

    assert db.annotate("path(1, 5)", "tropical") == 2.0
    assert db.annotate("path(1, 5)", "tropical", leaf=weigh) == 3.0


def test_a_semiring_of_ones_own() -> None:
    """The likeliest proof, when each input fact holds with some probability."""
    db = tidelog.open(GRAPH, facts={"edge": [*DIAMOND, (5, 1)]})
    likely = Semiring(0.0, 1.0, max, lambda a, b: a * b, is_idempotent=True)

    assert db.annotate("path(1, 5)", likely, leaf=lambda _atom: 0.5) == 0.25


def test_endless_proofs_are_refused_or_cut_by_levels() -> None:
    """Where facts rest on themselves, `count` says so; by levels only proofs that go down count."""
    db = tidelog.open(GRAPH, facts={"edge": [(1, 2), (2, 1)]})

    with pytest.raises(tidelog.TidelogError, match="cyclic-proofs"):
        db.annotate("path(1, 2)", "count")
    assert db.annotate("path(1, 2)", "count", cycles="levels") == 1


def test_an_annotation_that_grows_for_ever_is_refused() -> None:
    """An idempotent sum over products that improve on every round has no value."""
    db = tidelog.open(GRAPH, facts={"edge": [(1, 2), (2, 1)]})
    most = Semiring(float("-inf"), 0.0, max, lambda a, b: a + b, is_idempotent=True)

    with pytest.raises(tidelog.TidelogError, match="semiring-diverges"):
        db.annotate("path(1, 2)", most, leaf=lambda _atom: 1.0)


def test_the_smallest_proof_by_a_metric() -> None:
    """The metric chooses: by height, by nodes, or by a function of one's own."""
    text = """
    .decl a(x: number)
    .decl b(x: number)
    .input a, b
    .decl mid(x: number)
    mid(x) :- a(x).
    .decl top(x: number)
    top(x) :- mid(x).
    top(x) :- a(x), b(x), b(_), a(_).
    """
    db = tidelog.open(text, facts={"a": [(1,), (2,)], "b": [(1,), (2,)]})
    joins = Metric("joins", lambda _atom: 0, lambda _step, sizes: sum(sizes) + 10 * (len(sizes) - 1))

    assert db.why("top(1)", metric="height").height == 1
    assert db.why("top(1)", metric="nodes").size == 3
    assert db.why("top(1)", metric=joins).size == 3
    with tidelog.open(text, facts={"a": [(1,)], "b": [(1,)]}, provenance="nodes") as other:
        assert other.why("top(1)").size == 3


def test_the_size_of_a_proof_counts_every_place() -> None:
    """A fact that stands twice in a body counts twice, with all below it; so do the smallest proofs."""
    text = """
    .decl e(x: number, y: number)
    .input e
    .decl p(x: number)
    p(x) :- e(x, _).
    .decl twice(x: number)
    twice(x) :- p(x), p(y), e(x, y).
    .decl total(n: number)
    total(n) :- p(x), e(x, x), n = count : { p(_) }.
    """
    with tidelog.open(text, facts={"e": [(1, 1)]}) as db:
        proof, total = db.why("twice(1)"), db.why("total(1)")
        smallest = db.why("twice(1)", metric="nodes")

        # twice(1), and below it p(1) with e(1, 1), p(1) with e(1, 1) once more, and e(1, 1).
        assert proof.size == smallest.size == 6
        assert len(list(proof.nodes())) == 3
        # total(1), p(1) with e(1, 1), e(1, 1), and p(1) with e(1, 1) in the group.
        assert total.size == 6
        assert db.annotate("twice(1)", "tropical") == 3.0


def test_the_smallest_proof_counts_places_too() -> None:
    """A body that reads one fact three times is larger than a chain of two steps."""
    text = """
    .decl a(x: number)
    .input a
    .decl mid(x: number)
    mid(x) :- a(x).
    .decl top(x: number)
    top(x) :- a(x), a(y), a(z), x = y, y = z.
    top(x) :- mid(x).
    """
    with tidelog.open(text, facts={"a": [(1,)]}) as db:
        proof = db.why("top(1)", metric="nodes")

    assert (proof.size, proof.rule.text if proof.rule else "") == (3, "top(x) :- mid(x).")


def test_heights_cross_strata_and_survive_epochs() -> None:
    """With provenance="height" the default proof has minimal height, also after changes and in a store."""
    text = """
    .decl edge(x: number, y: number)
    .decl label(x: number)
    .input edge, label
    .decl path(x: number, y: number)
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), path(y, z).
    .decl good(x: number)
    good(x) :- path(1, x).
    good(x) :- label(x), edge(_, x).
    .decl best(x: number)
    best(x) :- good(x), !label(0).
    """
    db = tidelog.open(text, facts={"edge": [(x, x + 1) for x in range(1, 9)]}, provenance="height")

    assert (db.why("good(9)").height, db.why("best(9)").height) == (5, 6)
    db.apply(insert={"label": [(9,)]})
    assert (db.why("good(9)").height, db.why("best(9)").height) == (1, 2)
    db.apply(delete={"label": [(9,)]}, insert={"edge": [(1, 8)]})
    assert (db.why("good(9)").height, db.why("best(9)").height) == (3, 4)


# --- mistakes, and the command line -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ("path('a', 'z')", "fact-absent"),
        ("way('a', 'z')", "undeclared-relation"),
        ("path('a')", "wrong-arity"),
        ("path('a', 1)", "type-clash"),
        ("path('a', x)", "not-a-constant"),
        ("path('a', 'b'), path('b', 'c')", "not-a-fact"),
        (("path", ("a",)), "wrong-arity"),
        (("path", ("a", 1)), "wrong-value-type"),
    ],
)
def test_mistakes_in_a_question(db: Session, asked: str, code: str) -> None:
    """A question that cannot be answered is told what is wrong with it."""
    with pytest.raises(tidelog.TidelogError) as raised:
        db.why(asked)

    assert [each.code for each in raised.value.diagnostics] == [code]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the program and its facts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "edge.facts").write_text("a\tb\nb\tc\nc\td\n")
    return tmp_path


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command line: the exit status and what was printed."""
    return make_command(monkeypatch, capsys)


@pytest.mark.usefixtures("folder")
def test_why_on_the_command_line(call: Command) -> None:
    """`why` prints the proof in the form asked for."""
    status, text, _ = call("why", "p.dl", "path('a', 'c')", "-F", ".")
    _, as_json, _ = call("why", "p.dl", "path('a', 'c')", "-F", ".", "--format", "json", "--depth", "1")
    _, page, _ = call("why", "p.dl", "path('a', 'c')", "-F", ".", "--format", "html")
    _, several, _ = call("why", "p.dl", "path('a', 'c')", "-F", ".", "--all")

    assert status == 0
    assert text.startswith('path("a", "c")  [path#2, p.dl:5]')
    assert len(json.loads(as_json)["nodes"]) == 3
    assert page.startswith("<!doctype html>")
    assert several == text


@pytest.mark.usefixtures("folder")
def test_why_not_on_the_command_line(call: Command) -> None:
    """`why-not` prints near misses; `why` of the same fact fails and points to it."""
    status, text, _ = call("why-not", "p.dl", "path('d', 'a')", "-F", ".", "--limit", "1")
    failed, _, errors = call("why", "p.dl", "path('d', 'a')", "-F", ".")
    refused, _, _ = call("why", "p.dl", "path('a', 'b')", "-F", ".", "--format", "pdf")

    assert status == 0
    assert '✗ edge("d", "a")  [no such fact]' in text
    assert failed == 1
    assert "fact-absent" in errors
    assert refused == 2


def test_output_goes_to_a_file(folder: Path, call: Command) -> None:
    """`-o` writes the form to a file."""
    call("why", "p.dl", "path('a', 'b')", "-F", ".", "--format", "mermaid", "-o", "out.mmd")

    assert (folder / "out.mmd").read_text().startswith("flowchart BT")
