"""What one works with in the explorer: queries, trials, checks, downloads, news, long proofs, one schema."""

import io
import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse

import pyarrow.parquet as pq
import pytest

import tidelog
from support.web_serving import Client, serving
from tidelog.session import Session
from tidelog.web import WebSettings
from tidelog.web.live import MOST_LISTENERS
from tidelog.web.typescript import TYPES, write_types

PROGRAM = """\
.decl edge(x: number, y: number)
.input edge
edge(90, 91).
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl name(x: number, t: symbol)
.input name
"""
STEPS = 1400


@pytest.fixture
def db() -> Iterator[Session]:
    """Return a session with a short chain of edges and some names."""
    facts = {"edge": [(1, 2), (2, 3), (3, 4)], "name": [(1, "a,b"), (2, 'say "x"'), (3, "")]}
    with tidelog.open(PROGRAM, facts=facts) as session:
        yield session


@pytest.fixture
def client(db: Session) -> Iterator[Client]:
    """Return a client of an explorer that may write."""
    with serving(db, WebSettings(may_write=True)) as client:
        yield client


# --- queries ----------------------------------------------------------------------------------------


def test_a_query_is_answered_in_pages(client: Client) -> None:
    """Answers sort, filter and page as facts do, and every row names the facts to ask why about."""
    page = client.get("/api/query", q="path(1, y), edge(y, z)", sort="-0", limit=1).json

    assert [each["name"] for each in page["columns"]] == ["y", "z"]
    assert (page["size"], page["matching"]) == (2, 2)
    assert page["rows"] == [{"values": ["3", "4"], "fact": None, "facts": ["path(1, 3)", "edge(3, 4)"]}]
    assert client.get("/api/query", q="path(1, y)", f0=">2").json["matching"] == 2


def test_a_row_of_a_projection_has_a_witness(client: Client) -> None:
    """Where a query leaves values open, one fact that fits is found on demand."""
    page = client.get("/api/query", q="path(x, _)", limit=1).json

    assert page["rows"][0]["facts"] == ["path(1, _)"]
    assert client.post("/api/witness", {"pattern": "path(1, _)"}).json == {"fact": "path(1, 2)"}
    assert client.post("/api/witness", {"pattern": "path(77, _)"}).json == {"fact": None}


@pytest.mark.parametrize(
    ("text", "code"), [("", "bad-query"), ("path(1", "syntax"), ("nothing(x)", "undeclared-relation")]
)
def test_a_wrong_query_is_a_diagnostic(client: Client, text: str, code: str) -> None:
    """Whatever is typed is answered, with the code and the place of the mistake."""
    reply = client.get("/api/query", q=text)

    assert reply.status in {400, 404}
    assert code in reply.codes


def test_an_answer_follows_the_epoch(client: Client, db: Session) -> None:
    """The same query after an epoch gives what holds then."""
    before = client.get("/api/query", q="path(1, y)").json["size"]
    db.apply(insert=["edge(4, 5)"])

    assert client.get("/api/query", q="path(1, y)").json["size"] == before + 1


# --- trials -----------------------------------------------------------------------------------------


def test_changes_are_tried_out(client: Client, db: Session) -> None:
    """A trial shows the delta of facts and rules together, page by page, and leaves everything as it was."""
    rule = next(rule for rule in db.rules if "path(x, y), edge" in rule.text)
    body = {
        "insert": ["edge(4, 5)"],
        "remove_rules": [rule.id],
        "add_rules": ".decl two(x: number)\ntwo(x) :- edge(x, _).",
    }
    tried = client.post("/api/preview", body).json

    counts = {each["name"]: (each["inserted"], each["deleted"]) for each in tried["relations"]}
    assert counts == {"edge": (1, 0), "path": (1, 3), "two": (5, 0)}
    assert len(tried["rules_inserted"]) == len(tried["rules_deleted"]) == 1
    facts = client.get(f"/api/trials/{tried['trial']}/path", side="deleted").json
    assert [row["values"] for row in facts["rows"]] == [["1", "3"], ["1", "4"], ["2", "4"]]
    assert (db.epoch, len(db["path"]), len(db["edge"]), len(db.rules)) == (0, 7, 4, 3)
    assert client.post("/api/changes", body).json["epoch"] == 1
    assert set(db["two"]) == {(1,), (2,), (3,), (4,), (90,)}


def test_changes_are_checked_while_they_are_typed(client: Client, db: Session) -> None:
    """All mistakes come back at once, and nothing happens."""
    body = {
        "insert": [{"relation": "edge", "values": ["x", "2"]}, {"relation": "edge", "values": ["1", "y"]}]
    }
    facts = client.post("/api/check", body).json["diagnostics"]
    rules = client.post("/api/check", {"add_rules": "path(x, y) :- edg(x, y)."}).json["diagnostics"]

    assert [each["message"].split(":")[0] for each in facts] == ["x", "y"]
    assert [each["code"] for each in rules] == ["undeclared-relation"]
    assert client.post("/api/check", {"insert": ["edge(7, 8)"]}).json == {"diagnostics": []}
    assert db.epoch == 0


