"""Requests to the explorer, as a browser, a stranger or a broken client sends them.

Whatever comes, the reply is whole, is no 500 and has the headers that protect it; and what does not
carry the token, or comes under a foreign name, learns nothing.
"""

import asyncio
import json
import os
import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final
from urllib.parse import quote, unquote

from starlette.types import ASGIApp, Message

import tidelog
from tidelog.session import Session
from tidelog.web import WebSettings, make_app
from torture.fuzzing import FuzzKind
from torture.mutation import NUMBERS, STRANGE, mutate
from torture.shrinking import Parts

PROGRAM: Final = """
.type Pair = [l: number, r: symbol]
.decl edge(x: number, y: number)
.input edge
.decl name(x: number, s: symbol)
.input name
.decl pair(p: Pair, f: float)
.input pair
.decl flag()
.input flag
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl quiet(x: number)
quiet(x) :- name(x, _), !path(x, _).
"""
TOKEN: Final = "a token that nobody guesses"  # noqa: S105 - of this fuzzer
SECRET: Final = "something that only facts hold"  # noqa: S105 - what must not be told
# What a visitor without the token may load.
OPEN_PATHS: Final = ("/login", "/static/base.css", "/static/login.css", "/static/icon.svg")
OWN_NAMES: Final = ("localhost", "127.0.0.1", "::1")

