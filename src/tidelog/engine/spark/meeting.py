"""Where partners find each other: the driver, or Spark's own barrier.

Calling the driver takes milliseconds. `BarrierTaskContext.allGather` needs no connection from workers to a
port of the driver, but Spark checks only once a second whether all have arrived.

The driver listens until the job is over, because Spark may start a task again: the new one calls too, and
takes the place of the one that was lost.
"""

import json
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from tidelog.dataclass import dataclass
from tidelog.engine.spark.greeting import Access, Connection, admit_all, greet, listen
from tidelog.engine.spark.message import Message
from tidelog.engine.spark.sockets import Card, receive, send
from tidelog.engine.spark.wire import PartnerLostError

if TYPE_CHECKING:
    from pyspark import BarrierTaskContext

Place = tuple[str, int]
_LOOK_AGAIN_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Caller:
    """A partner that waits to hear where the others are."""

    card: Card
    connection: Connection


class Meeting:
    """The driver's side: admits partners in a thread, each until somebody asks for it."""

    def __init__(self, address: str, partners: int, access: Access) -> None:
        self._listener = listen(address, access.ports)
        self._partners = partners
        self._access = access
        self.place: Place = self._listener.getsockname()[:2]
        self._callers: dict[int, Caller] = {}
        self._introduced: list[Caller] = []
        self._changed = threading.Condition()
        self._is_closed = False
        self._threads = [threading.Thread(target=self._admit, name="tidelog-meeting", daemon=True)]
        self._threads[0].start()

    def _admit(self) -> None:
        # A listener that is closed ends it: the job is over.
        with suppress(OSError):
            admit_all(self._listener, self._access, lambda: self._is_closed, self._take)

    def _take(self, partner: int, connection: Connection) -> None:
        connection.settimeout(self._access.wait_seconds)
        card = _card(connection) if partner < self._partners else None
        connection.settimeout(None)
        if card is None:
            connection.close()
            return
        with self._changed:
            # Of two tasks of one partner, the later one is more likely to be there still.
            earlier = self._callers.get(partner)
            self._callers[partner] = Caller(card, connection)
            self._changed.notify_all()
        if earlier is not None:
            _dismiss(earlier)

    def wait_for(
        self, partners: Collection[int], is_over: Callable[[], bool], seconds: float
    ) -> dict[int, Caller] | None:
        """Return callers for these partners once all are there, or None if the job or the time is over."""
        until = time.monotonic() + seconds
        with self._changed:
            while not self._callers.keys() >= set(partners):
                if self._is_closed or is_over() or time.monotonic() > until:
                    return None
                self._changed.wait(_LOOK_AGAIN_SECONDS)
            return {partner: self._callers.pop(partner) for partner in partners}

    def introduce_all(self) -> None:
        """Tell partners of each other as soon as all are there, from a thread."""

        def lead() -> None:
            found = self.wait_for(range(self._partners), lambda: False, float("inf"))
            if found is not None:
                self._introduced = list(found.values())
                introduce(found)

        self._threads.append(threading.Thread(target=lead, name="tidelog-introducing", daemon=True))
        self._threads[-1].start()

    def close(self) -> None:
        """Stop waiting, and let callers that nobody asked for end."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        # Closing alone does not wake a thread that accepts.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)
        for caller in self._callers.values():
            _dismiss(caller)
        for caller in self._introduced:
            caller.connection.close()


def introduce(callers: Mapping[int, Caller]) -> None:
    """Send all partners the cards of all; whoever is gone by now is noticed by the others."""
    everybody = Message(text=json.dumps([callers[partner].card for partner in range(len(callers))]))
    for caller in callers.values():
        with suppress(OSError):
            send(caller.connection, everybody)


def _dismiss(caller: Caller) -> None:
    """Tell a caller that it is not needed."""
    with suppress(OSError):
        send(caller.connection, Message())
    caller.connection.close()


def _card(connection: Connection) -> Card | None:
    """Return the card that a partner sends, or None if it cannot be read."""
    try:
        card = json.loads(receive(connection).text)
    except (PartnerLostError, ValueError):
        return None
    return card if isinstance(card, dict) else None


def meet_at_driver(place: Place, me: int, card: Card, access: Access) -> tuple[list[Card], Connection]:
    """Return the cards of all partners, and the connection to the driver; no cards if it needs nobody."""
    try:
        raw = socket.create_connection(place, timeout=access.wait_seconds)
        connection = greet(raw, me, access)
        try:
            send(connection, Message(text=json.dumps(card)))
            return json.loads(receive(connection).text or "[]"), connection
        except BaseException:
            connection.close()
            raise
    except OSError as error:
        hint = "give rendezvous='barrier' where workers cannot call the driver"
        raise PartnerLostError(f"partner {me} cannot reach the driver at {place}: {error}; {hint}") from error


def meet_at_barrier(context: "BarrierTaskContext", card: Card) -> list[Card]:
    """Return the cards of all partners."""
    return [json.loads(each) for each in context.allGather(json.dumps(card))]
