"""A wire of TCP sockets between the Python workers of a job.

Each partner listens on its own address alone, and `greeting` says who is let in. When a partner was lost
and another task took its place, the others connect anew (`SocketWire.meet_again`).
"""

import json
import os
import socket
import struct
import time
from collections.abc import Mapping, Sequence

from tidelog.engine.spark.greeting import (
    Access,
    Connection,
    admit_all,
    greet,
    listen,
    receive_bytes,
    receive_into,
)
from tidelog.engine.spark.heart import Heart
from tidelog.engine.spark.layout import Layout
from tidelog.engine.spark.link import BEAT, ROOM_BYTES
from tidelog.engine.spark.message import BadMessageError, Message, Rows, decode, encode, size
from tidelog.engine.spark.signed import signed_content
from tidelog.engine.spark.switch import FrameKind, Outgoing, Switch
from tidelog.engine.spark.wire import PartnerLostError

_FRAME = struct.Struct("<Q")
# The driver hears of a partner this many times in the time after which it is taken for lost.
_BEATS = 20
# Partners that are told of each other listen already, so connecting them takes less than this.
_CONNECT_SECONDS = 30.0

# What a partner says of itself: where it listens, its executor, and why it cannot take part, if so.
Card = dict[str, object]
Place = tuple[str, int]


def connect(
    listener: socket.socket,
    me: int,
    places: Sequence[Place],
    access: Access,
    executors: Sequence[str] | None = None,
) -> "SocketWire":
    """Return the wire to all others; by default each partner has an executor of its own."""
    layout = Layout(me, tuple(executors or map(str, range(len(places)))))
    connections = _connect_all(listener, layout, places, access)
    return SocketWire(layout, connections, access, listener.getsockname()[0])


def _connect_all(
    listener: socket.socket, layout: Layout, places: Sequence[Place], access: Access
) -> dict[int, Connection]:
    """Return the connections of a partner; those with a lower number are called, the others call."""
    me, peers = layout.me, layout.behind.keys()
    connections: dict[int, Connection] = {}
    seconds = min(access.wait_seconds, _CONNECT_SECONDS)
    deadline = time.monotonic() + seconds

    def is_done() -> bool:
        if len(connections) < len(peers) and time.monotonic() > deadline:
            raise TimeoutError("timed out")
        return len(connections) == len(peers)

    def take(number: int, connection: Connection) -> None:
        if number > me and number in peers and number not in connections:
            connections[number] = connection
        else:
            connection.close()

    try:
        for other in sorted(peers):
            if other < me:
                raw = socket.create_connection(places[other], timeout=seconds)
                connections[other] = greet(raw, me, access)
        admit_all(listener, access, is_done, take)
    except (OSError, PartnerLostError) as error:
        for connection in connections.values():
            connection.close()
        raise PartnerLostError(f"partner {me} could not reach the others: {error}") from error
    return connections


def own_card(listener: socket.socket) -> Card:
    """Return what other partners need to know to connect to this one."""
    address, port = listener.getsockname()[:2]
    return {"unfit": "", "address": address, "port": port, "executor": f"{address} {_own_executor()}"}


def _own_executor() -> int:
    """Return the same number in all Python workers of an executor: one process starts them, their parent."""
    return os.getppid()


def places_on(cards: Sequence[Card]) -> list[Place]:
    """Return where partners listen."""
    return [(str(each["address"]), int(str(each["port"]))) for each in cards]


def executors_on(cards: Sequence[Card]) -> list[str]:
    """Return the executor of each partner."""
    return [str(each["executor"]) for each in cards]


def send(connection: Connection, message: Message) -> None:
    """Send one message as one frame."""
    pieces = encode(message)
    connection.sendall(_FRAME.pack(size(pieces)) + bytes(pieces[0]))
    for piece in pieces[1:]:
        connection.sendall(piece)


def receive(connection: Connection) -> Message:
    """Return the next message; raise `PartnerLostError` if the other is gone or sends nonsense."""
    while (message := receive_or_beat(connection)) is None:
        pass
    return message


def receive_or_beat(connection: Connection) -> Message | None:
    """Return the next message, or None if a beat is next; raise `PartnerLostError` as `receive` does."""
    try:
        (length,) = _FRAME.unpack(receive_bytes(connection, _FRAME.size))
        return None if length == BEAT else decode(_receive_long(connection, length))
    except OSError as error:
        raise PartnerLostError from error
    except BadMessageError as error:
        raise PartnerLostError(f"a partner sent something that is not a message: {error}") from error


