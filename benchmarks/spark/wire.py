"""What partners send each other in an evaluation: exchanges, messages and bytes, counted in threads."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.data import facts_folder
from benchmarks.spark.model import connections
from tidelog.engine.spark.message import Message, Rows, encode, size
from tidelog.engine.spark.wire import ThreadWire, between_threads

_PARTNERS: Final = (1, 2, 4, 8)


@dataclass
class CountingWire:
    """A wire that counts what goes to others; see `tidelog.engine.spark.wire.Wire`."""

    wire: ThreadWire
    exchanges: int = 0
    messages: int = 0
    sent: int = 0
    # Bytes of rows that went while rules were still running.
    ahead: int = 0

    @property
    def me(self) -> int:
        """Return this partner's number."""
        return self.wire.me

    @property
    def partners(self) -> int:
        """Return how many there are."""
        return self.wire.partners

    def send_ahead(self, tables: Sequence[Sequence[Rows]]) -> None:
        """Count and pass on."""
        others = [Message((), tuple(rows)) for other, rows in enumerate(tables) if rows and other != self.me]
        self.messages += len(others)
        self.sent += sum(size(encode(message)) for message in others)
        self.ahead += sum(table.rows.nbytes for message in others for table in message.tables)
        self.wire.send_ahead(tables)

    def exchange(self, messages: Sequence[Message]) -> list[Message]:
        """Count and pass on."""
        others = [message for partner, message in enumerate(messages) if partner != self.me]
        self.exchanges += 1
        self.messages += len(others)
        self.sent += sum(size(encode(message)) for message in others)
        return self.wire.exchange(messages)

    def give_up(self, reason: str) -> None:
        """Pass it on."""
        self.wire.give_up(reason)


def run_wire(options: argparse.Namespace) -> int:
    """Print what is sent for each number of partners; return 1 if a size was wrong."""
    from benchmarks.spark.subject import SUBJECTS, Subject  # noqa: PLC0415 - it brings numpy and the engine
    from benchmarks.spark.threads import partners_cpu  # noqa: PLC0415 - as above

    is_exact, found = True, []
    for name in options.names or ("cspa100k",):
        folder = facts_folder(SUBJECTS[name], options.data, options.cache)
        if folder is None:
            print(f"{name}: skipped: its data set was not found; see benchmarks/README.md")
            continue
        subject = Subject.read(name, folder)
        for partners in options.rows or _PARTNERS:
            wires = [CountingWire(wire) for wire in between_threads(partners)]
            _, sizes = partners_cpu(subject, partners, wires)
            is_exact &= sizes == dict(SUBJECTS[name].expected)
            found.append(
                {
                    "workload": name,
                    "partners": partners,
                    "connections": {each: connections(partners, each) for each in (1, 2, 4)},
                    "exchanges": wires[0].exchanges,
                    "messages": sum(wire.messages for wire in wires),
                    "MB": round(sum(wire.sent for wire in wires) / 1e6, 1),
                    "MB ahead": round(sum(wire.ahead for wire in wires) / 1e6, 1),
                    "is exact": is_exact,
                }
            )
            print(json.dumps(found[-1]), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1), "utf-8")
    return 0 if is_exact else 1
