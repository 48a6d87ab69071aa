"""A wire of TCP sockets between the Python workers of a job.

Each partner listens on its own address alone. Whoever connects must prove that it knows the job's
secret, and so must whoever replies, before a byte of data is sent; the secret itself never is.
"""

import hmac
import secrets
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Sequence

from tidelog.dataclass import dataclass
from tidelog.engine.spark.message import BadMessageError, Message, decode, encode, size
from tidelog.engine.spark.wire import PartnerLostError

_FRAME = struct.Struct("<Q")
_HELLO = struct.Struct("<I")
_NONCE_BYTES = 32
_BUFFER_BYTES = 1 << 20
# Two messages of this size fit into the buffers of a connection: sending them never blocks.
_SMALL_BYTES = 1 << 17
_GIVE_UP = (1 << 64) - 1
_MOST_REASON_BYTES = 1 << 16
_ROOM_BYTES = 1 << 24
# How long a caller may take to prove its identity: meanwhile no other is let in.
_GREETING_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Tls:
    """Files, on every worker, of the certificate that partners present and of the one that signed it."""

    certificate: str
    key: str
    authority: str


@dataclass(frozen=True, slots=True)
class Access:
    """What a partner needs to be let in."""

    secret: bytes
    tls: Tls | None = None
    wait_seconds: float = 120.0


