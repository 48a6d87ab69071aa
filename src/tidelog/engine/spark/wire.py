"""How partners exchange messages: the contract, and a wire between threads of one process."""

import queue
from collections.abc import Sequence
from dataclasses import field
from typing import Protocol

from tidelog.dataclass import dataclass
from tidelog.engine.spark.message import Message, Rows

# What goes between threads: rows sent ahead, a message, or the reason why one gives up.
_Sent = tuple[Rows, ...] | Message | str


class PartnerLostError(Exception):
    """Another partner is gone or gave up; `reason` is what it reported, if anything."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason or "a partner is gone")
        self.reason = reason


class Wire(Protocol):
    """The partners of one job, of whom this is number `me`.

    All partners call `exchange` equally often. Frames arrive in the order they were sent.
    """

    @property
    def me(self) -> int:
        """Return this partner's number, from 0."""

    @property
    def partners(self) -> int:
        """Return how many there are."""

    def send_ahead(self, tables: Sequence[Sequence[Rows]]) -> None:
        """Send each partner rows that belong to the next exchange, and come first among its rows."""

    def exchange(self, messages: Sequence[Message]) -> list[Message]:
        """Send each partner its message and return what each one sent here, in their order."""

    def give_up(self, reason: str) -> None:
        """Tell all others that this partner gives up."""


def total(wire: Wire, *numbers: int) -> tuple[int, ...]:
    """Return the sums of numbers over all partners."""
    message = Message(tuple(int(number) for number in numbers))
    received = wire.exchange([message] * wire.partners)
    return tuple(sum(column) for column in zip(*(each.numbers for each in received), strict=True))


def most(wire: Wire, *numbers: int) -> tuple[int, ...]:
    """Return the largest of each number over all partners."""
    message = Message(tuple(int(number) for number in numbers))
    received = wire.exchange([message] * wire.partners)
    return tuple(max(column) for column in zip(*(each.numbers for each in received), strict=True))


@dataclass(frozen=True, slots=True)
class ApartWire:
    """The wire of parts that do not depend on each other."""

    me: int
    partners: int

    def send_ahead(self, tables: Sequence[Sequence[Rows]]) -> None:
        """Raise: parts have no connection to each other."""
        raise AssertionError(f"part {self.me} has rows for {len(tables)} others, but no connection")

    def exchange(self, messages: Sequence[Message]) -> list[Message]:
        """Raise: parts have no connection to each other."""
        raise AssertionError(f"part {self.me} has {len(messages)} messages, but no connection")

    def give_up(self, reason: str) -> None:
        """Do nothing: there is no one to tell."""


@dataclass
class ThreadWire:
    """A wire between threads, which `between_threads` makes."""

    me: int
    partners: int
    queues: list[list["queue.SimpleQueue[_Sent]"]] = field(repr=False, default_factory=list)

    def send_ahead(self, tables: Sequence[Sequence[Rows]]) -> None:
        """Put rows into the queues of the others."""
        for other, rows in enumerate(tables):
            if rows:
                self.queues[self.me][other].put(tuple(rows))

    def exchange(self, messages: Sequence[Message]) -> list[Message]:
        """Put messages into the queues of the others and take theirs."""
        for other in range(self.partners):
            self.queues[self.me][other].put(messages[other])
        return [self._take(other) for other in range(self.partners)]

    def _take(self, other: int) -> Message:
        """Return the next message of a partner, with the rows that it sent ahead."""
        tables: tuple[Rows, ...] = ()
        while isinstance(sent := self.queues[other][self.me].get(), tuple):
            tables += sent
        if isinstance(sent, str):
            raise PartnerLostError(sent)
        return Message(sent.numbers, tables + sent.tables, sent.text)

    def give_up(self, reason: str) -> None:
        """Put the reason into the queues of the others."""
        for other in range(self.partners):
            self.queues[self.me][other].put(reason)


def between_threads(partners: int) -> list[ThreadWire]:
    """Return connected wires for this many threads."""
    queues: list[list[queue.SimpleQueue[_Sent]]] = [
        [queue.SimpleQueue() for _ in range(partners)] for _ in range(partners)
    ]
    return [ThreadWire(partner, partners, queues) for partner in range(partners)]