@pytest.mark.parametrize(
    "text", ['.include "/etc/passwd"', '#include "/etc/passwd"', '/* */ #include "/etc/x"']
)
def test_typed_rules_read_no_files(client: Client, text: str) -> None:
    """A page cannot make the server read a file of its machine."""
    reply = client.post("/api/preview", {"add_rules": text})

    assert reply.codes == ["bad-request"]
    assert "read no files" in reply.json["diagnostics"][0]["message"]


def test_without_write_nothing_is_tried(db: Session) -> None:
    """A read-only explorer refuses trials and checks as it refuses changes."""
    with serving(db) as client:
        for path in ("/api/preview", "/api/check", "/api/changes"):
            reply = client.post(path, {"insert": ["edge(4, 5)"]})
            assert (reply.status, reply.codes) == (403, ["read-only-explorer"])


def test_facts_of_the_program_cannot_be_deleted(client: Client) -> None:
    """A fact that stands in the program's text is not offered for deletion."""
    rows = client.get("/api/facts/edge").json["rows"]

    assert [(row["fact"], row["is_deletable"]) for row in rows] == [
        ("edge(1, 2)", True), ("edge(2, 3)", True), ("edge(3, 4)", True), ("edge(90, 91)", False),
    ]  # fmt: skip


# --- downloads --------------------------------------------------------------------------------------


def test_tables_are_downloaded(client: Client) -> None:
    """Facts, filtered and sorted, come as CSV, JSON and Parquet, with every value as it is."""
    csv = client.get("/api/download/facts/name.csv", sort="-0")
    plain = client.get("/api/download/facts/name.json", f0=">1")
    parquet = client.get("/api/download/facts/name.parquet")

    assert csv.body.decode() == '"x","t"\n3,""\n2,"say ""x"""\n1,"a,b"\n'
    assert csv.headers["content-disposition"] == "attachment; filename*=utf-8''name.csv"
    assert json.loads(plain.body) == [{"x": 2, "t": 'say "x"'}, {"x": 3, "t": ""}]
    assert pq.read_table(io.BytesIO(parquet.body)).to_pydict() == {
        "x": [1, 2, 3],
        "t": ["a,b", 'say "x"', ""],
    }


def test_answers_deltas_and_proofs_are_downloaded(client: Client, db: Session) -> None:
    """Whatever is shown as a table or a proof can be taken away."""
    db.apply(insert=["edge(4, 5)"])

    assert client.get("/api/download/query.csv", q="path(3, y)").body == b'"y"\n4\n5\n'
    delta = client.get("/api/download/epochs/1/edge.csv", side="inserted")
    assert delta.body == b'"x","y"\n4,5\n'
    text = client.get("/api/download/proof/text", fact="path(1, 3)")
    assert text.body.decode().startswith("path(1, 3)")
    assert client.get("/api/download/proof/mermaid", fact="path(1, 3)").body.startswith(b"flowchart")


def test_large_downloads_come_in_pieces() -> None:
    """More facts than are written at once are all there, in every form."""
    count = 45_000
    facts = {"name": [(each, f"t{each}") for each in range(count)]}
    with tidelog.open(PROGRAM, facts=facts) as db, serving(db) as client:
        csv = client.get("/api/download/facts/name.csv").body.splitlines()
        plain = json.loads(client.get("/api/download/facts/name.json").body)
        parquet = pq.read_table(io.BytesIO(client.get("/api/download/facts/name.parquet").body))

    assert (len(csv), len(plain), parquet.num_rows) == (count + 1, count, count)
    assert plain[-1] == {"x": count - 1, "t": f"t{count - 1}"}


def test_a_wrong_download_is_a_diagnostic(client: Client) -> None:
    """A form or a relation that does not exist is told."""
    assert client.get("/api/download/facts/name.xls").codes == ["bad-request"]
    assert client.get("/api/download/facts/nothing.csv").codes == ["undeclared-relation"]
    assert client.get("/api/download/proof/word", fact="path(1, 3)").codes == ["bad-request"]


# --- news -------------------------------------------------------------------------------------------


def read_event(reply: HTTPResponse) -> tuple[str, dict[str, object]]:
    """Return the next event that is not a comment."""
    name = ""
    while True:
        line = reply.readline().decode().rstrip("\n")
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        if line.startswith("data: "):
            return name, json.loads(line.removeprefix("data: "))


