"""One connection of a partner, written and read without waiting, in frames.

A frame is its length and that many bytes. Two lengths are no lengths: a frame that has one of them is a
beat, or the last one before the connection is closed.
"""

import select
import socket
import struct
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from tidelog.engine.spark.greeting import Connection
from tidelog.engine.spark.message import BadMessageError
from tidelog.engine.spark.secure import SecureSocket
from tidelog.engine.spark.wire import PartnerLostError

Piece = bytes | memoryview
Frame = memoryview

LENGTH: Final = struct.Struct("<Q")
# A frame of this length is a beat and has no content.
BEAT: Final = (1 << 64) - 2
_GOODBYE: Final = (1 << 64) - 1
# Pieces up to this size are joined before they are sent.
_JOINED_BYTES: Final = 1 << 14
# How much is read from one connection before it is the turn of the others.
_TURN_BYTES: Final = 1 << 22
# Memory is allocated as bytes arrive, since a damaged length may be huge.
ROOM_BYTES: Final = 1 << 24


class Link:
    """A connection to `peer`, with the bytes that wait to be sent and the frame that is being received."""

    def __init__(self, peer: int, connection: Connection) -> None:
        self.peer = peer
        self.connection = connection
        self.heard = time.monotonic()
        # Whether the other end has sent its last frame, or was lost.
        self.has_left = False
        self._is_leaving = False
        self.waiting_bytes = 0
        self._waiting: deque[memoryview] = deque()
        self._length: int | None = None
        self._data = bytearray(LENGTH.size)
        self._have = 0
        connection.settimeout(0)

    # --- sending -----------------------------------------------------------------------------------

    def put(self, pieces: Sequence[Piece]) -> None:
        """Queue a frame, without copying it."""
        size = sum(len(piece) for piece in pieces)
        self._queue(LENGTH.pack(size))
        for piece in pieces:
            self._queue(piece)

    def beat(self) -> None:
        """Queue a sign that this partner is there, unless other bytes show it."""
        if not self._waiting:
            self._queue(LENGTH.pack(BEAT))

    def leave(self) -> None:
        """Queue the last frame, once."""
        if not self._is_leaving:
            self._is_leaving = True
            self._queue(LENGTH.pack(_GOODBYE))

    def _queue(self, piece: Piece) -> None:
        if len(piece):
            self._waiting.append(memoryview(piece))
            self.waiting_bytes += len(piece)

    def write(self) -> None:
        """Send as much as the connection takes."""
        while self._waiting:
            piece = self._next_piece()
            sent = _send_some(self.connection, piece)
            self.waiting_bytes -= sent
            if sent < len(piece):
                self._waiting.appendleft(piece[sent:])
            if not sent:
                return

    def _next_piece(self) -> memoryview:
        """Take the next bytes; small pieces are joined, for each takes a call."""
        first = self._waiting.popleft()
        if len(first) > _JOINED_BYTES or not self._waiting:
            return first
        size, joined = len(first), [first]
        while self._waiting and size + len(self._waiting[0]) <= _JOINED_BYTES:
            joined.append(self._waiting.popleft())
            size += len(joined[-1])
        return memoryview(b"".join(joined)) if len(joined) > 1 else first

    # --- receiving ---------------------------------------------------------------------------------

    def read(self) -> Iterator[Frame]:
        """Yield the frames that are complete; raise `PartnerLostError` at the end of the connection."""
        left = _TURN_BYTES
        while left > 0 or self._has_more():
            with memoryview(self._data) as view:
                got = _receive_some(self.connection, view[self._have :])
            if got is None:
                return
            if not got:
                raise PartnerLostError
            self.heard = time.monotonic()
            left -= got
            self._have += got
            if self._have == len(self._data):
                frame = self._take()
                if frame is not None:
                    yield frame

    def _take(self) -> Frame | None:
        """Return the frame if it is complete, and otherwise make room for the rest."""
        if self._length is None:
            (length,) = LENGTH.unpack(self._data)
            if length == _GOODBYE:
                self.has_left = True
            if length in {BEAT, _GOODBYE}:
                self._expect_length()
                return None
            if not length:
                raise BadMessageError("a frame is empty")
            self._length = length
            self._data, self._have = bytearray(min(length, ROOM_BYTES)), 0
            return None
        if self._have < self._length:
            self._data.extend(bytes(min(self._length - self._have, self._have)))
            return None
        frame = memoryview(self._data)
        self._expect_length()
        return frame

    def _expect_length(self) -> None:
        self._length, self._have = None, 0
        self._data = bytearray(LENGTH.size)

    def _has_more(self) -> bool:
        """Say whether bytes were decrypted already, of which polling the socket would not tell."""
        return isinstance(self.connection, SecureSocket) and self.connection.has_more()

    # --- waiting -----------------------------------------------------------------------------------

    def events(self, *, is_read: bool) -> int:
        """Return what to wait for."""
        return (select.POLLIN if is_read else 0) | (select.POLLOUT if self._waiting else 0)


def _send_some(connection: Connection, piece: memoryview) -> int:
    """Return how many bytes the connection took."""
    if isinstance(connection, SecureSocket):
        return connection.send_some(piece)
    try:
        return connection.send(piece)
    except BlockingIOError:
        return 0


def _receive_some(connection: Connection, view: memoryview) -> int | None:
    """Return how many bytes were received, 0 at the end, and None if there are none yet."""
    if isinstance(connection, SecureSocket):
        return connection.receive_some(view)
    try:
        return connection.recv_into(view)
    except BlockingIOError:
        return None


def hang_up(connection: Connection) -> None:
    """End both directions, also for those that wait for them."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it has ended already