_METHODS: Final = (*("GET",) * 3, *("POST",) * 3, "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "get", "X")
_KINDS: Final = ("application/json", "application/json", "application/json; x", "text/plain", "")
_HOSTS: Final = ("127.0.0.1:8421", "localhost:8421", "localhost", "[::1]:8421")
_WRONG_HOSTS: Final = ((), ("host: evil.example",), ("host: localhost.evil.example:8421",), ("host: ",))
_OTHERS: Final = (
    *("content-length: 5", "content-length: -1", "content-length: ٣", "content-length: " + "9" * 5000),
    *("origin: http://127.0.0.1:8421", "origin: http://evil.example", "origin: null"),
    *("sec-fetch-site: cross-site", "sec-fetch-site: same-origin", "range: bytes=0-5", "range: bytes=9-1"),
    *("if-none-match: *", "range: x", "if-modified-since: yesterday", "accept-encoding: gzip"),
    *("transfer-encoding: chunked", "x: " + "y" * 9000),
)
_WRONG_TOKENS: Final = (
    *(f"authorization: Bearer {TOKEN[:-1]}", "authorization: Bearer ", "authorization: Basic x"),
    *("cookie: tidelog_8421=", "cookie: tidelog_8421=0", 'cookie: ;;="', f"x-token: {TOKEN[1:]}"),
    *("authorization: bearer é", "cookie: é=\xff"),
)
_LONG_BODIES: Final = ("[" * 200_000, '{"fact":"' + "a" * 300_000 + '"}', "x" * (1 << 21), '{"a":' * 2000)
_READS: Final = (
    *("/", "/login", "/login?wrong", "/api/session", "/api/rules", "/api/epochs", "/api/epochs/1"),
    "/api/epochs/9",
    *("/api/facts/edge", "/api/facts/path?limit=2&offset=1&sort=1,-0", "/api/facts/name?f1=a&f0=>1"),
    "/static/main.js",
    *("/api/facts/pair?f0=[1&sort=-0", "/api/facts/pair?f1=0.5..2", "/api/values/name/1?typed=so"),
    "/api/facts/flag",
    *("/api/values/edge/0", "/api/epochs/" + "9" * 5000, "/api/values/edge/" + "9" * 5000),
    *("/api/epochs/1/edge?side=deleted", "/api/epochs/2/path", "/static/", "/static/../app.py"),
    *("/api/facts/undef_Node_T", "/api/facts/", "/api/values/pair/0?typed=[", "/favicon.ico", "//"),
    "/api//session",
    *("/api/query?q=path(1, x)", "/api/query?q=edge(x, _), x > 1&sort=-0", "/api/trials/1/edge?side=deleted"),
    *(
        "/api/download/facts/edge.csv",
        "/api/download/query.json?q=path(x, y)",
        "/api/download/facts/name.parquet",
    ),
    *("/api/download/proof/text?fact=path(1, 3)", "/api/download/epochs/1/edge.csv?side=deleted"),
)
_ASKS: Final = {
    "/api/preview": (
        {"insert": ["edge(1, 7)"], "add_rules": ".decl two(x: number)\ntwo(x) :- edge(x, _)."},
        {"delete": ["edge(1, 2)"], "remove_rules": [1]},
        {"add_rules": '.include "/etc/passwd"'},
    ),
    "/api/check": (
        {"insert": [{"relation": "name", "values": ["1", "x"]}]},
        {"add_rules": "path(x, y) :- edge(x"},
    ),
    "/api/steps": ({"fact": "path(1, 3)", "path": [0], "offset": 0, "limit": 3},),
    "/api/proof-graph": ({"fact": "path(1, 3)"},),
    "/api/witness": ({"pattern": "path(1, _)"}, {"pattern": "path(x, [_])"}),
    "/api/changes": (
        {"insert": ["edge(1, 7)"]},
        {"insert": [{"relation": "name", "values": ["1", "x"]}], "delete": ["edge(1, 2)"]},
        {"take_back": 1},
        {"insert": [{"relation": "pair", "values": ["[1, a]", "nan"]}]},
    ),
    "/api/why": (
        {"fact": "path(1, 3)"},
        {"fact": "path(1, 3)", "depth": 3, "path": [0]},
        {"fact": "edge(1, 2)", "derivation": 0},
    ),
    "/api/derivations": ({"fact": "path(1, 3)"},),
    "/api/support": ({"fact": "path(1, 3)"},),
    "/api/why-not": ({"fact": "path(9, 9)", "depth": 2}, {"fact": "quiet(1)"}),
    "/api/blame": ({"unwanted": ["path(1, 3)"], "epoch": 1}, {"missing": ["edge(x, y)"], "epoch": [0, 2]}),
    "/api/repair": ({"unwanted": ["path(1, 3)"], "epoch": 1, "alternatives": 2, "reject": []},),
    "/login": ({"token": TOKEN},),
}
_WORDS: Final = (
    *("/", "?", "&", "=", "..", "%2e%2e", "%00", "%ff", "%", "+", ",", "-", "0", "-1", "1", "f0", "f1"),
    *("sort", "limit"),
    *("offset", "side", "typed", "api", "facts", "static", "<", ">", "!=", "~", "[", "nil", '"', "{"),
    *("}", ":", "null"),
    *("true", "[]", "{}", '"fact"', '"path"', '"depth"', "1e999", "NaN", '"\\ud800"', "edge(1, 2)"),
    *("path(x, y)", "#"),
)


def make(chance: random.Random) -> Parts:
    """Return the settings, and the method, target, headers and body of a request, as Latin-1."""
    settings = chance.choice(("open", "open write", "token", "token write"))
    method = chance.choice(_METHODS)
    body = ""
    if method == "POST" or chance.random() < 0.1:
        target = chance.choice(list(_ASKS))
        body = json.dumps(chance.choice(_ASKS[target]))
    else:
        target = chance.choice(_READS)
    words = (*_WORDS, chance.choice(NUMBERS), chance.choice(STRANGE))
    target = mutate(chance, target, words, chance.choice((0, 0, 1, 1, 2, 5)))
    body = mutate(chance, body, words, chance.choice((0, 0, 0, 1, 2, 5)))
    if chance.random() < 0.01:
        body = chance.choice(_LONG_BODIES)
    target = quote(target, safe="/?&=%+,-~.:!*()<>[]'\"")
    return settings, method, target, _headers(chance, settings), body.encode().decode("latin-1")


def _headers(chance: random.Random, settings: str) -> str:
    """Return header lines, most often such as are let through."""
    lines = [f"host: {chance.choice(_HOSTS)}"]
    if chance.random() < 0.15:
        lines = [*chance.choice(_WRONG_HOSTS), *chance.choice(((), ("host: localhost",)))]
    if "token" in settings:
        right = f"authorization: Bearer {TOKEN}"
        lines.append(right if chance.random() < 0.7 else chance.choice(_WRONG_TOKENS))
    lines.append(f"content-type: {chance.choice(_KINDS)}")
    if chance.random() < 0.3:
        lines.append(chance.choice(_OTHERS))
    return "\n".join(lines)


def attempt(settings: str, method: str, target: str, headers: str, body: str) -> None:
    """Send a request and judge the reply."""
    pairs = [
        (name.strip().lower(), value.strip())
        for name, _, value in (line.partition(":") for line in headers.split("\n"))
        if name.strip()
    ]
    session, app = explorer_of(os.getpid(), settings)
    path, _, query = target.partition("?")
    sent: list[Message] = []
    run(app, scope_of(method, path, query, pairs), body.encode("latin-1", "replace"), sent)
    judge(settings, path, pairs, sent)
    if session.epoch != 2:
        session.close()
        explorer_of.cache_clear()


def scope_of(method: str, path: str, query: str, pairs: Sequence[tuple[str, str]]) -> dict[str, object]:
    """Return a request as a server hands it to an application."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode("latin-1", "replace"),
        "query_string": query.encode("latin-1", "replace"),
        "root_path": "",
        "headers": [
            (name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in pairs
        ],
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 8421),
    }


def run(app: ASGIApp, scope: dict[str, object], body: bytes, sent: list[Message]) -> None:
    """Let the application answer one request."""
    pieces = [body[: len(body) // 2], body[len(body) // 2 :]]
    has_ended = asyncio.Event()

    async def receive() -> Message:
        if not pieces:
            # Whoever asks stays until the reply has ended: to somebody who left nothing need be sent.
            await has_ended.wait()
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            has_ended.set()

    loop_of(os.getpid()).run_until_complete(app(scope, receive, send))


def judge(settings: str, path: str, pairs: Sequence[tuple[str, str]], sent: Sequence[Message]) -> None:
    """Check that a reply is whole and protected, and tells nothing to who may not ask."""
    starts = [message for message in sent if message["type"] == "http.response.start"]
    assert len(starts) == 1, "a reply begins once"
    assert not sent[-1].get("more_body", False), "a reply ends"
    status = starts[0]["status"]
    content = b"".join(message.get("body", b"") for message in sent)
    replied: Mapping[bytes, bytes] = dict(starts[0]["headers"])
    assert status < 500, f"the reply is a {status}"
    assert b"Traceback" not in content, "a reply holds a traceback"
    assert b"content-security-policy" in replied, "every reply is protected"
    hosts = [value for name, value in pairs if name == "host"]
    if not any(is_own_name(host) for host in hosts):
        assert status == 403, f"a foreign host got a {status}"
    is_told = any(TOKEN in value for _, value in pairs)
    if "token" in settings and not is_told:
        is_open = unquote(path) in OPEN_PATHS
        assert is_open or status in {303, 401, 403}, f"without a token the reply is a {status}"
        assert SECRET.encode() not in content, "without a token facts are told"


def is_own_name(host: str) -> bool:
    """Say whether a host header names this machine."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return name.lower() in OWN_NAMES


@cache
def loop_of(_process: int) -> asyncio.AbstractEventLoop:
    """Return the event loop of this process."""
    return asyncio.new_event_loop()


@cache
def explorer_of(_process: int, settings: str) -> tuple[Session, ASGIApp]:
    """Return an explorer over a session with two epochs, the same one as long as nothing is changed."""
    pairs = [((1, "a"), 0.5), (None, float("nan"))]
    facts = {"edge": [(1, 2)], "name": [(1, SECRET), (7, "b")], "pair": pairs}
    session = tidelog.open(PROGRAM, facts=facts, jobs=1)
    session.apply("+edge(2, 3). +flag().")
    session.apply("-edge(2, 3). +edge(2, 4).")
    token = TOKEN if "token" in settings else None
    return session, make_app(session, WebSettings(token=token, may_write="write" in settings))


def load() -> None:
    """Load the kernels; the explorers themselves have threads, and are made in each child."""
    session, _ = explorer_of(0, "open")
    for question in ("path(1, 2)", "path(1, 4)"):
        session.why(question)
    session.why_not("path(9, 9)")
    session.blame(unwanted="path(1, 4)", epoch=2)
    session.repair(unwanted="path(1, 4)", epoch=2)


KIND: Final = FuzzKind("fuzz-http", make, attempt, load)
