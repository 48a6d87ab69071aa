"""The order of records and of values of algebraic types.

Such values are compared by their fields, which may be records again, to any depth. They are
ranked by height, the lowest first, so that the fields of a value are ranked before it; each
height is merged into the order of the lower ones.
"""

from collections.abc import Callable

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.values.codes import Codes
from tidelog.values.nesting import NESTED, Nesting, Resolve, SameFields
from tidelog.values.records import Records
from tidelog.values.types import Kind, ValueType

SimpleKeys = Callable[[Codes, ValueType], Codes]

# A height with more than this part of what is known is sorted together with it.
_MERGED_PART = 8


def rank_records(
    codes: Codes, value_type: ValueType, resolve: Resolve, simple_keys: SimpleKeys, records: Records
) -> Codes:
    """Return keys whose int64 order is the order of the records that `codes` stand for.

    `simple_keys` gives the keys of fields that are not records.
    """
    if codes.size == 0:
        return codes
    nesting = Nesting([(value_type, codes)], resolve, records)
    return _Ranking(nesting, simple_keys).keys(codes, value_type)


@dataclass(slots=True)
class _Column:
    """One position of the compared rows of a type.

    Where `child_types` is -1 the key is in `keys`; elsewhere `keys` holds the code of a record
    of that type, whose rank is the key.
    """

    keys: Codes
    child_types: Codes
    bound: int


@dataclass(slots=True)
class _Members:
    """All values of one type that are to be ranked, by ascending code."""

    codes: Codes
    columns: list[_Column]
    order: Codes


class _Ranking:
    def __init__(self, nesting: Nesting, simple_keys: SimpleKeys) -> None:
        self._nesting = nesting
        self._simple_keys = simple_keys
        none = np.empty(0, dtype=np.int64)
        self._members = [_Members(members, [], none) for members in nesting.members]
        self._ranks: Codes = np.zeros((len(nesting.members), nesting.size), dtype=np.int64)

    def keys(self, codes: Codes, value_type: ValueType) -> Codes:
        for number, members in enumerate(self._members):
            members.columns = self._columns(members.codes, self._nesting.types[number])
        levels = self._nesting.levels()
        for height in range(max(map(len, levels))):
            for number, level in enumerate(levels):
                if height < len(level) and level[height].size:
                    self._merge(number, level[height])
        ranks: Codes = self._ranks[self._nesting.numbers[value_type.name]]
        return ranks[codes]

    # --- keys ------------------------------------------------------------------------------

    def _columns(self, codes: Codes, value_type: ValueType) -> list[_Column]:
        """Return the compared rows by column: the shape (nil and branches by name) first."""
        shapes = self._nesting.shapes(codes, value_type)
        width = max((len(shape.types) for shape in shapes), default=0)
        first = _Column(np.zeros(codes.size, np.int64), np.full(codes.size, -1), len(shapes) + 1)
        names = sorted(branch.name for branch in value_type.branches)
        for position, shape in enumerate(shapes):
            is_branch = value_type.kind is Kind.ADT
            first.keys[shape.rows] = names.index(value_type.branches[position].name) if is_branch else 1
        columns = [first]
        for position in range(width):
            column = _Column(np.zeros(codes.size, np.int64), np.full(codes.size, -1), 1)
            for shape in shapes:
                if position < len(shape.types):
                    self._fill(column, shape, position)
            columns.append(column)
        return columns

    def _fill(self, column: _Column, shape: SameFields, position: int) -> None:
        fields, field_type = shape.fields[:, position], shape.types[position]
        if field_type.kind in NESTED:
            if shape.rows.size:
                number = self._nesting.numbers[field_type.name]
                column.keys[shape.rows] = fields
                column.child_types[shape.rows] = number
                column.bound = max(column.bound, self._members[number].codes.size)
            return
        distinct, dense = np.unique(self._simple_keys(fields, field_type), return_inverse=True)
        column.keys[shape.rows] = dense
        column.bound = max(column.bound, distinct.size)

    def _row_keys(self, members: _Members, rows: Codes) -> list[Codes]:
        """Return the keys of rows, column by column, in one column if that is possible."""
        keys = []
        for column in members.columns:
            own, children = column.keys[rows], column.child_types[rows]
            is_nested = children >= 0
            if is_nested.any():
                own = np.where(is_nested, self._ranks[children, np.where(is_nested, own, 0)], own)
            keys.append(own)
        bound = 1
        for column in members.columns:
            bound *= column.bound
        if bound >= 2**63:
            return keys
        packed = keys[0]
        for key, column in zip(keys[1:], members.columns[1:], strict=True):
            packed = packed * column.bound + key
        return [packed]

    def _merge(self, number: int, rows: Codes) -> None:
        """Put more members into the order of those already ranked."""
        members = self._members[number]
        if members.order.size > _MERGED_PART * rows.size:
            known = self._row_keys(members, members.order)
            added = self._row_keys(members, rows)
            if len(known) == 1:
                by_key = np.argsort(added[0], kind="stable")
                places = np.searchsorted(known[0], added[0][by_key])
                members.order = np.insert(members.order, places, rows[by_key])
                self._number(number)
                return
        together = np.concatenate([members.order, rows])
        members.order = together[np.lexsort(tuple(reversed(self._row_keys(members, together))))]
        self._number(number)

    def _number(self, number: int) -> None:
        members = self._members[number]
        self._ranks[number, members.codes[members.order]] = np.arange(members.order.size)
