"""An explorer at work in this process, and a plain HTTP client for it."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote, urlencode

from tidelog.session import Session
from tidelog.web import WebSettings
from tidelog.web.server import make_server, open_listener


@dataclass(frozen=True)
class Reply:
    """What came back: status, headers in small letters, and the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """Return the body as JSON."""
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found

    @property
    def codes(self) -> list[str]:
        """Return the codes of the diagnostics."""
        return [each["code"] for each in self.json["diagnostics"]]


@dataclass(frozen=True)
class Client:
    """Talks to an explorer; `address` is what a browser opens."""

    port: int

    @property
    def address(self) -> str:
        """Return the address of the page."""
        return f"http://127.0.0.1:{self.port}/"

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Return the reply to any request."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, dict(headers or {}))
            reply = connection.getresponse()
            names = {name.lower(): value for name, value in reply.getheaders()}
            return Reply(reply.status, names, reply.read())
        finally:
            connection.close()

    def get(self, path: str, **parameters: object) -> Reply:
        """Return the reply to a GET request."""
        return self.send("GET", f"{quote(path)}?{urlencode(parameters)}" if parameters else quote(path))

    def post(self, path: str, body: object, **headers: str) -> Reply:
        """Return the reply to a POST request with a JSON body."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"content-type": "application/json", **names}
        return self.send("POST", path, json.dumps(body).encode(), sent)


@contextmanager
def serving(session: Session, settings: WebSettings | None = None) -> Iterator[Client]:
    """Serve a session on a free port while the block lasts."""
    settings = replace(settings or WebSettings(), port=0)
    listener = open_listener(replace(settings, host="127.0.0.1"))
    settings = replace(settings, port=listener.getsockname()[1])
    server = make_server(session, settings, "program.dl")
    thread = threading.Thread(target=lambda: server.run(sockets=[listener]))
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server ended at once"
        time.sleep(0.01)
    try:
        yield Client(settings.port)
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