def test_epochs_reach_whoever_listens(client: Client, db: Session) -> None:
    """A listener hears of the present epoch and then of each one, whoever made it."""
    connection = HTTPConnection("127.0.0.1", client.port, timeout=60)
    connection.request("GET", "/api/live")
    reply = connection.getresponse()
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert read_event(reply)[1]["epoch"] == 0

    db.apply(insert=["edge(4, 5)"])

    name, news = read_event(reply)
    assert name == "epoch"
    assert news["epoch"] == 1
    assert {"name": "edge", "inserted": 1, "deleted": 0} in news["relations"]  # type: ignore[operator]
    connection.close()


def test_only_so_many_pages_listen(client: Client) -> None:
    """Whoever comes when too many listen is told so; one that leaves makes room."""
    connections = [HTTPConnection("127.0.0.1", client.port, timeout=60) for _ in range(MOST_LISTENERS)]
    for connection in connections:
        connection.request("GET", "/api/live")
        assert connection.getresponse().status == 200

    refused = client.get("/api/live")

    assert (refused.status, refused.codes) == (503, ["explorer-busy"])
    for connection in connections:
        connection.close()


@pytest.mark.parametrize("path", ["/api/live", "/api/download/facts/edge.csv", "/api/query?q=edge(x, y)"])
def test_new_addresses_ask_for_the_token_too(db: Session, path: str) -> None:
    """Nothing is told to somebody without the token."""
    with serving(db, WebSettings(token="a token that nobody guesses")) as client:  # noqa: S106 - of this test
        reply = client.send("GET", path.replace(" ", "%20"))

    assert (reply.status, reply.codes) == (401, ["wrong-token"])


@pytest.mark.parametrize(
    "path", ["/api/preview", "/api/check", "/api/steps", "/api/proof-graph", "/api/witness"]
)
def test_other_sites_cannot_ask(client: Client, path: str) -> None:
    """A page of another origin is refused, and so is a body that a form could send."""
    foreign = client.post(path, {}, origin="http://example.org")
    form = client.send("POST", path, b"{}", {"content-type": "text/plain"})

    assert (foreign.status, foreign.codes) == (403, ["foreign-origin"])
    assert form.codes == ["bad-request"]


# --- long proofs ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_client() -> Iterator[Client]:
    """Return a client over a chain of many edges."""
    facts = {"edge": [(each, each + 1) for each in range(STEPS)]}
    with tidelog.open(PROGRAM, facts=facts) as session, serving(session) as client:
        yield client


def test_long_chains_are_folded(long_client: Client) -> None:
    """A proof of 1,400 levels is a root, a fold with its number of steps, and the end of the chain."""
    proof = long_client.post("/api/why", {"fact": f"path(0, {STEPS})", "depth": 2}).json["proof"]

    fold, edge = proof["premises"]
    assert (fold["kind"], fold["rules"], edge["text"]) == ("fold", ["path#2"], f"edge({STEPS - 1}, {STEPS})")
    assert fold["end"]["text"] == "path(0, 1)"
    assert fold["count"] == STEPS - 2
    steps = long_client.post(
        "/api/steps", {"fact": f"path(0, {STEPS})", "path": fold["path"], "offset": 10, "limit": 3}
    ).json["steps"]
    assert [each["text"] for each in steps] == [f"path(0, {STEPS - 11 - each})" for each in range(3)]
    assert [each["text"] for each in steps[0]["premises"]] == [f"edge({STEPS - 12}, {STEPS - 11})"]


def test_a_picture_of_a_long_proof_is_small(long_client: Client) -> None:
    """The graph has the fold as one box."""
    graph = long_client.post("/api/proof-graph", {"fact": f"path(0, {STEPS})"}).json

    assert [each["kind"] for each in graph["nodes"]] == ["derived", "fold", "derived", "input", "input"]
    assert graph["nodes"][0]["premises"] == [1, 3]
    assert not graph["is_cut"]


def test_the_support_is_sorted_by_type_and_paged(long_client: Client) -> None:
    """Input facts come in the order of their numbers, a thousand at a time."""
    first = long_client.post("/api/support", {"fact": f"path(0, {STEPS})"}).json
    last = long_client.post("/api/support", {"fact": f"path(0, {STEPS})", "offset": 1000}).json

    assert (first["size"], len(first["facts"]), len(last["facts"])) == (STEPS, 1000, STEPS - 1000)
    assert first["facts"][9:11] == ["edge(9, 10)", "edge(10, 11)"]
    assert last["facts"][-1] == f"edge({STEPS - 1}, {STEPS})"


def test_why_not_of_a_fact_that_holds_is_no_mistake(client: Client) -> None:
    """The reply says that it holds."""
    assert client.post("/api/why-not", {"fact": "path(1, 3)"}).json == {"refutation": None, "holds": True}


# --- the schema -------------------------------------------------------------------------------------


def test_the_page_knows_the_schema() -> None:
    """The types that the page is checked with are those of the server."""
    assert TYPES.read_text(encoding="utf-8") == write_types()
