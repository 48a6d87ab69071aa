"""The order of values, as keys that sort codes."""

from collections.abc import Sequence
from math import prod

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.values.codes import Codes, float_order, unsigned_order
from tidelog.values.dictionary import Dictionary
from tidelog.values.nesting import Resolve
from tidelog.values.record_order import rank_records
from tidelog.values.records import Records
from tidelog.values.types import Kind, ValueType


def order_keys(
    codes: Codes, type_name: str, resolve: Resolve, symbols: Dictionary, records: Records
) -> Codes:
    """Return keys, equal for equal codes, whose int64 order is the order of the values.

    Keys of one call are comparable with each other only.
    """
    value_type = resolve(type_name)
    match value_type.kind:
        case Kind.NUMBER:
            return codes
        case Kind.UNSIGNED:
            return unsigned_order(codes)
        case Kind.FLOAT:
            return float_order(codes)
        case Kind.SYMBOL:
            return symbols.ranks_of(codes) if codes.size else codes
        case Kind.RECORD | Kind.ADT:

            def simple_keys(fields: Codes, field_type: ValueType) -> Codes:
                return order_keys(fields, field_type.name, resolve, symbols, records)

            return rank_records(codes, value_type, resolve, simple_keys, records)


def sort_permutation(keys: Sequence[Codes]) -> Codes:
    """Return the stable permutation that sorts rows by `keys`, the first key first."""
    if len(keys) == 1:
        return np.argsort(keys[0], kind="stable")
    packing = Packing.of(keys)
    if packing is not None:
        return np.argsort(packing.pack(keys), kind="stable")
    return np.lexsort(tuple(reversed(keys)))


@dataclass(frozen=True, slots=True)
class Packing:
    """Several keys as one, where their ranges fit 63 bits together.

    The order of the packed keys is that of the rows of keys.
    """

    lows: tuple[int, ...]
    spans: tuple[int, ...]

    @classmethod
    def of(cls, keys: Sequence[Codes]) -> "Packing | None":
        """Return how to pack these keys, None if they do not fit."""
        if keys[0].size == 0:
            return None
        lows = tuple(int(key.min()) for key in keys)
        spans = tuple(int(key.max()) - low + 1 for key, low in zip(keys, lows, strict=True))
        return cls(lows, spans) if prod(spans) < 2**63 else None

    def pack(self, keys: Sequence[Codes]) -> Codes:
        """Return one key for every row of keys."""
        packed: Codes = keys[0] - np.int64(self.lows[0])
        for key, low, span in zip(keys[1:], self.lows[1:], self.spans[1:], strict=True):
            packed *= np.int64(span)
            packed += key
            packed -= np.int64(low)
        return packed

    def unpack(self, packed: Codes) -> list[Codes]:
        """Return the keys that were packed."""
        keys: list[Codes] = []
        for low, span in zip(reversed(self.lows[1:]), reversed(self.spans[1:]), strict=True):
            packed, key = np.divmod(packed, np.int64(span))
            keys.append(key + np.int64(low))
        keys.append(packed + np.int64(self.lows[0]))
        return keys[::-1]
