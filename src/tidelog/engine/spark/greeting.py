"""How partners and the driver find out that they belong to one job, before a byte of data is sent.

Both ends prove that they know the job's secret, which itself is never sent. On an encrypted connection
the proof is bound to that connection, so that nobody can stand between the two.
"""

import hmac
import queue
import secrets
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.engine.spark.secure import SecureSocket, anonymous_context
from tidelog.engine.spark.wire import PartnerLostError
from tidelog.errors import Diagnostic, TidelogError

Connection = socket.socket | SecureSocket

_HELLO: Final = struct.Struct("<I")
_NONCE_BYTES: Final = 32
_BUFFER_BYTES: Final = 1 << 20
# How long a caller may take to prove its identity, and how many may be at it at once.
_GREETING_SECONDS: Final = 10.0
_MOST_CALLERS: Final = 256
# How soon a caller that has proved its identity is noticed, and how soon that nobody is needed any more.
_LOOK_AGAIN_SECONDS: Final = 0.005
_IDLE_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Tls:
    """Files, on every worker, of the certificate that partners present and of the one that signed it."""

    certificate: str
    key: str
    authority: str


@dataclass(frozen=True, slots=True)
class Safety:
    """How connections are protected: with certificates, by encryption, on which ports, and from silence.

    Without an answer connections that may leave the machine are encrypted.
    """

    tls: Tls | None = None
    encrypt: bool | None = None
    ports: tuple[int, int] | None = None
    silence_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Access:
    """What a partner needs to be let in."""

    secret: bytes
    tls: Tls | None = None
    wait_seconds: float = 120.0
    is_encrypted: bool = True
    ports: tuple[int, int] | None = None
    silence_seconds: float = 120.0


def own_address(towards: str) -> str:
    """Return the address of this machine as seen from another one."""
    family, _, _, _, target = socket.getaddrinfo(towards, 9, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        # Nothing is sent: connecting a datagram socket only chooses the interface.
        probe.connect(target)
        return str(probe.getsockname()[0])


def listen(address: str, ports: tuple[int, int] | None = None) -> socket.socket:
    """Return a socket that listens on one address of this machine, on a free port, perhaps of a range."""
    family = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM)[0][0]
    if ports is None:
        return socket.create_server((address, 0), family=family, backlog=128)
    for port in range(ports[0], ports[1] + 1):
        with suppress(OSError):
            return socket.create_server((address, port), family=family, backlog=128)
    message = f"no port from {ports[0]} to {ports[1]} is free on {address}"
    hint = "every partner of a job takes one, and so does the driver: give a larger range of ports"
    raise TidelogError([Diagnostic(code="spark-bad-option", message=message, hint=hint)])


def greet(raw: socket.socket, me: int, access: Access) -> Connection:
    """Return a connection once both sides have proved that they know the secret."""
    raw.settimeout(access.wait_seconds)
    connection: Connection = raw
    try:
        context = None
        if access.tls is not None:
            context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=access.tls.authority)
            context.load_cert_chain(access.tls.certificate, access.tls.key)
            # Workers have no fixed names; what matters is who signed, and the secret.
            context.check_hostname = False
        elif access.is_encrypted:
            context = anonymous_context(is_server=False)
        if context is not None:
            connection = SecureSocket(context.wrap_socket(raw))
        nonce = secrets.token_bytes(_NONCE_BYTES)
        connection.sendall(nonce)
        theirs = receive_bytes(connection, _NONCE_BYTES)
        hello = _HELLO.pack(me)
        connection.sendall(hello + _proof(access, b"caller", hello, theirs, connection))
        reply = receive_bytes(connection, _NONCE_BYTES)
        if not hmac.compare_digest(reply, _proof(access, b"called", hello, nonce, connection)):
            raise PartnerLostError("the other side does not know the job's secret")  # noqa: TRY301 - hung up on like other failures
    except BaseException:
        connection.close()
        raise
    return _ready(connection)


