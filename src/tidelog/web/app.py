"""The explorer over HTTP: which address asks for what."""

import os
import traceback
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from string import Template
from typing import Any, Final
from urllib.parse import parse_qs, quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from tidelog.errors import TidelogError
from tidelog.session import Session
from tidelog.web.downloads import MEDIA_TYPES
from tidelog.web.epochs import delta_listing, find_delta
from tidelog.web.explorer import SessionExplorer
from tidelog.web.faults import plain_blame, plain_repair
from tidelog.web.guard import Pass, RequestGuard
from tidelog.web.live import LiveFeed
from tidelog.web.pages import Listing
from tidelog.web.profile import plain_profile, profile_picture
from tidelog.web.replies import Plain, error_reply, json_reply, mistake
from tidelog.web.requests import MOST_FILTER_CHARACTERS, Body, number_in, page_request, read_body, read_data
from tidelog.web.settings import WebSettings, check_settings
from tidelog.web.workers import RequestWorkers

STATIC: Final = Path(__file__).parent / "static"

Handler = Callable[[Request], Awaitable[Response]]


def make_app(session: Session, settings: WebSettings | None = None, title: str = "program") -> ASGIApp:
    """Return the explorer of a session as an ASGI application, with all its checks.

    Mount it at the root of a host only. The caller closes the session.
    """
    return make_live_app(session, settings or WebSettings(), title)[0]


