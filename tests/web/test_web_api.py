"""The explorer's answers: relations, pages of facts, rules, epochs and changes."""

from collections.abc import Iterator

import pytest

import tidelog
from support.web_serving import Client, serving
from tidelog.session import Session
from tidelog.web import Limits, WebSettings

PROGRAM = """\
.type Pair = [left: number, right: symbol]
.decl edge(x: number, y: symbol)
.input edge
.decl path(x: number, y: symbol)
.output path
path(x, y) :- edge(x, y).
path(x, "all") :- edge(x, _).
.decl pair(p: Pair)
pair([x, y]) :- edge(x, y).
.decl any()
any() :- edge(_, _).
"""


@pytest.fixture
def db() -> Iterator[Session]:
    """Return a session with a few facts."""
    facts = {"edge": [(number, f"t{number % 7}") for number in range(30)]}
    with tidelog.open(PROGRAM, facts=facts) as session:
        yield session


@pytest.fixture
def client(db: Session) -> Iterator[Client]:
    """Return a client of an explorer that may write."""
    with serving(db, WebSettings(may_write=True)) as client:
        yield client


def values(page: dict[str, object]) -> list[list[str]]:
    """Return the texts of a page."""
    rows = page["rows"]
    assert isinstance(rows, list)
    return [row["values"] for row in rows]


def test_the_session_is_described(client: Client) -> None:
    """Relations come with columns, sizes and what may be done to them."""
    about = client.get("/api/session").json

    assert about["epoch"] == 0
    assert about["may_write"] is True
    by_name = {each["name"]: each for each in about["relations"]}
    assert by_name["edge"]["size"] == 30
    assert by_name["edge"]["is_input"]
    assert not by_name["path"]["is_input"]
    assert by_name["path"]["is_output"]
    assert by_name["edge"]["columns"][1] == {"name": "y", "type": "symbol", "kind": "symbol"}


def test_facts_come_in_pages(client: Client) -> None:
    """A page has so many facts from an offset on, in value order; past the end comes the last page."""
    page = client.get("/api/facts/edge", offset=10, limit=3).json

    assert (page["size"], page["matching"], page["order"]) == (30, 30, "value")
    assert values(page) == [["10", "t3"], ["11", "t4"], ["12", "t5"]]
    assert page["rows"][0]["fact"] == 'edge(10, "t3")'
    assert values(client.get("/api/facts/edge", offset=1000, limit=7).json) == [["28", "t0"], ["29", "t1"]]


def test_facts_are_sorted(client: Client) -> None:
    """Columns sort up or down, several of them in the order given; numbers sort as numbers."""
    down = client.get("/api/facts/edge", sort="-0", limit=2).json
    several = client.get("/api/facts/edge", sort="-1,0", limit=2).json

    assert values(down) == [["29", "t1"], ["28", "t0"]]
    assert values(several) == [["6", "t6"], ["13", "t6"]]
    assert down["order"] == "sorted"


@pytest.mark.parametrize(
    ("column", "text", "matching"),
    [
        (0, "5", 1),
        (0, "=5", 1),
        (0, "!=5", 29),
        (0, "<5", 5),
        (0, ">= 25", 5),
        (0, "3..6", 4),
        (1, "T1", 5),
        (1, "=t1", 5),
        (1, "=T1", 0),
        (1, "!=t1", 25),
        (1, "!t1", 25),
        (1, "nothing", 0),
    ],
)
def test_facts_are_filtered(client: Client, column: int, text: str, matching: int) -> None:
    """A filter over numbers compares, one over texts looks for a part or for the whole."""
    page = client.get("/api/facts/edge", **{f"f{column}": text}).json

    assert page["matching"] == matching
    assert page["size"] == 30


def test_records_and_empty_relations_are_shown(client: Client) -> None:
    """A record is shown as its text and can be filtered by it; a relation without columns holds or not."""
    page = client.get("/api/facts/pair", f0="t3", limit=1).json

    assert values(page) == [["[3, t3]"]]
    assert page["rows"][0]["fact"] == 'pair([3, "t3"])'
    assert client.get("/api/facts/any").json["rows"] == [{"values": [], "fact": "any()"}]


