"""The order of records and of values of algebraic types.

Such values are compared by their fields, which may be records again, to any depth. They are
ranked by height, the lowest first, so that the fields of a value are ranked before it; each
height is merged into the order of the lower ones.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.kernels import kernel
from tidelog.values.codes import Codes
from tidelog.values.records import NIL, Records
from tidelog.values.types import Kind, ValueType

Resolve = Callable[[str], ValueType]
SimpleKeys = Callable[[Codes, ValueType], Codes]

_NESTED = (Kind.RECORD, Kind.ADT)
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
    ranking = _Ranking(resolve, simple_keys, records)
    return ranking.keys(codes, value_type)


@dataclass(frozen=True, slots=True)
class _Shape:
    """Values of one type that have the same fields: the records, or those of one branch."""

    rows: Codes
    types: list[ValueType]
    fields: Codes


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
    def __init__(self, resolve: Resolve, simple_keys: SimpleKeys, records: Records) -> None:
        self._resolve = resolve
        self._simple_keys = simple_keys
        self._records = records
        self._size = len(records)
        self._numbers: dict[str, int] = {}
        self._types: list[ValueType] = []
        self._members: list[_Members] = []
        self._ranks: Codes = np.empty((0, 0), dtype=np.int64)

    def keys(self, codes: Codes, value_type: ValueType) -> Codes:
        reached = self._reach(codes, value_type)
        none = np.empty(0, dtype=np.int64)
        self._members = [_Members(members, [], none) for members in reached]
        for number, members in enumerate(self._members):
            members.columns = self._columns(members.codes, self._types[number])
        self._ranks = np.zeros((len(reached), self._size), dtype=np.int64)
        levels = [self._by_height(number, heights) for number, heights in enumerate(self._heights())]
        for height in range(max(map(len, levels))):
            for number, level in enumerate(levels):
                if height < len(level) and level[height].size:
                    self._merge(number, level[height])
        ranks: Codes = self._ranks[self._numbers[value_type.name]]
        return ranks[codes]

    # --- which values, and of which height -------------------------------------------------

    def _reach(self, codes: Codes, value_type: ValueType) -> list[Codes]:
        """Return the codes of every type that `codes` hold, themselves included."""
        seen: list[npt.NDArray[np.bool_]] = []
        waiting = [(value_type, codes)]
        while waiting:
            item_type, found = waiting.pop()
            number = self._numbers.setdefault(item_type.name, len(self._types))
            if number == len(self._types):
                self._types.append(item_type)
                seen.append(np.zeros(self._size, dtype=np.bool_))
            fresh = np.unique(found[~seen[number][found]])
            seen[number][fresh] = True
            for shape in self._shapes(fresh, item_type):
                for position, field_type in enumerate(shape.types):
                    if field_type.kind in _NESTED and shape.rows.size:
                        waiting.append((field_type, shape.fields[:, position]))
        return [np.flatnonzero(flags) for flags in seen]

    def _shapes(self, codes: Codes, value_type: ValueType) -> list[_Shape]:
        if value_type.kind is Kind.RECORD:
            rows = np.flatnonzero(codes != NIL)
            types = [self._resolve(field.type) for field in value_type.fields]
            return [_Shape(rows, types, self._records.unpack(codes[rows], len(types)))]
        shapes = []
        positions = self._records.branches(codes)
        for position, branch in enumerate(value_type.branches):
            rows = np.flatnonzero(positions == position)
            types = [self._resolve(field.type) for field in branch.fields]
            shapes.append(_Shape(rows, types, self._records.unpack(codes[rows], len(types) + 1)[:, 1:]))
        return shapes

    def _heights(self) -> Codes:
        """Return the height of every code by type: 0, or one more than its highest field."""
        owners, children = [], []
        for number, members in enumerate(self._members):
            for column in members.columns:
                rows = np.flatnonzero(column.child_types >= 0)
                owners.append(members.codes[rows] + number * self._size)
                children.append(column.keys[rows] + column.child_types[rows] * self._size)
        heights = np.zeros(len(self._members) * self._size, dtype=np.int64)
        settled = raise_heights(heights, np.concatenate(owners), np.concatenate(children))
        assert settled == heights.size, "a record inside itself"
        return heights.reshape(len(self._members), self._size)

    def _by_height(self, number: int, heights: Codes) -> list[Codes]:
        """Return the rows of the type's members of height 0, 1, 2 ..."""
        own = heights[self._members[number].codes]
        rows = np.argsort(own, kind="stable")
        ends = np.cumsum(np.bincount(own))
        return np.split(rows, ends[:-1])

    # --- keys ------------------------------------------------------------------------------

    def _columns(self, codes: Codes, value_type: ValueType) -> list[_Column]:
        """Return the compared rows by column: the shape (nil and branches by name) first."""
        shapes = self._shapes(codes, value_type)
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

    def _fill(self, column: _Column, shape: _Shape, position: int) -> None:
        fields, field_type = shape.fields[:, position], shape.types[position]
        if field_type.kind in _NESTED:
            if shape.rows.size:
                number = self._numbers[field_type.name]
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


@kernel
def raise_heights(heights: Codes, owners: Codes, children: Codes) -> int:
    """Make every owner higher than its children and return how many heights are settled.

    `owners[edge]` holds `children[edge]`; both are places in `heights`. A height is settled when
    those of its children are, so that only what is inside itself is left.

    Requires every height to be 0.
    """
    ends = np.zeros(heights.size, dtype=np.int64)
    unsettled = np.zeros(heights.size, dtype=np.int64)
    for edge in range(owners.size):
        ends[children[edge]] += 1
        unsettled[owners[edge]] += 1
    total = 0
    for place in range(heights.size):
        total += ends[place]
        ends[place] = total
    # The owners of a child, side by side; afterwards `ends` are the starts.
    owners_of = np.empty(owners.size, dtype=np.int64)
    for edge in range(owners.size):
        ends[children[edge]] -= 1
        owners_of[ends[children[edge]]] = owners[edge]
    settled = np.empty(heights.size, dtype=np.int64)
    count = 0
    for place in range(heights.size):
        if unsettled[place] == 0:
            settled[count] = place
            count += 1
    turn = 0
    while turn < count:
        child = settled[turn]
        turn += 1
        end = ends[child + 1] if child + 1 < heights.size else owners.size
        for edge in range(ends[child], end):
            owner = owners_of[edge]
            heights[owner] = max(heights[owner], heights[child] + 1)
            unsettled[owner] -= 1
            if unsettled[owner] == 0:
                settled[count] = owner
                count += 1
    return count