def make_live_app(session: Session, settings: WebSettings, title: str) -> tuple[ASGIApp, LiveFeed]:
    """Return the application, and the feed that must be closed before the server can end."""
    check_settings(settings)
    explorer = SessionExplorer(session, settings, title)
    workers = RequestWorkers(settings.limits)
    feed = LiveFeed(session)
    routes = [
        Route("/", _page("index.html")),
        Route("/login", _log_in(settings), methods=["GET", "POST"]),
        Route("/api/live", _listen(feed), methods=["GET"]),
        *_reading(explorer, workers),
        *_asking(explorer, workers),
        *_taking(explorer, workers),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> Any:
        yield
        feed.close()
        workers.close()

    handlers: dict[Any, Any] = {HTTPException: _not_found, Exception: _internal, TidelogError: _mistake}
    # Pages of facts are texts that repeat themselves; events are left as they are.
    compressed = Middleware(GZipMiddleware, minimum_size=1000, compresslevel=4)
    app = Starlette(routes=routes, middleware=[compressed], exception_handlers=handlers, lifespan=lifespan)
    return RequestGuard(app, settings), feed


def _reading(explorer: SessionExplorer, workers: RequestWorkers) -> list[Route]:
    """Return the addresses that only look."""

    def get(path: str, answer: Callable[[Request], Plain]) -> Route:
        async def endpoint(request: Request) -> Response:
            return json_reply(await workers.run(lambda: answer(request)))

        return Route(path, endpoint, methods=["GET"])

    def epoch_facts(request: Request) -> Plain:
        number, name = number_in(request.path_params["epoch"]), request.path_params["name"]
        return explorer.epoch_facts(number, name, page_request(request), is_inserted=_is_inserted(request))

    def trial_facts(request: Request) -> Plain:
        number, name = number_in(request.path_params["trial"]), request.path_params["name"]
        return explorer.trial_facts(number, name, page_request(request), is_inserted=_is_inserted(request))

    async def picture(request: Request) -> Response:
        name = request.path_params["name"]
        drawn = await workers.run(lambda: profile_picture(explorer.session, name))
        return Response(drawn, media_type="image/svg+xml", headers={"cache-control": "no-cache"})

    return [
        get("/api/session", lambda _: explorer.about()),
        get("/api/rules", lambda _: explorer.rules()),
        get("/api/facts/{name}", lambda r: explorer.facts(r.path_params["name"], page_request(r))),
        get("/api/query", lambda r: explorer.query(r.query_params.get("q", ""), page_request(r))),
        get(
            "/api/values/{name}/{column}",
            lambda r: explorer.values(
                r.path_params["name"],
                number_in(r.path_params["column"]),
                r.query_params.get("typed", "")[:MOST_FILTER_CHARACTERS],
            ),
        ),
        get("/api/profile", lambda _: plain_profile(explorer.session)),
        Route("/api/profile/{name}.svg", picture, methods=["GET"]),
        get("/api/epochs", lambda _: explorer.timeline()),
        get("/api/epochs/{epoch}", lambda r: explorer.epoch(number_in(r.path_params["epoch"]))),
        get("/api/epochs/{epoch}/{name}", epoch_facts),
        get("/api/trials/{trial}/{name}", trial_facts),
    ]


def _asking(explorer: SessionExplorer, workers: RequestWorkers) -> list[Route]:
    """Return the addresses that take a body."""
    limit = explorer.settings.limits.body_bytes

    def post(path: str, answer: Callable[[Body], Plain]) -> Route:
        async def endpoint(request: Request) -> Response:
            body = await read_body(request, limit)
            return json_reply(await workers.run(lambda: answer(body)))

        return Route(path, endpoint, methods=["POST"])

    return [
        post("/api/changes", explorer.changes.commit),
        post("/api/check", explorer.changes.check),
        post("/api/preview", explorer.changes.preview),
        post("/api/why", explorer.questions.why),
        post("/api/steps", explorer.questions.steps),
        post("/api/proof-graph", explorer.questions.graph),
        post("/api/derivations", explorer.questions.derivations),
        post("/api/support", explorer.questions.support),
        post("/api/why-not", explorer.questions.why_not),
        post("/api/witness", explorer.queries.witness),
        post("/api/blame", lambda body: plain_blame(explorer.session, body)),
        post("/api/repair", lambda body: plain_repair(explorer.session, body)),
    ]


def _taking(explorer: SessionExplorer, workers: RequestWorkers) -> list[Route]:
    """Return the addresses of files to take away."""

    def download(path: str, name: str, find: Callable[[Request], Listing]) -> Route:
        async def endpoint(request: Request) -> Response:
            form = request.path_params["form"]
            pieces = await workers.run(lambda: explorer.download(find(request), page_request(request), form))
            file = f"{request.path_params.get('name', name)}.{form}"
            headers = {"content-disposition": _attached(file), "cache-control": "no-store"}
            return StreamingResponse(pieces, media_type=MEDIA_TYPES[form], headers=headers)

        return Route(path, endpoint, methods=["GET"])

    async def proof(request: Request) -> Response:
        fact, form = request.query_params.get("fact", ""), request.path_params["form"]
        text = await workers.run(lambda: explorer.questions.text(fact, form))
        file = "proof.txt" if form == "text" else "proof.mmd"
        headers = {"content-disposition": _attached(file), "cache-control": "no-store"}
        return Response(text, media_type="text/plain; charset=utf-8", headers=headers)

    def of_relation(request: Request) -> Listing:
        return explorer.listing(request.path_params["name"])

    def in_epoch(request: Request) -> Listing:
        delta = find_delta(explorer.session, number_in(request.path_params["epoch"]))
        return delta_listing(delta, request.path_params["name"], is_inserted=_is_inserted(request))

    return [
        download(
            "/api/download/facts/{name}.{form}", "facts", lambda r: explorer.listing(r.path_params["name"])
        ),
        download("/api/download/epochs/{epoch}/{name}.{form}", "delta", in_epoch),
        download(
            "/api/download/query.{form}",
            "query",
            lambda r: explorer.queries.listing(r.query_params.get("q", "")),
        ),
        Route("/api/download/proof/{form}", proof, methods=["GET"]),
    ]


def _is_inserted(request: Request) -> bool:
    return request.query_params.get("side", "inserted") == "inserted"


def _attached(name: str) -> str:
    """Return the header that names a file, whatever letters it has."""
    return f"attachment; filename*=utf-8''{quote(name, safe='')}"


def _listen(feed: LiveFeed) -> Handler:
    async def listen(_: Request) -> Response:
        feed.check_room()
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(feed.events(), media_type="text/event-stream", headers=headers)

    return listen


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
        data = await read_data(request, settings.limits.body_bytes)
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
            "this is a bug in Tidelog; please report it with the program",
        )
    )