def admit(raw: socket.socket, access: Access) -> tuple[int, Connection] | None:
    """Return the caller and the connection; hang up and return None if it does not know the secret."""
    seconds = min(_GREETING_SECONDS, access.wait_seconds)
    raw.settimeout(seconds)
    connection: Connection = raw
    try:
        context = None
        if access.tls is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=access.tls.authority)
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_cert_chain(access.tls.certificate, access.tls.key)
        elif access.is_encrypted:
            context = anonymous_context(is_server=True)
        if context is not None:
            connection = SecureSocket(context.wrap_socket(raw, server_side=True))
        nonce = secrets.token_bytes(_NONCE_BYTES)
        connection.sendall(nonce)
        sent = receive_bytes(connection, 2 * _NONCE_BYTES + _HELLO.size, time.monotonic() + seconds)
        theirs, hello, proof = sent[:_NONCE_BYTES], sent[_NONCE_BYTES:-_NONCE_BYTES], sent[-_NONCE_BYTES:]
        if not hmac.compare_digest(proof, _proof(access, b"caller", hello, nonce, connection)):
            connection.close()
            return None
        connection.sendall(_proof(access, b"called", hello, theirs, connection))
    except (OSError, PartnerLostError):
        # A stranger, or a caller that gave up: no reason for the job to fail.
        connection.close()
        return None
    return _HELLO.unpack(hello)[0], _ready(connection)


def admit_all(
    listener: socket.socket,
    access: Access,
    is_done: Callable[[], bool],
    take: Callable[[int, Connection], None],
) -> None:
    """Let callers in, several at a time, until enough are there; raise `OSError` if the listener is closed.

    `take` gets every caller that knows the secret. One that says nothing keeps nobody waiting.
    """
    arrived: queue.SimpleQueue[tuple[int, Connection] | None] = queue.SimpleQueue()
    is_over = threading.Event()

    def greet_caller(raw: socket.socket) -> None:
        arrived.put(admit(raw, access))
        if is_over.is_set():
            _hang_up_on(arrived)

    busy = 0
    try:
        while not is_done():
            listener.settimeout(_LOOK_AGAIN_SECONDS if busy else _IDLE_SECONDS)
            try:
                raw, _ = listener.accept()
            except TimeoutError:
                pass
            else:
                if busy >= _MOST_CALLERS:
                    raw.close()
                    continue
                busy += 1
                threading.Thread(target=greet_caller, args=(raw,), daemon=True).start()
            while not arrived.empty():
                found = arrived.get()
                busy -= 1
                if found is not None:
                    take(*found)
    finally:
        is_over.set()
        _hang_up_on(arrived)


def _hang_up_on(arrived: "queue.SimpleQueue[tuple[int, Connection] | None]") -> None:
    """Hang up on callers that came too late."""
    with suppress(queue.Empty):
        while True:
            found = arrived.get_nowait()
            if found is not None:
                found[1].close()


def _proof(access: Access, role: bytes, hello: bytes, nonce: bytes, connection: Connection) -> bytes:
    binding = connection.binding() if isinstance(connection, SecureSocket) else b""
    return hmac.digest(access.secret, role + hello + nonce + binding, "sha256")


def _ready(connection: Connection) -> Connection:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        connection.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
    connection.settimeout(None)
    return connection


def receive_bytes(connection: Connection, count: int, deadline: float | None = None) -> bytes:
    """Return this many bytes."""
    data = bytearray(count)
    receive_into(connection, memoryview(data), deadline)
    return bytes(data)


def receive_into(connection: Connection, view: memoryview, deadline: float | None = None) -> None:
    """Fill the view with what arrives, before the deadline if there is one."""
    while view:
        if deadline is not None:
            # A sender that sends byte by byte does not get more time.
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
        got = connection.recv_into(view)
        if not got:
            raise PartnerLostError
        view = view[got:]
