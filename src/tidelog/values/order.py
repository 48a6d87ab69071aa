"""The order of values, as keys that sort codes."""

from collections.abc import Sequence

import numpy as np

from tidelog.values.codes import Codes, float_order, unsigned_order
from tidelog.values.dictionary import Dictionary
from tidelog.values.record_order import Resolve, rank_records
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
            return symbols.ranks()[codes] if codes.size else codes
        case Kind.RECORD | Kind.ADT:

            def simple_keys(fields: Codes, field_type: ValueType) -> Codes:
                return order_keys(fields, field_type.name, resolve, symbols, records)

            return rank_records(codes, value_type, resolve, simple_keys, records)


def sort_permutation(keys: Sequence[Codes]) -> Codes:
    """Return the stable permutation that sorts rows by `keys`, the first key first."""
    if len(keys) == 1:
        return np.argsort(keys[0], kind="stable")
    packed = _packed(keys)
    if packed is not None:
        return np.argsort(packed, kind="stable")
    return np.lexsort(tuple(reversed(keys)))


def _packed(keys: Sequence[Codes]) -> Codes | None:
    """Return one key in the place of several, where their ranges fit 63 bits together."""
    if keys[0].size == 0:
        return None
    lows = [int(key.min()) for key in keys]
    spans = [int(key.max()) - low + 1 for key, low in zip(keys, lows, strict=True)]
    total = 1
    for span in spans:
        total *= span
    if total >= 2**63:
        return None
    packed = keys[0] - np.int64(lows[0])
    for key, low, span in zip(keys[1:], lows[1:], spans[1:], strict=True):
        packed *= np.int64(span)
        packed += key
        packed -= np.int64(low)
    return packed
