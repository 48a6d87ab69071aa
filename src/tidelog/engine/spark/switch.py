"""What a partner sends and receives while it works: one thread has all its connections.

The thread sends what is queued, collects what arrives, beats on every connection so that others can tell
that this partner is there, and passes on what partners of its executor exchange with other executors. It
never waits for one connection alone. Of what it passes on it takes no more than others receive: while too
much waits for a connection, it does not read from those that add to it.
"""

import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from typing import Final, NamedTuple

from tidelog.engine.spark.greeting import Connection
from tidelog.engine.spark.layout import Layout
from tidelog.engine.spark.link import Frame, Link, Piece, hang_up
from tidelog.engine.spark.message import BadMessageError
from tidelog.engine.spark.wire import PartnerLostError

# Who sent a frame, and what it is; the partners that it is for follow, a bit for each.
_HEAD: Final = struct.Struct("<IB")
# A partner shows that it is there this many times in the time after which it is taken for lost.
_BEATS: Final = 20
# So much may wait for one connection before those that add to it are not read.
_MOST_WAITING_BYTES: Final = 1 << 26
_MOST_REASON_BYTES: Final = 1 << 16


class FrameKind(IntEnum):
    """What a frame is: rows sent ahead, the message of an exchange, or the reason why a partner gives up."""

    AHEAD = 0
    MESSAGE = 1
    GIVING_UP = 2


class Outgoing(NamedTuple):
    """Content for some partners."""

    targets: int
    pieces: Sequence[Piece]


