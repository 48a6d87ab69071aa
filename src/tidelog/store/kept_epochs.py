"""Old epochs in a store: what each changed, so that they can be read after a snapshot too.

A file has the epochs between two snapshots: their deltas, and the texts that the program had.
"""

import json
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import RelationChange
from tidelog.engine.protocol import Codes
from tidelog.source import Source
from tidelog.store.manifest import StoredFile
from tidelog.store.sync import digest


@dataclass(frozen=True, slots=True)
class KeptEpoch:
    """An epoch: the facts of all relations that it changed, and the input facts among its changes."""

    epoch: int
    seconds: float
    facts: Mapping[str, RelationChange]
    inputs: Mapping[str, RelationChange]


@dataclass(frozen=True, slots=True)
class KeptEpochs:
    """Epochs one after the other, and the texts of the program with the epoch that each begins in.

    The first text is that of the epoch before the first one.
    """

    epochs: tuple[KeptEpoch, ...]
    texts: tuple[tuple[int, tuple[Source, ...]], ...]


def write_kept_epochs(folder: Path, file: str, kept: KeptEpochs) -> StoredFile:
    """Write epochs to a file, safe on the disk; return how a manifest names it."""
    blobs: list[bytes] = []
    header = {
        "texts": [[epoch, [[each.name, each.text] for each in sources]] for epoch, sources in kept.texts],
        "epochs": [
            [each.epoch, each.seconds, _write(each.facts, blobs), _write(each.inputs, blobs)]
            for each in kept.epochs
        ],
    }
    text = json.dumps(header).encode()
    data = zlib.compress(b"".join([struct.pack("<Q", len(text)), text, *blobs]), level=1)
    with (folder / file).open("wb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())
    last = kept.epochs[-1].epoch
    return StoredFile(file, len(data), digest(data).hex(), len(kept.epochs), str(last))


def last_epoch(file: StoredFile) -> int:
    """Return the last epoch of a file."""
    return int(file.content)


def read_kept_epochs(data: bytes) -> KeptEpochs:
    """Return the epochs that a file's content holds."""
    content = memoryview(zlib.decompress(data))
    (size,) = struct.unpack_from("<Q", content)
    header = json.loads(bytes(content[8 : 8 + size]))
    reader = _Reader(content[8 + size :])
    epochs = tuple(
        KeptEpoch(epoch, seconds, reader.changes(facts), reader.changes(inputs))
        for epoch, seconds, facts, inputs in header["epochs"]
    )
    texts = tuple(
        (epoch, tuple(Source(name, text) for name, text in sources)) for epoch, sources in header["texts"]
    )
    return KeptEpochs(epochs, texts)


def _write(changes: Mapping[str, RelationChange], blobs: list[bytes]) -> list[Any]:
    """Add the codes of changes to the blobs; return names, and how many codes of which size each side has."""
    described: list[Any] = []
    for name, change in changes.items():
        sides = [_write_side(side, blobs) for side in (change.inserted, change.deleted)]
        described.append([name, *sides])
    return described


def _write_side(columns: Sequence[Codes], blobs: list[bytes]) -> list[int]:
    count = len(columns[0]) if columns else 0
    is_narrow = all(column.min() >= -(1 << 31) and column.max() < 1 << 31 for column in columns if count)
    blobs += [column.astype("<i4" if is_narrow else "<i8").tobytes() for column in columns]
    return [len(columns), count, 4 if is_narrow else 8]


class _Reader:
    """Reads codes one side after another."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._place = 0

    def changes(self, described: Sequence[Any]) -> dict[str, RelationChange]:
        return {
            name: RelationChange(self._side(*inserted), self._side(*deleted))
            for name, inserted, deleted in described
        }

    def _side(self, width: int, count: int, size: int) -> list[Codes]:
        return [self._column(count, size) for _ in range(width)]

    def _column(self, count: int, size: int) -> Codes:
        data = self._data[self._place : self._place + count * size]
        self._place += count * size
        return np.frombuffer(data, f"<i{size}").astype(np.int64)
