"""Who may ask the explorer for what, and how much."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

import tidelog
from support.web_serving import serving
from tidelog.errors import TidelogError
from tidelog.session import Session
from tidelog.web import Limits, WebSettings, check_settings, make_app
from tidelog.web.explorer import SessionExplorer
from tidelog.web.server import address_of, open_listener

PROGRAM = ".decl edge(x: number, y: number)\n.input edge\n"
TOKEN = "a token that nobody guesses"  # noqa: S105 - of these tests
CHANGE = {"insert": ["edge(1, 2)"]}


@pytest.fixture
def db() -> Iterator[Session]:
    """Return a session without facts."""
    with tidelog.open(PROGRAM) as session:
        yield session


def codes(error: pytest.ExceptionInfo[TidelogError]) -> list[str]:
    """Return the codes of an error."""
    return [each.code for each in error.value.diagnostics]


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (WebSettings(host="0.0.0.0"), "token-required"),  # noqa: S104 - refused
        (WebSettings(host="192.168.1.5"), "token-required"),
        (WebSettings(host="example.org"), "token-required"),
        (WebSettings(host="::"), "token-required"),
        (WebSettings(token="short"), "weak-token"),  # noqa: S106 - refused
        (WebSettings(token="ein langer Schlüssel"), "weak-token"),  # noqa: S106 - refused
    ],
)
def test_other_machines_need_a_token(db: Session, settings: WebSettings, code: str) -> None:
    """Without a token, or with a weak one, nothing but loopback is served."""
    with pytest.raises(TidelogError) as error:
        check_settings(settings)

    assert codes(error) == [code]
    with pytest.raises(TidelogError):
        make_app(db, settings)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]"])
def test_loopback_needs_none(host: str) -> None:
    """This machine is served without a token."""
    check_settings(WebSettings(host=host))

    assert address_of(WebSettings(host=host)).startswith("http://")


def test_nothing_is_told_without_the_token(db: Session) -> None:
    """With a token every answer needs it; the page leads to a form that asks for it."""
    with serving(db, WebSettings(token=TOKEN)) as client:
        for path in ("/api/session", "/api/facts/edge", "/static/main.js", "/api/nothing"):
            assert client.get(path).codes == ["wrong-token"]
        page = client.get("/")
        wrong = client.send("GET", "/api/session", headers={"authorization": "Bearer something else"})
        right = client.send("GET", "/api/session", headers={"authorization": f"Bearer {TOKEN}"})

    assert (page.status, page.headers["location"]) == (303, "/login")
    assert wrong.status == 401
    assert right.status == 200


def test_the_form_gives_a_cookie(db: Session) -> None:
    """The right token gives a cookie that scripts cannot read and other sites do not send."""
    form = {"content-type": "application/x-www-form-urlencoded"}
    with serving(db, WebSettings(token=TOKEN)) as client:
        asked, told_wrong = client.get("/login").body, client.send("GET", "/login?wrong").body
        wrong = client.send("POST", "/login", b"token=another+one", form)
        right = client.send("POST", "/login", f"token={TOKEN.replace(' ', '+')}".encode(), form)
        cookie = right.headers["set-cookie"]
        told = client.send("GET", "/api/session", headers={"cookie": cookie.partition(";")[0]})
        forged = client.send("GET", "/api/session", headers={"cookie": f"tidelog_{client.port}=0"})

    assert b"<form" in asked
    assert b"<form" in told_wrong
    assert (b"That is not the token" in asked, b"That is not the token" in told_wrong) == (False, True)
    assert wrong.headers["location"] == "/login?wrong"
    assert "set-cookie" not in wrong.headers
    assert TOKEN not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert (told.status, forged.status) == (200, 401)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:8421", 200),
        ("[::1]:8421", 200),
        ("evil.example", 403),
        ("evil.example:8421", 403),
        ("127.0.0.1.evil.example", 403),
        ("10.0.0.1", 403),
        ("", 403),
    ],
)
def test_the_host_must_be_ours(db: Session, host: str, status: int) -> None:
    """A name that was rebound to this machine is refused."""
    with serving(db) as client:
        reply = client.send("GET", "/api/session", headers={"host": host})

    assert reply.status == status


@pytest.mark.parametrize(
    ("host", "status"), [("10.0.0.1", 200), ("[fe80::1]", 200), ("proxy.example", 200), ("evil.example", 403)]
)
def test_other_names_must_be_named(db: Session, host: str, status: int) -> None:
    """Beyond loopback an address is fine, for it cannot be rebound, and so are the names allowed."""
    settings = WebSettings(host="0.0.0.0", token=TOKEN, allowed_hosts=("proxy.example",))  # noqa: S104 - a test's
    with serving(db, settings) as client:
        headers = {"host": host, "authorization": f"Bearer {TOKEN}"}
        reply = client.send("GET", "/api/session", headers=headers)

    assert reply.status == status


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_other_sites_cannot_write(db: Session, headers: dict[str, str]) -> None:
    """A change that a page of another origin sends is refused, whatever it is."""
    with serving(db, WebSettings(may_write=True)) as client:
        reply = client.post("/api/changes", CHANGE, **headers)

    assert reply.codes == ["foreign-origin"]
    assert db.epoch == 0


def test_our_own_page_can_write(db: Session) -> None:
    """The origin of the explorer itself is accepted."""
    with serving(db, WebSettings(may_write=True)) as client:
        own = client.address.rstrip("/")
        reply = client.post("/api/changes", CHANGE, origin=own, sec_fetch_site="same-origin")

    assert reply.status == 200
    assert db.epoch == 1


def test_a_form_of_another_site_is_no_request(db: Session) -> None:
    """A body that is not declared as JSON is not read: browsers send such bodies without asking."""
    with serving(db, WebSettings(may_write=True)) as client:
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            sent = {"content-type": kind}
            assert client.send("POST", "/api/changes", b"{}", sent).codes == ["bad-request"]

    assert db.epoch == 0


def test_without_write_nothing_changes(db: Session) -> None:
    """An explorer is read-only unless it was told otherwise."""
    with serving(db) as client:
        reply = client.post("/api/changes", CHANGE)

    assert (reply.codes, reply.status) == (["read-only-explorer"], 403)
    assert db.epoch == 0


def test_methods_are_checked(db: Session) -> None:
    """An address takes the methods it was made for."""
    with serving(db, WebSettings(may_write=True)) as client:
        assert client.get("/api/changes").status == 405
        assert client.post("/api/session", {}).status == 405
        assert client.send("DELETE", "/api/facts/edge").codes == ["bad-request"]


def test_bodies_have_a_limit(db: Session) -> None:
    """A body that is declared too long, or turns out to be, is not read to its end."""
    with serving(db, WebSettings(may_write=True, limits=Limits(body_bytes=1000))) as client:
        declared = client.post("/api/changes", {"insert": ["edge(1, 2)"] * 1000})
        kind = {"content-type": "application/json", "transfer-encoding": "chunked"}
        chunks = b"".join(b"400\r\n" + b" " * 1024 + b"\r\n" for _ in range(4)) + b"0\r\n\r\n"
        streamed = client.send("POST", "/api/changes", chunks, kind)

    assert (declared.codes, declared.status) == (["request-too-large"], 413)
    assert streamed.codes == ["request-too-large"]


def test_pages_have_a_limit(db: Session) -> None:
    """However many facts are asked for, a page has no more than the limit."""
    db.apply(insert={"edge": [(number, number) for number in range(100)]})
    with serving(db, WebSettings(limits=Limits(page_rows=20))) as client:
        page = client.get("/api/facts/edge", limit=1_000_000).json

    assert (page["limit"], len(page["rows"]), page["matching"]) == (20, 20, 100)


def test_slow_and_many_requests_are_told(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that takes too long is answered, and so is one that comes when too many wait."""
    free = threading.Event()
    monkeypatch.setattr(SessionExplorer, "rules", lambda _self: {"waited": free.wait(20)})
    limits = Limits(wait_seconds=0.2, threads=1, waiting_requests=1)
    with serving(db, WebSettings(limits=limits)) as client:
        slow = client.get("/api/rules")
        crowded = client.get("/api/session")
        page = client.get("/")
        free.set()
        while (later := client.get("/api/session")).status == 503:
            time.sleep(0.01)

    assert (slow.codes, slow.status) == (["request-too-slow"], 503)
    assert crowded.codes == ["explorer-busy"]
    assert page.status == 200
    assert later.status == 200


