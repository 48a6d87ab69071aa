"""What partners send each other while they advance a stratum to a new epoch."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple

import numpy as np

from tidelog.engine.spark.agreement import Agreement
from tidelog.engine.spark.message import Message, Rows
from tidelog.engine.spark.ownership import parts_by_owner
from tidelog.engine.spark.routes import Routes
from tidelog.engine.spark.wire import Wire
from tidelog.program.nodes import Relation
from tidelog.storage.kernel import CodeArray, Int32s


class ParcelKind(Enum):
    """What derivations found by one partner mean for heads that another one owns."""

    LOST = "lost"
    FOUND_AGAIN = "again"
    # Newly possible, by a rule that all affected heads asked for derivations.
    POSSIBLE = "possible"
    # The same by a rule that only affected heads asked which were input facts.
    POSSIBLE_ONCE = "once"
    BETTER = "better"


class Parcel(NamedTuple):
    """Heads of one relation, with the level that a derivation gives each of them."""

    kind: ParcelKind
    relation: str
    rows: CodeArray
    levels: Int32s


class LevelNote(NamedTuple):
    """The lowest level at which a partner has rows waiting, its work so far, and how many rows wait."""

    level: int
    work: int
    facts: int = 0


def notes_in(messages: list[Message]) -> list[LevelNote]:
    """Return the note of each partner about its level."""
    return [LevelNote(*message.numbers) for message in messages]


class Outbox:
    """Parcels that wait to be sent to the owners of their heads."""

    def __init__(self, routes: Routes, wire: Wire) -> None:
        self._routes = routes
        self._wire = wire
        self._waiting: dict[tuple[ParcelKind, str], list[tuple[CodeArray, Int32s]]] = defaultdict(list)
        self._agree: Callable[[], Agreement | None] | None = None
        self._relations: Mapping[str, Relation] = {}

    def agree_with(self, agree: Callable[[], Agreement | None], relations: Mapping[str, Relation]) -> None:
        """Let partners agree on the codes of new values before heads that have them are sent."""
        self._agree, self._relations = agree, relations

    def put(self, kind: ParcelKind, relation: str, rows: CodeArray, levels: Int32s) -> None:
        """Queue a parcel."""
        if rows.shape[0]:
            self._waiting[kind, relation].append((rows, levels.astype(np.int32, copy=False)))

    def exchange(self) -> Iterator[Parcel]:
        """Send all parcels and yield those received for heads owned here."""
        tables: list[list[Rows]] = [[] for _ in range(self._wire.partners)]
        agreement = None if self._agree is None else self._agree()
        for (kind, relation), parts in self._waiting.items():
            rows = np.concatenate([part for part, _ in parts])
            if agreement is not None:
                rows = agreement.rows(rows, self._relations[relation])
            levels = np.concatenate([part for _, part in parts])
            route = self._routes.relations[relation]
            for partner, part in parts_by_owner(rows, route.owner, self._wire.partners, route.heavy):
                tables[partner].append(Rows(f"{kind.value} {relation}", rows[part], levels[part]))
        self._waiting.clear()
        for message in self._wire.exchange([Message((), tuple(each)) for each in tables]):
            for table in message.tables:
                kind_name, _, relation = table.name.partition(" ")
                yield Parcel(ParcelKind(kind_name), relation, table.rows, table.weights)
