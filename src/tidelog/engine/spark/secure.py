"""TLS without certificates: encryption by keys that both ends agree on, to be bound to the job's secret.

Whoever stands between two partners has another connection with each of them. `binding` differs between
these, so a proof of the secret that includes it does not pass through.
"""

import select
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Final

# Diffie-Hellman without certificates, and AES with a tag on every record.
_CIPHERS: Final = "ADH-AES128-GCM-SHA256:ADH-AES256-GCM-SHA384:@SECLEVEL=0"
# The group ffdhe2048 of RFC 7919.
_GROUP: Final = """-----BEGIN DH PARAMETERS-----
MIIBCAKCAQEA//////////+t+FRYortKmq/cViAnPTzx2LnFg84tNpWp4TZBFGQz
+8yTnc4kmz75fS/jY2MMddj2gbICrsRhetPfHtXV/WVhJDP1H18GbtCFY2VVPe0a
87VXE15/V8k1mE8McODmi3fipona8+/och3xWKE2rec1MKzKT0g6eXq8CrGCsyT7
YdEIqUuyyOP7uWrat2DX9GgdT0Kj3jlN9K5W7edjcrsZCwenyO4KbXCeAvzhzffi
7MA0BM0oNC9hkXL+nOmFg/+OTxIy7vKBg8P+OxtMb61zO7X8vC7CIAXFjvGDfRaD
ssbzSibBsu/6iGtCOGEoXJf//////////wIBAg==
-----END DH PARAMETERS-----
"""
# Larger pieces are encrypted one after the other, so that the other direction is not kept waiting.
_PIECE_BYTES: Final = 1 << 18


@cache
def anonymous_context(*, is_server: bool) -> ssl.SSLContext:
    """Return the settings of one end of a connection without certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    # TLS 1.3 has no connections without certificates.
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    context.set_ciphers(_CIPHERS)
    if is_server:
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(_GROUP)
            file.flush()
            context.load_dh_params(file.name)
    return context


class SecureSocket:
    """A TLS connection that one thread may read while another writes.

    OpenSSL allows one call at a time on a connection, so calls never block: who has to wait does so
    outside the lock.
    """

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self._seconds = connection.gettimeout()
        self._silence_seconds: float | None = None
        self._lock = threading.Lock()
        self._connection = connection
        connection.setblocking(False)

    def binding(self) -> bytes:
        """Return bytes that both ends of this connection know, and no other connection has."""
        return self._connection.get_channel_binding("tls-unique") or b""

    def settimeout(self, seconds: float | None) -> None:
        """Set how long reading or writing may wait."""
        self._seconds = seconds

    def limit_silence(self, seconds: float) -> None:
        """Set how long reading may wait for a byte; writing may take any time."""
        self._silence_seconds = seconds

    def setsockopt(self, level: int, name: int, value: int) -> None:
        """Set an option of the socket."""
        self._connection.setsockopt(level, name, value)

    def fileno(self) -> int:
        """Return the number of the socket, to wait for it."""
        return self._connection.fileno()

    def sendall(self, data: bytes | memoryview) -> None:
        """Send all bytes."""
        with memoryview(data).cast("B") as whole:
            at = 0
            while at < len(whole):
                with whole[at : at + _PIECE_BYTES] as piece:
                    at += self._do(partial(self._connection.send, piece))

    def recv_into(self, view: memoryview) -> int:
        """Fill the view with some bytes and return how many; 0 if the other end hung up."""
        try:
            return self._do(partial(self._connection.recv_into, view), self._silence_seconds)
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return 0

    def send_some(self, piece: memoryview) -> int:
        """Send without waiting; return how many bytes were taken."""
        try:
            with self._lock, piece[:_PIECE_BYTES] as part:
                return self._connection.send(part)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return 0

    def receive_some(self, view: memoryview) -> int | None:
        """Fill the view with some bytes without waiting; None if there are none, 0 at the end."""
        try:
            with self._lock:
                return self._connection.recv_into(view)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return 0

    def has_more(self) -> bool:
        """Say whether there are bytes that were received and decrypted, but not read yet."""
        return self._connection.pending() > 0

    def _do(self, call: Callable[[], int], seconds: float | None = None) -> int:
        """Return what a call returns once it need not wait, which may take so many seconds."""
        seconds = self._seconds if seconds is None else seconds
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            try:
                with self._lock:
                    return call()
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN, until)
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT, until)

    def _wait(self, event: int, until: float | None) -> None:
        poll = select.poll()
        poll.register(self._connection.fileno(), event)
        milliseconds = None if until is None else max(until - time.monotonic(), 0) * 1000
        if not poll.poll(milliseconds):
            raise TimeoutError("the other end does not respond")

    def shutdown(self, how: int) -> None:
        """End both directions, also for who waits for them."""
        # Of the socket below: TLS would want a word with the other end first.
        socket.socket.shutdown(self._connection, how)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()