def test_several_filters_and_a_sort_go_together(client: Client) -> None:
    """All filters must hold, and what is left is sorted."""
    page = client.get("/api/facts/edge", f0="<20", f1="=t1", sort="-0").json

    assert values(page) == [["15", "t1"], ["8", "t1"], ["1", "t1"]]


@pytest.mark.parametrize(
    ("path", "code", "status"),
    [
        ("/api/facts/edgy", "undeclared-relation", 404),
        ("/api/facts/edge?f0=many", "bad-filter", 400),
        ("/api/facts/edge?sort=9", "bad-request", 400),
        ("/api/facts/edge?f9=x", "bad-request", 400),
        ("/api/facts/edge?offset=-1", "bad-request", 400),
        ("/api/facts/edge?limit=many", "bad-request", 400),
        ("/api/values/edge/5", "bad-request", 400),
        ("/api/epochs/3", "no-such-epoch", 404),
        ("/api/epochs/" + "9" * 5000, "bad-request", 400),
        ("/api/values/path/" + "9" * 5000, "bad-request", 400),
        ("/api/nothing", "no-such-page", 404),
        ("/static/../app.py", "no-such-page", 404),
        ("/static/..%2fapp.py", "no-such-page", 404),
    ],
)
def test_mistakes_are_diagnostics(client: Client, path: str, code: str, status: int) -> None:
    """A request that cannot be answered says why, with a status that fits."""
    reply = client.send("GET", path)

    assert (reply.codes, reply.status) == ([code], status)


def test_values_are_suggested(client: Client) -> None:
    """Values that begin with what was typed come first; only those of the column are offered."""
    assert client.get("/api/values/path/1", typed="A").json["values"] == ["all"]
    assert client.get("/api/values/edge/1", typed="a").json["values"] == []
    assert client.get("/api/values/edge/0", typed="2").json["values"] == ["2", *map(str, range(20, 30))]


def test_rules_come_with_their_places(client: Client) -> None:
    """The text of the program and the lines of every rule and declaration are told."""
    found = client.get("/api/rules").json

    assert found["sources"][0]["text"] == PROGRAM
    first = found["rules"][0]
    assert (first["head"], first["place"]["line"], first["place"]["end_line"]) == ("path", 6, 6)
    assert found["declarations"]["edge"]["line"] == 2


def test_changes_are_one_epoch(client: Client) -> None:
    """Facts as text and as values of a form are inserted and deleted together, and the delta is told."""
    body = {
        "insert": ['edge(100, "x")', {"relation": "edge", "values": ["101", 'quo"ted']}],
        "delete": ["edge(0, 't0')", "edge(77, 'absent')"],
    }

    epoch = client.post("/api/changes", body).json

    assert (epoch["epoch"], epoch["inserted"], epoch["deleted"]) == (1, 8, 4)
    assert epoch["changes"] == [{"name": "edge", "inserted": 2, "deleted": 1}]
    assert epoch["without_effect"] == [{"name": "edge", "inserted": 0, "deleted": 1}]
    assert {each["name"] for each in epoch["relations"]} == {"edge", "path", "pair"}
    inserted = client.get("/api/epochs/1/path", side="inserted").json
    assert values(inserted) == [["100", "all"], ["100", "x"], ["101", "all"], ["101", 'quo"ted']]
    assert values(client.get("/api/epochs/1/path", side="deleted").json) == [["0", "all"], ["0", "t0"]]
    assert client.get("/api/facts/edge", f0=">=100").json["matching"] == 2
    assert [each["epoch"] for each in client.get("/api/epochs").json["epochs"]] == [1]