def own_address(towards: str) -> str:
    """Return the address of this machine as seen from another one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Nothing is sent: connecting a datagram socket only chooses the interface.
        probe.connect((towards, 9))
        return str(probe.getsockname()[0])


def listen(address: str) -> socket.socket:
    """Return a socket that listens on a free port of one address of this machine."""
    return socket.create_server((address, 0), backlog=128)


def connect(
    listener: socket.socket, me: int, places: Sequence[tuple[str, int]], access: Access
) -> "SocketWire":
    """Return the wire to all others; partners with a lower number are called, the others call."""
    connections: dict[int, socket.socket] = {}
    deadline = time.monotonic() + access.wait_seconds
    try:
        for other in range(me):
            raw = socket.create_connection(places[other], timeout=access.wait_seconds)
            connections[other] = greet(raw, me, access)
        while len(connections) < len(places) - 1:
            listener.settimeout(max(deadline - time.monotonic(), 0.001))
            raw, _ = listener.accept()
            found = admit(raw, access)
            if found is None:
                continue
            number, connection = found
            if not me < number < len(places):
                connection.close()
                continue
            connections[number] = connection
    except (OSError, PartnerLostError) as error:
        for connection in connections.values():
            connection.close()
        raise PartnerLostError(f"partner {me} could not reach the others: {error}") from error
    return SocketWire(me, len(places), connections)


def greet(raw: socket.socket, me: int, access: Access) -> socket.socket:
    """Return a connection once both sides have proved that they know the secret."""
    raw.settimeout(access.wait_seconds)
    connection = raw
    try:
        if access.tls is not None:
            context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=access.tls.authority)
            context.load_cert_chain(access.tls.certificate, access.tls.key)
            # Workers have no fixed names; what matters is who signed, and the secret.
            context.check_hostname = False
            connection = context.wrap_socket(raw)
        nonce = secrets.token_bytes(_NONCE_BYTES)
        connection.sendall(nonce)
        theirs = _receive(connection, _NONCE_BYTES)
        hello = _HELLO.pack(me)
        connection.sendall(hello + _proof(access, b"caller", hello, theirs))
        reply = _receive(connection, _NONCE_BYTES)
        if not hmac.compare_digest(reply, _proof(access, b"called", hello, nonce)):
            raise PartnerLostError("who replied does not know the job's secret")  # noqa: TRY301 - hung up on like other failures
    except BaseException:
        connection.close()
        raise
    return _ready(connection)


def admit(raw: socket.socket, access: Access) -> tuple[int, socket.socket] | None:
    """Return the caller and the connection; hang up and return None if it does not know the secret."""
    seconds = min(_GREETING_SECONDS, access.wait_seconds)
    raw.settimeout(seconds)
    connection = raw
    try:
        if access.tls is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=access.tls.authority)
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_cert_chain(access.tls.certificate, access.tls.key)
            connection = context.wrap_socket(raw, server_side=True)
        nonce = secrets.token_bytes(_NONCE_BYTES)
        connection.sendall(nonce)
        sent = _receive(connection, 2 * _NONCE_BYTES + _HELLO.size, time.monotonic() + seconds)
        theirs, hello, proof = sent[:_NONCE_BYTES], sent[_NONCE_BYTES:-_NONCE_BYTES], sent[-_NONCE_BYTES:]
        if not hmac.compare_digest(proof, _proof(access, b"caller", hello, nonce)):
            connection.close()
            return None
        connection.sendall(_proof(access, b"called", hello, theirs))
    except (OSError, PartnerLostError):
        # A stranger, or a caller that gave up: no reason for the job to fail.
        connection.close()
        return None
    return _HELLO.unpack(hello)[0], _ready(connection)


def _proof(access: Access, role: bytes, hello: bytes, nonce: bytes) -> bytes:
    return hmac.digest(access.secret, role + hello + nonce, "sha256")


def _ready(connection: socket.socket) -> socket.socket:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        connection.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
    connection.settimeout(None)
    return connection


def _receive(connection: socket.socket, count: int, deadline: float | None = None) -> bytes:
    data = bytearray(count)
    receive_into(connection, memoryview(data), deadline)
    return bytes(data)


def receive_into(connection: socket.socket, view: memoryview, deadline: float | None = None) -> None:
    """Fill the view with what arrives, before the deadline if there is one."""
    while view:
        if deadline is not None:
            # A sender that sends byte by byte does not get more time.
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
        got = connection.recv_into(view)
        if not got:
            raise PartnerLostError
        view = view[got:]


def send(connection: socket.socket, message: Message) -> None:
    """Send one message."""
    pieces = encode(message)
    send_pieces(connection, pieces)


def send_pieces(connection: socket.socket, pieces: Sequence[bytes | memoryview]) -> None:
    """Send an encoded message as one frame."""
    connection.sendall(_FRAME.pack(size(pieces)) + bytes(pieces[0]))
    for piece in pieces[1:]:
        connection.sendall(piece)


def receive(connection: socket.socket) -> Message:
    """Return the next message; raise `PartnerLostError` if the other gave up, is gone or sends nonsense."""
    try:
        (length,) = _FRAME.unpack(_receive(connection, _FRAME.size))
        if length == _GIVE_UP:
            (length,) = _FRAME.unpack(_receive(connection, _FRAME.size))
            raise PartnerLostError(
                _receive(connection, min(length, _MOST_REASON_BYTES)).decode(errors="replace")
            )
        return decode(_receive_long(connection, length))
    except OSError as error:
        raise PartnerLostError from error
    except BadMessageError as error:
        raise PartnerLostError(f"a partner sent something that is not a message: {error}") from error


def _receive_long(connection: socket.socket, count: int) -> bytearray:
    """Return this many bytes; memory is allocated as they arrive, since a damaged length may be huge."""
    data = bytearray(min(count, _ROOM_BYTES))
    receive_into(connection, memoryview(data))
    while len(data) < count:
        have = len(data)
        data.extend(bytes(min(count - have, have)))
        with memoryview(data) as view:
            receive_into(connection, view[have:])
    return data


class SocketWire:
    """Connections to all other partners; see `wire.Wire`."""

    def __init__(self, me: int, partners: int, connections: dict[int, socket.socket]) -> None:
        self.me = me
        self.partners = partners
        # The connection to the driver, if partners met there.
        self.control: socket.socket | None = None
        self._connections = connections

    def exchange(self, messages: Sequence[Message]) -> list[Message]:
        """Send all messages and receive one from each partner; large ones go in threads."""
        sending: list[threading.Thread] = []
        failures: list[OSError] = []
        try:
            for other, connection in self._connections.items():
                pieces = encode(messages[other])
                if size(pieces) <= _SMALL_BYTES:
                    send_pieces(connection, pieces)
                    continue
                thread = threading.Thread(target=_send_all, args=(connection, pieces, failures))
                thread.start()
                sending.append(thread)
            received = {other: receive(connection) for other, connection in self._connections.items()}
        except OSError as error:
            raise PartnerLostError from error
        finally:
            for thread in sending:
                thread.join()
        if failures:
            raise PartnerLostError from failures[0]
        received[self.me] = messages[self.me]
        return [received[other] for other in range(self.partners)]

    def give_up(self, reason: str) -> None:
        """Tell all others why this partner gives up."""
        data = reason.encode()
        for connection in self._connections.values():
            try:
                connection.sendall(_FRAME.pack(_GIVE_UP) + _FRAME.pack(len(data)) + data)
            except OSError:
                continue  # it is gone already and needs no reason

    def is_broken(self) -> bool:
        """Say whether a partner has hung up; called between exchanges."""
        ready, _, _ = select.select(list(self._connections.values()), [], [], 0)
        return bool(ready)

    def close(self) -> None:
        """Hang up."""
        for connection in self._connections.values():
            connection.close()


def _send_all(
    connection: socket.socket, pieces: Sequence[bytes | memoryview], failures: list[OSError]
) -> None:
    try:
        send_pieces(connection, pieces)
    except OSError as error:
        failures.append(error)