def test_a_mistake_of_ours_is_no_traceback(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong inside is one diagnostic, and the explorer goes on."""

    def fail(_: SessionExplorer) -> object:
        raise KeyError("edge")

    monkeypatch.setattr(SessionExplorer, "rules", fail)
    with serving(db) as client:
        failed = client.get("/api/rules")
        after = client.get("/api/session")

    assert (failed.codes, failed.status) == (["internal-error"], 500)
    assert b"Traceback" not in failed.body
    assert after.status == 200


def test_every_reply_has_the_policy(db: Session) -> None:
    """No script or style but our own files, no frames, no guesses about types; also on mistakes."""
    with serving(db) as client:
        for path in ("/", "/static/main.js", "/api/session", "/api/nothing"):
            headers = client.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "script-src 'self'" in policy
            assert "unsafe" not in policy
            assert "require-trusted-types-for 'script'" in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert "server" not in headers


def test_a_port_that_is_taken_is_told() -> None:
    """Listening where another program listens is a diagnostic."""
    with open_listener(WebSettings(port=0)) as listener, pytest.raises(TidelogError) as error:
        open_listener(WebSettings(port=listener.getsockname()[1]))

    assert codes(error) == ["cannot-listen"]


async def _reply_to(app, path: str, length: str) -> int:
    """Return the status of the reply to a POST request whose headers no server has looked at."""
    sent = []
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    headers.append((b"content-length", length.encode()))
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"]


def test_a_length_of_thousands_of_digits_is_too_large(db: Session) -> None:
    """A length that Python would not even read as a number is refused like any other too large one."""
    app = make_app(db)

    assert asyncio.run(_reply_to(app, "/api/why", "9" * 5000)) == 413