def test_an_epoch_is_taken_back(client: Client) -> None:
    """The opposite changes are applied, as another epoch."""
    before = values(client.get("/api/facts/path", limit=1000).json)
    client.post("/api/changes", {"insert": ["edge(100, 'x')"], "delete": ["edge(0, 't0')"]})

    epoch = client.post("/api/changes", {"take_back": 1}).json

    assert epoch["epoch"] == 2
    assert values(client.get("/api/facts/path", limit=1000).json) == before


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "bad-request"),
        ({"insert": "edge(1, 'x')"}, "bad-request"),
        ({"insert": [7]}, "bad-request"),
        ({"insert": [{"relation": "edge", "values": ["1"]}]}, "wrong-arity"),
        ({"insert": [{"relation": "nothing", "values": ["1"]}]}, "undeclared-relation"),
        ({"insert": [{"relation": "edge", "values": ["many", "x"]}]}, "malformed-value"),
        ({"insert": ["path(1, 'x')"]}, "not-an-input"),
        ({"insert": ["edge(1"]}, "syntax"),
        ({"insert": ["edge(1, '\ud800')"]}, "bad-request"),
        ({"take_back": 9}, "no-such-epoch"),
        ([], "bad-request"),
    ],
)
def test_wrong_changes_change_nothing(client: Client, body: object, code: str) -> None:
    """A mistake in the changes is told and no epoch happens."""
    reply = client.post("/api/changes", body)

    assert code in reply.codes
    assert reply.status in (400, 404)
    assert client.get("/api/session").json["epoch"] == 0


def test_long_values_are_cut(db: Session) -> None:
    """A text is shown up to a limit, and a fact that is too long cannot be asked about."""
    db.apply(insert={"edge": [(1000, "x" * 5000), (1001, "y" * 200_000)]})
    with serving(db) as client:
        page = client.get("/api/facts/edge", f0=">=1000").json

    assert [len(row["values"][1]) for row in page["rows"]] == [4001, 4001]
    assert page["rows"][0]["fact"] is not None
    assert page["rows"][1]["fact"] is None


def test_pages_of_a_large_relation_are_stored_order_until_sorted() -> None:
    """A large relation is shown as stored, and sorted when asked; both give every fact once."""
    rows = [(number * 7919 % 300_007, f"s{number % 11}") for number in range(300_000)]
    with tidelog.open(PROGRAM.partition(".decl pair")[0], facts={"edge": rows}) as db, serving(db) as client:
        stored = client.get("/api/facts/edge", limit=1000, offset=299_000).json
        first = client.get("/api/facts/edge", sort="0", limit=3).json
        last = client.get("/api/facts/edge", sort="0", limit=10, offset=299_990).json
        narrow = client.get("/api/facts/edge", sort="-0", f1="=s3", f0="<1000").json

    assert (stored["order"], len(stored["rows"])) == ("stored", 1000)
    ordered = sorted(rows)
    assert values(first) == [[str(x), y] for x, y in ordered[:3]]
    assert values(last) == [[str(x), y] for x, y in ordered[-10:]]
    wanted = sorted(((x, y) for x, y in rows if y == "s3" and x < 1000), reverse=True)
    assert values(narrow)[:5] == [[str(x), y] for x, y in wanted[:5]]


def test_the_cache_follows_epochs_and_its_bound(db: Session) -> None:
    """Pages show the present epoch, also where nothing can be kept between requests."""
    with serving(db, WebSettings(may_write=True, limits=Limits(cache_bytes=0))) as client:
        assert client.get("/api/facts/edge", sort="-0", limit=1).json["rows"][0]["values"][0] == "29"
        client.post("/api/changes", {"insert": ["edge(500, 'x')"]})
        assert client.get("/api/facts/edge", sort="-0", limit=1).json["rows"][0]["values"][0] == "500"


def test_the_profile_has_rules_and_pictures_if_it_was_measured(db: Session) -> None:
    """Without measuring there are strata; with it rules, operators and three pictures."""
    facts = {"edge": [(number, f"t{number % 7}") for number in range(30)]}

    with serving(db, WebSettings()) as client:
        plain = client.get("/api/profile").json
    with (
        tidelog.open(PROGRAM, facts=facts, profile=True) as measured,
        serving(measured, WebSettings()) as client,
    ):
        profile = client.get("/api/profile").json
        drawn = client.get("/api/profile/flame.svg")
        missing = client.get("/api/profile/none.svg")

    assert not plain["is_measured"]
    assert plain["strata"]
    assert plain["rules"] == []
    assert profile["is_measured"]
    assert drawn.headers["content-type"].startswith("image/svg+xml")
    assert missing.status == 400
    assert any(each["text"] == "path(x, y) :- edge(x, y)." for each in profile["rules"])
    assert profile["operators"][0]["seconds"] >= profile["operators"][1]["seconds"]
