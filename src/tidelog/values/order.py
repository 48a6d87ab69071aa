"""The order of values, as keys that sort codes."""

from collections.abc import Callable, Sequence

import numpy as np

from tidelog.values.codes import Codes, float_order, unsigned_order
from tidelog.values.dictionary import Dictionary
from tidelog.values.records import NIL, Records
from tidelog.values.types import Kind, ValueType

Resolve = Callable[[str], ValueType]


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
            return _Ranking(resolve, symbols, records).keys(codes, value_type)


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


class _Ranking:
    """Ranks records and values of algebraic types by their fields.

    Codes are ranked by height, the lowest first: a record's fields are ranked before it. Each
    further height ranks all lower records of the type again, so that ranks of one type can
    always be compared.
    """

    def __init__(self, resolve: Resolve, symbols: Dictionary, records: Records) -> None:
        self._resolve = resolve
        self._symbols = symbols
        self._records = records
        self._reached: dict[str, Codes] = {}
        self._ranks: dict[str, tuple[Codes, Codes]] = {}

    def keys(self, codes: Codes, value_type: ValueType) -> Codes:
        self._reach(np.unique(codes), value_type)
        heights = self._heights()
        empty = np.empty(0, dtype=np.int64)
        self._ranks = dict.fromkeys(self._reached, (empty, empty))
        top = max((int(h.max()) for h in heights.values() if h.size), default=0)
        for height in range(top + 1):
            fresh = {}
            for name, reached in self._reached.items():
                if (heights[name] == height).any():
                    known = reached[heights[name] <= height]
                    fresh[name] = (known, self._rank(known, self._resolve(name)))
            self._ranks.update(fresh)
        known, ranks = self._ranks[value_type.name]
        return ranks[np.searchsorted(known, codes)]

    def _nested(self, codes: Codes, value_type: ValueType) -> list[tuple[ValueType, Codes, Codes]]:
        """Return, for each field that is a record itself, its type, the owners and its codes."""
        found = []
        for owners, types, rows in self._parts(codes, value_type):
            for position, name in enumerate(types):
                field_type = self._resolve(name)
                if field_type.kind in (Kind.RECORD, Kind.ADT):
                    found.append((field_type, owners, rows[:, position]))
        return found

    def _parts(self, codes: Codes, value_type: ValueType) -> list[tuple[Codes, list[str], Codes]]:
        """Return, for each shape of the type, the positions in `codes`, field types and fields."""
        if value_type.kind is Kind.RECORD:
            owners = np.flatnonzero(codes != NIL)
            types = [field.type for field in value_type.fields]
            return [(owners, types, self._records.unpack(codes[owners], len(types)))]
        parts = []
        branches = self._records.branches(codes)
        for position, branch in enumerate(value_type.branches):
            owners = np.flatnonzero(branches == position)
            types = [field.type for field in branch.fields]
            rows = self._records.unpack(codes[owners], len(types) + 1)[:, 1:]
            parts.append((owners, types, rows))
        return parts

    def _reach(self, codes: Codes, value_type: ValueType) -> None:
        waiting = [(value_type, codes)]
        while waiting:
            value_type, codes = waiting.pop()
            known = self._reached.get(value_type.name)
            fresh = codes if known is None else np.setdiff1d(codes, known)
            if known is not None and fresh.size == 0:
                continue
            self._reached[value_type.name] = fresh if known is None else np.union1d(known, fresh)
            for field_type, _, fields in self._nested(fresh, value_type):
                waiting.append((field_type, np.unique(fields)))

    def _heights(self) -> dict[str, Codes]:
        """Return the height of every reached code: 0, or one more than its highest field."""
        heights = {name: np.zeros(codes.size, dtype=np.int64) for name, codes in self._reached.items()}
        changed = True
        while changed:
            changed = False
            for name, codes in self._reached.items():
                for field_type, owners, fields in self._nested(codes, self._resolve(name)):
                    places = np.searchsorted(self._reached[field_type.name], fields)
                    wanted = heights[field_type.name][places] + 1
                    if (wanted > heights[name][owners]).any():
                        heights[name][owners] = np.maximum(heights[name][owners], wanted)
                        changed = True
        return heights

    def _rank(self, codes: Codes, value_type: ValueType) -> Codes:
        ranks = np.zeros(codes.size, dtype=np.int64)
        start = int((codes == NIL).any()) if value_type.kind is Kind.RECORD else 0
        parts = self._parts(codes, value_type)
        if value_type.kind is Kind.ADT:
            names = [branch.name for branch in value_type.branches]
            parts = [parts[i] for i in sorted(range(len(names)), key=names.__getitem__)]
        for owners, types, rows in parts:
            keys = [self._field_keys(rows[:, i], self._resolve(name)) for i, name in enumerate(types)]
            if keys and owners.size:
                order = sort_permutation(keys)
                ranks[owners[order]] = np.arange(start, start + owners.size)
            else:
                ranks[owners] = start
            start += owners.size
        return ranks

    def _field_keys(self, codes: Codes, field_type: ValueType) -> Codes:
        if field_type.kind in (Kind.RECORD, Kind.ADT):
            known, ranks = self._ranks[field_type.name]
            return ranks[np.searchsorted(known, codes)] if codes.size else codes
        return order_keys(codes, field_type.name, self._resolve, self._symbols, self._records)
