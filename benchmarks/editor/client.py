"""A small client of `tidelog lsp` that measures: it sends one message and reads until the answer is there."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import psutil


class LspClient:
    """A server process and its two pipes; a context manager that ends the process."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tidelog", "lsp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._next = 0
        self.shown: dict[str, list[dict[str, Any]]] = {}
        self.request("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})
        self.notify("initialized", {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def notify(self, method: str, params: object) -> None:
        """Send a message that has no answer."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: object) -> Any:
        """Send a request and return its result."""
        self._next += 1
        number = self._next
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while True:
            message = self.read()
            if message.get("id") == number and "method" not in message:
                return message.get("result")

    def wait_for(self, uri: str, version: int | None = None) -> None:
        """Read until the diagnostics of a document, or of this version of it, have come."""
        while True:
            message = self.read()
            params = message.get("params", {})
            is_shown = message.get("method") == "textDocument/publishDiagnostics" and params["uri"] == uri
            if is_shown and version in (None, params.get("version")):
                return

    def read(self) -> dict[str, Any]:
        """Return the next message; diagnostics are kept."""
        stdout = self._process.stdout
        assert stdout is not None
        size = 0
        while line := stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        assert size, "the server has ended"
        message: dict[str, Any] = json.loads(stdout.read(size))
        if message.get("method") == "textDocument/publishDiagnostics":
            self.shown[message["params"]["uri"]] = message["params"]["diagnostics"]
        return message

    def cpu_seconds(self) -> float:
        """Return what the server has taken so far, of all cores."""
        times = psutil.Process(self._process.pid).cpu_times()
        return float(times.user + times.system)

    def memory_bytes(self) -> int:
        """Return how much memory the server has."""
        return int(psutil.Process(self._process.pid).memory_info().rss)

    def _send(self, message: object) -> None:
        body = json.dumps(message).encode()
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        stdin.flush()
