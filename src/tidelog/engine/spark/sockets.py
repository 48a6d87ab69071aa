"""A wire of TCP sockets between the Python workers of a job.

Each partner listens on its own address alone, and `greeting` says who is let in. When a partner was lost
and another task took its place, the others connect anew (`SocketWire.meet_again`).
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from tidelog.engine.spark.greeting import (
    Access,
    Connection,
    admit_all,
    greet,
    listen,
    receive_bytes,
    receive_into,
)
from tidelog.engine.spark.heart import BEAT, Heart, expect_beats
from tidelog.engine.spark.message import BadMessageError, Message, decode, encode, size
from tidelog.engine.spark.wire import PartnerLostError

_FRAME = struct.Struct("<Q")
# Two messages of this size fit into the buffers of a connection: sending them never blocks.
_SMALL_BYTES = 1 << 17
_GIVE_UP = (1 << 64) - 1
_MOST_REASON_BYTES = 1 << 16
_ROOM_BYTES = 1 << 24
# A partner shows that it is there this many times in the time after which it is taken for lost.
_BEATS = 20


# Partners that are told of each other listen already, so connecting them takes less than this.
_CONNECT_SECONDS = 30.0

# What a partner says of itself: where it listens, and why it cannot take part, if so.
Card = dict[str, object]


def connect(
    listener: socket.socket, me: int, places: Sequence[tuple[str, int]], access: Access
) -> "SocketWire":
    """Return the wire to all others; partners with a lower number are called, the others call."""
    connections = _connect_all(listener, me, places, access)
    return SocketWire(me, len(places), connections, access, listener.getsockname()[0])


def _connect_all(
    listener: socket.socket, me: int, places: Sequence[tuple[str, int]], access: Access
) -> dict[int, Connection]:
    connections: dict[int, Connection] = {}
    seconds = min(access.wait_seconds, _CONNECT_SECONDS)
    deadline = time.monotonic() + seconds

    def is_done() -> bool:
        if len(connections) < len(places) - 1 and time.monotonic() > deadline:
            raise TimeoutError("timed out")
        return len(connections) == len(places) - 1

    def take(number: int, connection: Connection) -> None:
        if me < number < len(places):
            connections[number] = connection
        else:
            connection.close()

    try:
        for other in range(me):
            raw = socket.create_connection(places[other], timeout=seconds)
            connections[other] = greet(raw, me, access)
        admit_all(listener, access, is_done, take)
    except (OSError, PartnerLostError) as error:
        for connection in connections.values():
            connection.close()
        raise PartnerLostError(f"partner {me} could not reach the others: {error}") from error
    return connections


def places_on(cards: Sequence[Card]) -> list[tuple[str, int]]:
    """Return where partners listen."""
    return [(str(each["address"]), int(str(each["port"]))) for each in cards]


def send(connection: Connection, message: Message) -> None:
    """Send one message."""
    pieces = encode(message)
    send_pieces(connection, pieces)


def send_pieces(connection: Connection, pieces: Sequence[bytes | memoryview]) -> None:
    """Send an encoded message as one frame."""
    connection.sendall(_FRAME.pack(size(pieces)) + bytes(pieces[0]))
    for piece in pieces[1:]:
        connection.sendall(piece)


def receive(connection: Connection) -> Message:
    """Return the next message; raise `PartnerLostError` if the other gave up, is gone or sends nonsense."""
    try:
        length = BEAT
        while length == BEAT:
            (length,) = _FRAME.unpack(receive_bytes(connection, _FRAME.size))
        if length == _GIVE_UP:
            (length,) = _FRAME.unpack(receive_bytes(connection, _FRAME.size))
            raise PartnerLostError(
                receive_bytes(connection, min(length, _MOST_REASON_BYTES)).decode(errors="replace")
            )
        return decode(_receive_long(connection, length))
    except OSError as error:
        raise PartnerLostError from error
    except BadMessageError as error:
        raise PartnerLostError(f"a partner sent something that is not a message: {error}") from error


def _receive_long(connection: Connection, count: int) -> bytearray:
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

    def __init__(
        self, me: int, partners: int, connections: dict[int, Connection], access: Access, address: str
    ) -> None:
        self.me = me
        self.partners = partners
        self._access = access
        self._address = address
        self._control: Connection | None = None
        self._connections: dict[int, Connection] = {}
        self._heart = Heart(access.silence_seconds / _BEATS)
        self._take(connections)

    def _take(self, connections: dict[int, Connection]) -> None:
        self._connections = connections
        for connection in connections.values():
            expect_beats(connection, self._access.silence_seconds)
            self._heart.add(connection)

    def meet_again(self) -> None:
        """Connect to all partners anew: tell the driver where, and hear from it where the others are."""
        assert self._control is not None, "residents meet at the driver"
        for connection in self._connections.values():
            self._heart.remove(connection)
            connection.close()
        self._connections = {}
        with listen(self._address, self._access.ports) as listener:
            address, port = listener.getsockname()[:2]
            self.reply(Message(text=json.dumps({"unfit": "", "address": address, "port": port})))
            places = places_on(json.loads(receive(self._control).text))
            self._take(_connect_all(listener, self.me, places, self._access))

    @property
    def control(self) -> Connection | None:
        """Return the connection to the driver, if partners met there."""
        return self._control

    @control.setter
    def control(self, connection: Connection | None) -> None:
        self._control = connection
        if connection is not None:
            self._heart.add(connection)

    def reply(self, message: Message) -> None:
        """Send a message to the driver."""
        assert self._control is not None, "residents meet at the driver"
        with self._heart.lock(self._control):
            send(self._control, message)

    def exchange(self, messages: Sequence[Message]) -> list[Message]:
        """Send all messages and receive one from each partner; large ones go in threads."""
        sending: list[threading.Thread] = []
        failures: list[OSError] = []
        try:
            for other, connection in self._connections.items():
                pieces = encode(messages[other])
                if size(pieces) <= _SMALL_BYTES:
                    self._send(connection, pieces)
                    continue
                thread = threading.Thread(target=self._send_noting, args=(connection, pieces, failures))
                thread.start()
                sending.append(thread)
            received = {other: receive(connection) for other, connection in self._connections.items()}
        except (OSError, PartnerLostError) as error:
            # Threads that still send to somebody who does not read must not be waited for.
            self.hang_up()
            if isinstance(error, PartnerLostError):
                raise
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
            # Who is gone already needs no reason.
            with suppress(OSError), self._heart.lock(connection):
                connection.sendall(_FRAME.pack(_GIVE_UP) + _FRAME.pack(len(data)) + data)

    def _send(self, connection: Connection, pieces: Sequence[bytes | memoryview]) -> None:
        with self._heart.lock(connection):
            send_pieces(connection, pieces)

    def _send_noting(
        self, connection: Connection, pieces: Sequence[bytes | memoryview], failures: list[OSError]
    ) -> None:
        try:
            self._send(connection, pieces)
        except OSError as error:
            failures.append(error)

    def hang_up(self) -> None:
        """End all connections to other partners, also for those that wait for something on them."""
        for connection in self._connections.values():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Hang up."""
        self._heart.stop()
        for connection in self._connections.values():
            connection.close()
