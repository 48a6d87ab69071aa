"""A local object store with the interface of S3, in a process of its own that ends with the test."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.processes import started

# Requests are served one after the other, so that a conditional write is one step, as in a real store.
# The process also ends when the test's process does: then there is no more input.
_SERVER = """
import logging, os, sys, threading
logging.disable()
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

app, one = DomainDispatcherApplication(create_backend_app), threading.Lock()

def in_turn(environ, start_response):
    with one:
        return [b"".join(app(environ, start_response))]

server = make_server("127.0.0.1", 0, in_turn, threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
os._exit(0)
"""


class ObjectStore:
    """A bucket of a local object store, and how to reach it."""

    def __init__(self, port: int) -> None:
        self.endpoint = f"127.0.0.1:{port}"
        self.query = f"scheme=http&endpoint_override={self.endpoint}&region=us-east-1"

    def uri(self, name: str) -> str:
        """Return the address of a folder, with all that it takes to reach it."""
        return f"s3://key:secret@bucket/{name}?{self.query}"


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Run an object store with an empty bucket while the block lasts."""
    pytest.importorskip("moto.server", reason="a local object store: pip install 'moto[s3]' flask flask-cors")
    with started([sys.executable, "-W", "ignore", "-c", _SERVER], stderr=None) as server:
        assert server.stdout is not None
        port = server.stdout.readline()
        assert port, "the object store did not start"
        store = ObjectStore(int(port))
        from pyarrow import fs  # noqa: PLC0415 - only where there is a store

        system, path = fs.FileSystem.from_uri(f"{store.uri('')}&allow_bucket_creation=true")
        system.create_dir(path.strip("/"))
        yield store
