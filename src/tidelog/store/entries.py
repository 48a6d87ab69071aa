"""What the log says of an epoch, as bytes.

An epoch is two entries. The first one, written before the engine works, says what changes; the
second one, written after, that it did. Each brings the texts and records that got codes meanwhile.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import RelationChange
from tidelog.source import Source
from tidelog.store.growth import Growth, KnownCodes, codes_from
from tidelog.values import Codes

_GROWTH_BLOBS: Final = 4


@dataclass(frozen=True)
class ChangeEntry:
    """An epoch that inserts and deletes input facts; with `sources` it goes on with another program too."""

    epoch: int
    growth: Growth
    changes: Mapping[str, RelationChange]
    sources: tuple[Source, ...] | None = None


@dataclass(frozen=True)
class CommitEntry:
    """The end of an epoch, with the seconds that the engine took for it."""

    epoch: int
    growth: Growth
    seconds: float


Entry = ChangeEntry | CommitEntry


def write_entry(entry: Entry) -> bytes:
    """Return the entry as bytes: a JSON object, which tells the lengths of the blobs that follow."""
    header: dict[str, Any] = {
        "epoch": entry.epoch,
        "known": [entry.growth.known.symbols, entry.growth.known.records],
    }
    blobs = entry.growth.blobs()
    match entry:
        case ChangeEntry():
            header["kind"] = _kind(entry)
            header["relations"] = [
                [name, len(change.inserted), len(change.deleted)] for name, change in entry.changes.items()
            ]
            for change in entry.changes.values():
                blobs += [column.astype("<i8").tobytes() for column in (*change.inserted, *change.deleted)]
            if entry.sources is not None:
                header["sources"] = [[source.name, source.text] for source in entry.sources]
        case CommitEntry():
            header["kind"] = "commit"
            header["seconds"] = entry.seconds
    header["lengths"] = [len(blob) for blob in blobs]
    text = json.dumps(header).encode()
    return b"".join([struct.pack("<I", len(text)), text, *blobs])


def read_entry(data: memoryview) -> Entry:
    """Return the entry that was written as these bytes."""
    (size,) = struct.unpack_from("<I", data)
    header = json.loads(bytes(data[4 : 4 + size]))
    blobs: list[memoryview] = []
    place = 4 + size
    for length in header["lengths"]:
        blobs.append(data[place : place + length])
        place += length
    growth = Growth.from_blobs(KnownCodes(*header["known"]), blobs[:_GROWTH_BLOBS])
    match header["kind"]:
        case "facts" | "rules" | "rules and facts":
            columns = [codes_from(blob) for blob in blobs[_GROWTH_BLOBS:]]
            sources = None
            if "sources" in header:
                sources = tuple(Source(name, text) for name, text in header["sources"])
            # Entries of earlier versions that change rules say nothing of relations.
            changes = _changes(header.get("relations", ()), columns)
            return ChangeEntry(header["epoch"], growth, changes, sources)
        case kind:
            assert kind == "commit", "an entry of another format"
            return CommitEntry(header["epoch"], growth, header["seconds"])


def _kind(entry: ChangeEntry) -> str:
    """Return a word of its own for rules with facts: versions that know only either must not go on."""
    if entry.sources is None:
        return "facts"
    return "rules and facts" if entry.changes else "rules"


def _changes(
    relations: Sequence[tuple[str, int, int]], columns: Sequence[Codes]
) -> dict[str, RelationChange]:
    changes: dict[str, RelationChange] = {}
    place = 0
    for name, inserted, deleted in relations:
        middle, end = place + inserted, place + inserted + deleted
        changes[name] = RelationChange(columns[place:middle], columns[middle:end])
        place = end
    return changes
