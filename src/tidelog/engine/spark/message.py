"""What partners send each other: a few numbers and rows of relations, as bytes.

A message is read without running anything it says: lengths and types stand in a JSON header, and the
rest is raw arrays.
"""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tidelog.storage.kernel import CodeArray, Int32s

_LENGTH = struct.Struct("<I")
NO_WEIGHTS: Int32s = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one relation; `weights`, unless empty, has one number for each row."""

    name: str
    rows: CodeArray
    weights: Int32s = field(default_factory=lambda: NO_WEIGHTS)


@dataclass(frozen=True, slots=True)
class Message:
    """What one partner tells another in one exchange."""

    numbers: tuple[int, ...] = ()
    tables: tuple[Rows, ...] = ()
    text: str = ""


def encode(message: Message) -> list[bytes | memoryview]:
    """Return a message as pieces of bytes, arrays not copied."""
    tables = [table for table in message.tables if table.rows.shape[0]]
    head = {
        "numbers": message.numbers,
        "text": message.text,
        "tables": [[t.name, *t.rows.shape, t.rows.dtype.itemsize, int(t.weights.size > 0)] for t in tables],
    }
    header = json.dumps(head).encode()
    pieces: list[bytes | memoryview] = [_LENGTH.pack(len(header)) + header]
    for table in tables:
        arrays = (table.rows, table.weights)
        pieces.extend(np.ascontiguousarray(array).data.cast("B") for array in arrays if array.size)
    return pieces


def decode(data: bytes | bytearray | memoryview) -> Message:
    """Return the message in these bytes; its arrays share them."""
    (length,) = _LENGTH.unpack_from(data)
    head = json.loads(bytes(data[4 : 4 + length]))
    place = 4 + length
    tables = []
    for name, count, arity, itemsize, is_weighted in head["tables"]:
        dtype = np.dtype(np.int32 if itemsize == 4 else np.int64)
        rows = np.frombuffer(data, dtype, count * arity, place).reshape(count, arity)
        place += rows.nbytes
        weights = NO_WEIGHTS
        if is_weighted:
            weights = np.frombuffer(data, np.int32, count, place)
            place += weights.nbytes
        tables.append(Rows(name, rows, weights))
    return Message(tuple(head["numbers"]), tuple(tables), head["text"])


def size(pieces: Sequence[bytes | memoryview]) -> int:
    """Return the bytes of an encoded message."""
    return sum(len(piece) for piece in pieces)
