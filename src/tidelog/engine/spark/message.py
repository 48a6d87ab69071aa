"""What partners send each other: a few numbers and rows of relations, as bytes.

Reading a message never runs code from it: lengths and types are in a JSON header, and the rest is raw
arrays.
"""

import json
import struct
from collections.abc import Sequence
from dataclasses import field

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.storage.kernel import CodeArray, Int32s

_LENGTH = struct.Struct("<I")
_WEIGHT_BYTES = 4
NO_WEIGHTS: Int32s = np.empty(0, np.int32)


class BadMessageError(ValueError):
    """Bytes that are not a message: damaged on their way, or from something that is not a partner."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one relation; `weights`, unless empty, has one number for each row."""

    name: str
    rows: CodeArray
    weights: Int32s = field(default_factory=lambda: NO_WEIGHTS)


@dataclass(frozen=True, slots=True)
class Message:
    """What one partner sends another in one exchange."""

    numbers: tuple[int, ...] = ()
    tables: tuple[Rows, ...] = ()
    text: str = ""


def encode(message: Message) -> list[bytes | memoryview]:
    """Return a message as pieces of bytes, without copying arrays."""
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
    """Return the message in these bytes; its arrays share them.

    Raises `BadMessageError` if they are not a message: too short or too long for what the header says,
    or with a header of another form.
    """
    if len(data) < _LENGTH.size:
        raise BadMessageError("the message ends before its header")
    (length,) = _LENGTH.unpack_from(data)
    place = _LENGTH.size + length
    try:
        head = json.loads(bytes(data[_LENGTH.size : place]))
    except (ValueError, RecursionError) as error:
        raise BadMessageError("the header of the message is not JSON") from error
    match head:
        case {"numbers": [*numbers], "tables": [*described], "text": str(text)}:
            pass
        case _:
            raise BadMessageError("the header of the message is of another form")
    if not all(_is_number(number) for number in numbers):
        raise BadMessageError("the message has a number that is not an integer")
    tables = []
    for each in described:
        table, place = _table(each, data, place)
        tables.append(table)
    if place != len(data):
        raise BadMessageError(f"the message has {len(data)} bytes where {place} should be")
    return Message(tuple(numbers), tuple(tables), text)


def _table(described: object, data: bytes | bytearray | memoryview, place: int) -> tuple[Rows, int]:
    """Return rows that begin at a place, and where they end."""
    match described:
        case [str(name), int(count), int(arity), 4 | 8 as width, 0 | 1 as is_weighted]:
            pass
        case _:
            raise BadMessageError("the header of the message describes no rows")
    end = place + count * arity * width
    weighted_end = end + count * _WEIGHT_BYTES * is_weighted
    if count < 0 or arity < 0 or weighted_end > len(data):
        raise BadMessageError("the message ends before its rows")
    dtype = np.dtype(np.int32 if width == 4 else np.int64)
    rows = np.frombuffer(data, dtype, count * arity, place) if count * arity else np.empty(0, dtype)
    weights = np.frombuffer(data, np.int32, count, end) if is_weighted and count else NO_WEIGHTS
    return Rows(name, rows.reshape(count, arity), weights), weighted_end


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def size(pieces: Sequence[bytes | memoryview]) -> int:
    """Return the bytes of an encoded message."""
    return sum(len(piece) for piece in pieces)