def _receive_long(connection: Connection, count: int) -> bytearray:
    """Return this many bytes; memory is allocated as they arrive, since a damaged length may be huge."""
    data = bytearray(min(count, ROOM_BYTES))
    receive_into(connection, memoryview(data))
    while len(data) < count:
        have = len(data)
        data.extend(bytes(min(count - have, have)))
        with memoryview(data) as view:
            receive_into(connection, view[have:])
    return data


class SocketWire:
    """Connections to other partners, direct or by way of others, and to the driver; see `wire.Wire`."""

    def __init__(
        self, layout: Layout, connections: dict[int, Connection], access: Access, address: str
    ) -> None:
        self.me = layout.me
        self.partners = layout.partners
        self._access = access
        self._address = address
        self._control: Connection | None = None
        self._heart = Heart(access.silence_seconds / _BEATS)
        self.switch = Switch(layout, connections, access.silence_seconds)
        self._own_ahead: tuple[Rows, ...] = ()

    def meet_again(self) -> None:
        """Connect to all partners anew: tell the driver where, and hear from it where the others are."""
        assert self._control is not None, "residents meet at the driver"
        self.switch.close()
        self._own_ahead = ()
        with listen(self._address, self._access.ports) as listener:
            self.reply(Message(text=json.dumps(own_card(listener))))
            cards = json.loads(receive(self._control).text)
            layout = Layout(self.me, tuple(executors_on(cards)))
            connections = _connect_all(listener, layout, places_on(cards), self._access)
        self.switch = Switch(layout, connections, self._access.silence_seconds)

    def from_driver(self, signed: Mapping[str, str]) -> bytes:
        """Return code that the driver has signed; raise `UnsignedError` if it has not."""
        return signed_content(signed, self._access.secret)

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

    def send_ahead(self, tables: Sequence[Sequence[Rows]]) -> None:
        """Send each partner rows that belong to the next exchange, without waiting until they are sent."""
        self._own_ahead += tuple(tables[self.me])
        others = ((other, rows) for other, rows in enumerate(tables) if rows and other != self.me)
        outgoing = [Outgoing(1 << other, encode(Message((), tuple(rows)))) for other, rows in others]
        self.switch.send(FrameKind.AHEAD, outgoing)

    def exchange(self, messages: Sequence[Message]) -> list[Message]:
        """Send all messages and return the next one of each partner, with the rows it sent ahead."""
        try:
            self.switch.send(FrameKind.MESSAGE, self._outgoing(messages))
            received = [[decode(frame) for frame in frames] for frames in self.switch.receive()]
        except BadMessageError as error:
            self.hang_up()
            raise PartnerLostError(f"a partner sent something that is not a message: {error}") from error
        except PartnerLostError as lost:
            # The others must not wait for this one, which does not go on; a reason reaches them as it leaves.
            if not lost.reason:
                self.hang_up()
            raise
        received[self.me] = [Message((), self._own_ahead), messages[self.me]]
        self._own_ahead = ()
        return [_joined(each) for each in received]

    def _outgoing(self, messages: Sequence[Message]) -> list[Outgoing]:
        """Return what is sent to whom: equal messages once, for all that get them."""
        targets: dict[object, int] = {}
        contents: dict[object, Message] = {}
        for other, message in enumerate(messages):
            if other != self.me:
                key = id(message) if message.tables else (message.numbers, message.text)
                targets[key] = targets.get(key, 0) | 1 << other
                contents[key] = message
        return [Outgoing(targets[key], encode(message)) for key, message in contents.items()]

    def give_up(self, reason: str) -> None:
        """Tell all others why this partner gives up."""
        self.switch.give_up(reason)

    def leave(self) -> None:
        """Take leave when the work is done; what others still need of this partner is done first."""
        self.switch.leave()

    def hang_up(self) -> None:
        """End all connections to other partners, also for those that wait for something on them."""
        self.switch.hang_up()

    def close(self) -> None:
        """Hang up at once."""
        self._heart.stop()
        self.switch.close()


def _joined(messages: Sequence[Message]) -> Message:
    """Return the last message with the rows of all."""
    *ahead, last = messages
    if not ahead:
        return last
    tables = tuple(table for message in messages for table in message.tables)
    return Message(last.numbers, tables, last.text)
