"""Where partners find each other: the driver, or Spark's own barrier.

Calling the driver takes milliseconds. `BarrierTaskContext.allGather` needs no connection from workers to a
port of the driver, but Spark checks only once a second whether all have arrived.
"""

import json
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from tidelog.engine.spark.greeting import Access, Connection, admit_all, greet, listen
from tidelog.engine.spark.message import Message
from tidelog.engine.spark.sockets import receive, send
from tidelog.engine.spark.wire import PartnerLostError

if TYPE_CHECKING:
    from pyspark import BarrierTaskContext

Place = tuple[str, int]


class Meeting:
    """The driver's side: waits in a thread for all partners and tells each where the others are."""

    def __init__(self, address: str, partners: int, access: Access) -> None:
        self._listener = listen(address, access.ports)
        self._partners = partners
        self._access = access
        self.place: Place = self._listener.getsockname()[:2]
        self.connections: dict[int, Connection] = {}
        self.is_complete = threading.Event()
        self._thread = threading.Thread(target=self._meet, name="tidelog-meeting", daemon=True)
        self._thread.start()

    def _meet(self) -> None:
        cards: dict[int, object] = {}

        def take(partner: int, connection: Connection) -> None:
            connection.settimeout(self._access.wait_seconds)
            card = _card(connection) if partner < self._partners else None
            connection.settimeout(None)
            if card is None:
                connection.close()
                return
            cards[partner] = card
            self.connections[partner] = connection

        try:
            admit_all(self._listener, self._access, lambda: len(cards) == self._partners, take)
        except OSError:
            return  # closed: the job is over
        everybody = Message(text=json.dumps([cards[partner] for partner in range(self._partners)]))
        for connection in self.connections.values():
            try:
                send(connection, everybody)
            except OSError:
                continue  # Spark reports the loss
        self.is_complete.set()

    def close(self) -> None:
        """Stop waiting and hang up."""
        # Closing alone does not wake a thread that accepts.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)
        for connection in self.connections.values():
            connection.close()


def _card(connection: Connection) -> object | None:
    """Return the card that a partner sends, or None if it cannot be read."""
    try:
        card = json.loads(receive(connection).text)
    except (PartnerLostError, ValueError):
        return None
    return card if isinstance(card, dict) else None


def meet_at_driver(
    place: Place, me: int, card: dict[str, object], access: Access
) -> tuple[list[dict[str, object]], Connection]:
    """Return the cards of all partners, and the connection to the driver."""
    try:
        raw = socket.create_connection(place, timeout=access.wait_seconds)
        connection = greet(raw, me, access)
        send(connection, Message(text=json.dumps(card)))
        return json.loads(receive(connection).text), connection
    except OSError as error:
        hint = "give rendezvous='barrier' where workers cannot call the driver"
        raise PartnerLostError(f"partner {me} cannot reach the driver at {place}: {error}; {hint}") from error


def meet_at_barrier(context: "BarrierTaskContext", card: dict[str, object]) -> list[dict[str, object]]:
    """Return the cards of all partners."""
    return [json.loads(each) for each in context.allGather(json.dumps(card))]
