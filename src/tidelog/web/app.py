"""The explorer over HTTP: which address asks for what."""

import json
import os
import traceback
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from string import Template
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from tidelog.errors import TidelogError
from tidelog.session import Session
from tidelog.web.explorer import SessionExplorer
from tidelog.web.faults import plain_blame, plain_repair
from tidelog.web.guard import Pass, RequestGuard
from tidelog.web.pages import PageRequest
from tidelog.web.profile import plain_profile, profile_picture
from tidelog.web.replies import Plain, error_reply, json_reply, mistake
from tidelog.web.settings import WebSettings, check_settings
from tidelog.web.workers import RequestWorkers

STATIC: Final = Path(__file__).parent / "static"
_MOST_FILTER_CHARACTERS: Final = 1000

Handler = Callable[[Request], Awaitable[Response]]
Body = dict[str, Any]


def make_app(session: Session, settings: WebSettings | None = None, title: str = "program") -> ASGIApp:
    """Return the explorer of a session as an ASGI application, with all its checks.

    Mount it at the root of a host only. The caller closes the session.
    """
    settings = settings or WebSettings()
    check_settings(settings)
    explorer = SessionExplorer(session, settings, title)
    workers = RequestWorkers(settings.limits)
    routes = [
        Route("/", _page("index.html")),
        Route("/login", _log_in(settings), methods=["GET", "POST"]),
        *_reading(explorer, workers),
        *_asking(explorer, workers),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> Any:
        yield
        workers.close()

    handlers: dict[Any, Any] = {HTTPException: _not_found, Exception: _internal, TidelogError: _mistake}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    return RequestGuard(app, settings)


def _reading(explorer: SessionExplorer, workers: RequestWorkers) -> list[Route]:
    """Return the addresses that only look."""

    def get(path: str, answer: Callable[[Request], Plain]) -> Route:
        async def endpoint(request: Request) -> Response:
            return json_reply(await workers.run(lambda: answer(request)))

        return Route(path, endpoint, methods=["GET"])

    def epoch_facts(request: Request) -> Plain:
        number, name = _number(request.path_params["epoch"]), request.path_params["name"]
        is_inserted = request.query_params.get("side", "inserted") == "inserted"
        return explorer.epoch_facts(number, name, _page_request(request), is_inserted=is_inserted)

    async def picture(request: Request) -> Response:
        name = request.path_params["name"]
        drawn = await workers.run(lambda: profile_picture(explorer.session, name))
        return Response(drawn, media_type="image/svg+xml", headers={"cache-control": "no-cache"})

    return [
        get("/api/session", lambda _: explorer.about()),
        get("/api/rules", lambda _: explorer.rules()),
        get("/api/facts/{name}", lambda r: explorer.facts(r.path_params["name"], _page_request(r))),
        get(
            "/api/values/{name}/{column}",
            lambda r: explorer.values(
                r.path_params["name"],
                _number(r.path_params["column"]),
                r.query_params.get("typed", "")[:_MOST_FILTER_CHARACTERS],
            ),
        ),
        get("/api/profile", lambda _: plain_profile(explorer.session)),
        Route("/api/profile/{name}.svg", picture, methods=["GET"]),
        get("/api/epochs", lambda _: explorer.timeline()),
        get("/api/epochs/{epoch}", lambda r: explorer.epoch(_number(r.path_params["epoch"]))),
        get("/api/epochs/{epoch}/{name}", epoch_facts),
    ]


def _asking(explorer: SessionExplorer, workers: RequestWorkers) -> list[Route]:
    """Return the addresses that take a body."""
    limit = explorer.settings.limits.body_bytes

    def post(path: str, answer: Callable[[Body], Plain]) -> Route:
        async def endpoint(request: Request) -> Response:
            body = await _body(request, limit)
            return json_reply(await workers.run(lambda: answer(body)))

        return Route(path, endpoint, methods=["POST"])

    return [
        post("/api/changes", explorer.change),
        post("/api/why", explorer.questions.why),
        post("/api/derivations", explorer.questions.derivations),
        post("/api/support", explorer.questions.support),
        post("/api/why-not", explorer.questions.why_not),
        post("/api/blame", lambda body: plain_blame(explorer.session, body)),
        post("/api/repair", lambda body: plain_repair(explorer.session, body)),
    ]


async def _data(request: Request, most: int) -> bytes:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > most:
            raise mistake("request-too-large", f"a request has at most {most:,} bytes")
    return bytes(data)


async def _body(request: Request, most: int) -> Body:
    """Return the JSON object of a request; a body that grows too long is not read to its end."""
    try:
        body = json.loads(await _data(request, most))
        # Half a surrogate pair is not text.
        json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as cause:
        raise mistake("bad-request", "the body is not JSON") from cause
    if not isinstance(body, dict):
        raise mistake("bad-request", "the body is not a JSON object")
    return body


def _page_request(request: Request) -> PageRequest:
    """Return which page the address asks for: `?offset=0&limit=100&sort=1,-0&f0=text&f1=>5`.

    A minus before the number of a column sorts it from the largest to the smallest.
    """
    asked = request.query_params
    sorts = [
        (_number(part.removeprefix("-")), part.startswith("-"))
        for part in asked.get("sort", "").split(",")
        if part
    ]
    filters = [
        (_number(key[1:]), text[:_MOST_FILTER_CHARACTERS])
        for key, text in asked.items()
        if key.startswith("f") and key[1:].isdecimal() and text
    ]
    offset, limit = _number(asked.get("offset", "0")), _number(asked.get("limit", "100"))
    return PageRequest(offset, limit, tuple(sorts), tuple(sorted(filters)))


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 15:
        raise mistake("bad-request", f"`{text[:40]}` is not a valid number; it must be 0 or more")
    return int(text)


def _page(name: str) -> Handler:
    async def page(_: Request) -> Response:
        return FileResponse(STATIC / name, headers={"cache-control": "no-cache"})

    return page


def _log_in(settings: WebSettings) -> Handler:
    """Return the page that asks for the token, and gives a cookie for it."""

    async def log_in(request: Request) -> Response:
        if settings.token is None:
            return RedirectResponse("/", status_code=303)
        if request.method == "GET":
            is_wrong = "wrong" in request.query_params
            page = Template((STATIC / "login.html").read_text(encoding="utf-8")).substitute(
                kind="wrong" if is_wrong else "asked",
                role="alert" if is_wrong else "note",
                message="That is not the token." if is_wrong else "This explorer asks for its token.",
            )
            return HTMLResponse(page, headers={"cache-control": "no-store"})
        data = await _data(request, settings.limits.body_bytes)
        token = parse_qs(data.decode(errors="replace")).get("token", [""])[0]
        admission = Pass(settings.token, settings.port)
        if not admission.is_token(token):
            return RedirectResponse("/login?wrong", status_code=303)
        reply = RedirectResponse("/", status_code=303)
        reply.set_cookie(admission.cookie, admission.stamp, httponly=True, samesite="strict")
        return reply

    return log_in


async def _mistake(_: Request, error: Exception) -> Response:
    assert isinstance(error, TidelogError)
    return error_reply(error)


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    reply = error_reply(mistake("no-such-page", f"there is nothing at `{request.url.path[:200]}`"))
    reply.status_code = error.status_code
    return reply


async def _internal(_: Request, error: Exception) -> Response:
    if os.environ.get("TIDELOG_DEBUG") == "1":
        traceback.print_exception(error)
    words = " ".join(str(error).split())
    return error_reply(
        mistake(
            "internal-error",
            f"{type(error).__name__}: {words}",
            "this is our mistake; please report it with the program",
        )
    )