class Switch:
    """The connections of one partner and the thread that serves them."""

    def __init__(self, layout: Layout, connections: Mapping[int, Connection], silence_seconds: float) -> None:
        self._layout = layout
        self._silence_seconds = silence_seconds
        self.links = {peer: Link(peer, connection) for peer, connection in connections.items()}
        self._mask_bytes = (layout.partners + 7) // 8
        self._changed = threading.Condition()
        self._arrived: list[deque[tuple[FrameKind, Frame]]] = [deque() for _ in range(layout.partners)]
        # How many whole messages of each partner are among them, and of whom none is.
        self._messages = [0] * layout.partners
        self._missing = layout.others
        # Connections that are not read while too much waits for another one.
        self._held: dict[int, int] = {}
        self._near = [link for peer, link in self.links.items() if layout.is_near(peer)]
        self._far = [link for peer, link in self.links.items() if not layout.is_near(peer)]
        self._failure: PartnerLostError | None = None
        # Whether something happened that the thread that works may wait for.
        self._is_noteworthy = self._is_leaving = self._is_over = False
        self.frames_sent = 0
        self._wake, self._woken = socket.socketpair()
        self._wake.setblocking(False)
        self._woken.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="tidelog-switch", daemon=True)
        self._thread.start()

    # --- for the thread that works ------------------------------------------------------------------

    def send(self, kind: FrameKind, outgoing: Sequence[Outgoing]) -> None:
        """Queue what is for others; raise `PartnerLostError` if one of them is lost."""
        with self._changed:
            if self._failure is not None:
                raise self._failure
            for each in outgoing:
                head = self._head(kind, each.targets)
                self._pass_on(self.links.values(), each.targets, (head, *each.pieces))
        self._wake_up()

    def receive(self) -> list[list[Frame]]:
        """Return what each partner sent up to its next message, once all of them have sent one."""
        with self._changed:
            while self._missing:
                if self._failure is None and self._has_left(self._missing):
                    self._failure = PartnerLostError()
                if self._failure is not None:
                    raise self._failure
                self._changed.wait()
            return [list(self._take(partner)) for partner in range(self._layout.partners)]

    def _take(self, partner: int) -> Iterator[Frame]:
        kind = FrameKind.AHEAD
        while kind is FrameKind.AHEAD and partner != self._layout.me:
            kind, frame = self._arrived[partner].popleft()
            yield frame
        if partner != self._layout.me:
            self._messages[partner] -= 1
            if not self._messages[partner]:
                self._missing |= 1 << partner

    def _has_left(self, partners: int) -> bool:
        """Say whether one of these partners can send nothing any more."""
        return any(
            link.has_left and self._layout.behind[link.peer] & partners for link in self.links.values()
        )

    def give_up(self, reason: str) -> None:
        """Tell all others why this partner gives up."""
        head = self._head(FrameKind.GIVING_UP, self._layout.others)
        with self._changed:
            self._pass_on(self.links.values(), self._layout.others, (head, reason.encode()))
        self._wake_up()

    def leave(self) -> None:
        """Send what is queued and take leave; a lead stays while others of its executor need it."""
        with self._changed:
            self._is_leaving = True
            reason = "" if self._failure is None else self._failure.reason
        if reason:
            # Others may see that this partner leaves before they hear of the one that gave up.
            self.give_up(reason)
        self._wake_up()
        self._thread.join()

    def hang_up(self) -> None:
        """End all connections, also for those that wait for something on them."""
        for link in self.links.values():
            hang_up(link.connection)

    def close(self) -> None:
        """End the thread and all connections at once; closing twice does no harm."""
        with self._changed:
            self._fail(PartnerLostError())
            self._is_over = True
        self._wake_up()
        self._thread.join()
        for each in (*(link.connection for link in self.links.values()), self._wake, self._woken):
            each.close()

    def _wake_up(self) -> None:
        # A full buffer wakes the thread as well, and a closed one has none to wake.
        with suppress(OSError):
            self._wake.send(b"\0")

    # --- the thread of the connections --------------------------------------------------------------

    def _run(self) -> None:
        every_seconds = self._silence_seconds / _BEATS
        beat_at = time.monotonic() + every_seconds
        open_links = dict(self.links)
        while True:
            ready = self._wait(open_links, max(0.0, beat_at - time.monotonic()))
            with self._changed:
                if self._is_over:
                    return
                if is_due := time.monotonic() >= beat_at:
                    beat_at = time.monotonic() + every_seconds
                for peer, link in list(open_links.items()):
                    if not self._serve(link, ready.get(peer, 0), is_due=is_due):
                        del open_links[peer]
                if self._is_noteworthy:
                    self._changed.notify_all()
                    self._is_noteworthy = False
                if self._is_leaving and self._can_leave(open_links.values()):
                    return

    def _wait(self, open_links: Mapping[int, Link], seconds: float) -> dict[int, int]:
        """Return which connections can be read or written, once there are any or the time is over."""
        poll, peers = select.poll(), {}
        poll.register(self._woken, select.POLLIN)
        with self._changed:
            for peer, link in open_links.items():
                poll.register(link.connection, link.events(is_read=peer not in self._held))
                peers[link.connection.fileno()] = peer
        ready = dict(poll.poll(seconds * 1000))
        if ready.pop(self._woken.fileno(), 0):
            self._woken.recv(1 << 16)
        return {peers[number]: events for number, events in ready.items()}

    def _serve(self, link: Link, events: int, *, is_due: bool) -> bool:
        """Read and write what is possible; return whether the connection is still there."""
        is_held = link.peer in self._held
        try:
            if (events & ~select.POLLOUT or is_due) and not is_held:
                for frame in link.read():
                    self._sort(link, frame)
            if is_due:
                link.beat()
                if not is_held and time.monotonic() - link.heard > self._silence_seconds:
                    raise PartnerLostError  # noqa: TRY301 - lost like one whose connection ends
            if link.waiting_bytes:
                link.write()
                self._read_again(link)
        except (OSError, PartnerLostError, BadMessageError) as error:
            if not link.has_left:
                self._fail(_lost(error))
            link.has_left = self._is_noteworthy = True
            self._held = {held: by for held, by in self._held.items() if by != link.peer}
            return False
        self._is_noteworthy |= link.has_left
        return True

    def _sort(self, link: Link, frame: Frame) -> None:
        """Keep a frame, pass it on, or both."""
        start = _HEAD.size + self._mask_bytes
        if len(frame) < start:
            raise BadMessageError("the frame ends before its head")
        origin, kind = _HEAD.unpack_from(frame)
        if not self._layout.behind[link.peer] >> origin & 1 or kind > FrameKind.GIVING_UP:
            raise BadMessageError("the head of the frame is of another form")
        targets = int.from_bytes(frame[_HEAD.size : start], "little")
        across = self._far if self._layout.is_near(link.peer) else self._near
        for full in self._pass_on(across, targets, (frame,)):
            self._held[link.peer] = full
            link.heard = time.monotonic()
        if not targets >> self._layout.me & 1:
            return
        if kind == FrameKind.GIVING_UP:
            self._fail(PartnerLostError(bytes(frame[start:][:_MOST_REASON_BYTES]).decode(errors="replace")))
            return
        self._arrived[origin].append((FrameKind(kind), frame[start:]))
        if kind == FrameKind.MESSAGE:
            self._messages[origin] += 1
            self._missing &= ~(1 << origin)
            self._is_noteworthy |= not self._missing

    def _pass_on(self, links: Iterable[Link], targets: int, pieces: Sequence[Piece]) -> list[int]:
        """Queue a frame for the partners behind some connections; return those for which much waits."""
        full = []
        for link in links:
            if targets & self._layout.behind[link.peer] and not link.has_left:
                link.put(pieces)
                self.frames_sent += 1
                if link.waiting_bytes > _MOST_WAITING_BYTES:
                    full.append(link.peer)
        return full

    def _read_again(self, link: Link) -> None:
        """Read again from connections that waited for this one, if little waits for it now."""
        if self._held and link.waiting_bytes <= _MOST_WAITING_BYTES // 2:
            for held, by in tuple(self._held.items()):
                if by == link.peer:
                    del self._held[held]
                    self.links[held].heard = time.monotonic()

    def _fail(self, failure: PartnerLostError) -> None:
        """Remember why this partner cannot go on; a reason says more than the end of a connection."""
        self._is_noteworthy = True
        if self._failure is None or (failure.reason and not self._failure.reason):
            self._failure = failure

    def _can_leave(self, open_links: Iterable[Link]) -> bool:
        """Say goodbye once nobody needs this partner, and return whether everything is sent."""
        if self._far and self._failure is None and not all(link.has_left for link in self._near):
            return False
        waiting = 0
        for link in open_links:
            link.leave()
            # Who is gone needs nothing more.
            with suppress(OSError):
                link.write()
                waiting += link.waiting_bytes
        return not waiting

    def _head(self, kind: FrameKind, targets: int) -> bytes:
        return _HEAD.pack(self._layout.me, kind) + targets.to_bytes(self._mask_bytes, "little")


def _lost(error: Exception) -> PartnerLostError:
    if isinstance(error, BadMessageError):
        return PartnerLostError(f"a partner sent something that is not a message: {error}")
    return error if isinstance(error, PartnerLostError) else PartnerLostError()
