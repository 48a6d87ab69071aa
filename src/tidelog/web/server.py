"""A session served until somebody stops it."""

import socket
from collections.abc import Callable
from dataclasses import replace

import uvicorn

from tidelog.session import Session
from tidelog.web.app import make_live_app
from tidelog.web.live import LiveFeed
from tidelog.web.replies import mistake
from tidelog.web.settings import WebSettings, check_settings


def serve(
    session: Session,
    settings: WebSettings | None = None,
    title: str = "program",
    *,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve the explorer of a session until the process is interrupted.

    `tell` is called with the address once browsers can connect; port 0 takes any free one.

        with tidelog.open("pointsto.dl", facts="facts/") as db:
            tidelog.web.serve(db, tell=print)
    """
    settings = settings or WebSettings()
    check_settings(settings)
    listener = open_listener(settings)
    try:
        settings = replace(settings, port=listener.getsockname()[1])
        server = make_server(session, settings, title)
        tell(address_of(settings))
        server.run(sockets=[listener])
    finally:
        listener.close()


class _ExplorerServer(uvicorn.Server):
    """A server that ends what open pages listen to before it waits for its connections."""

    def __init__(self, config: uvicorn.Config, feed: LiveFeed) -> None:
        super().__init__(config)
        self._feed = feed

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._feed.close()
        await super().shutdown(sockets)


def make_server(session: Session, settings: WebSettings, title: str) -> uvicorn.Server:
    """Return a server that is ready to run."""
    app, feed = make_live_app(session, settings, title)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=4 * settings.limits.waiting_requests,
        timeout_graceful_shutdown=2,
    )
    return _ExplorerServer(config, feed)


def open_listener(settings: WebSettings) -> socket.socket:
    """Return a socket that listens where the settings say."""
    host = settings.host.strip("[]")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as cause:
        raise mistake("cannot-listen", f"`{host}` is not an address of this machine: {cause}") from cause
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as cause:
        listener.close()
        raise mistake(
            "cannot-listen",
            f"cannot listen on {host} port {settings.port}: {cause.strerror or cause}",
            "--port 0 takes any free port",
        ) from cause
    return listener


def address_of(settings: WebSettings) -> str:
    """Return what to open in a browser."""
    host = settings.host.strip("[]")
    return f"http://[{host}]:{settings.port}/" if ":" in host else f"http://{host}:{settings.port}/"
