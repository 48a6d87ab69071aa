"""Which values are inside values, and how deep: what has to be known before what.

A value's height is 0, or one more than that of the highest value inside it. A code is a value only together
with a type, so members and heights are found type by type.
"""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.kernels import kernel
from tidelog.values.codes import Codes
from tidelog.values.records import NIL, Records
from tidelog.values.types import Kind, ValueType

Resolve = Callable[[str], ValueType]

NESTED = (Kind.RECORD, Kind.ADT)


@dataclass(frozen=True, slots=True)
class SameFields:
    """Values of one type that have the same fields: the records, or those of one branch.

    `rows` are their places among the values asked about, and `fields` has a column for each of `types`.
    """

    rows: Codes
    types: list[ValueType]
    fields: Codes


class Nesting:
    """The records and algebraic values inside some, themselves included."""

    def __init__(self, roots: Iterable[tuple[ValueType, Codes]], resolve: Resolve, records: Records) -> None:
        self._resolve = resolve
        self._records = records
        self.size = len(records)
        # The number of each type, by name.
        self.numbers: dict[str, int] = {}
        self.types: list[ValueType] = []
        self.members = self._reach(list(roots))

    def _reach(self, waiting: list[tuple[ValueType, Codes]]) -> list[Codes]:
        """Return the codes of every type, each in order."""
        seen: list[npt.NDArray[np.bool_]] = []
        while waiting:
            item_type, found = waiting.pop()
            number = self.numbers.setdefault(item_type.name, len(self.types))
            if number == len(self.types):
                self.types.append(item_type)
                seen.append(np.zeros(self.size, dtype=np.bool_))
            fresh = np.unique(found[~seen[number][found]])
            seen[number][fresh] = True
            for shape in self.shapes(fresh, item_type):
                for position, field_type in enumerate(shape.types):
                    if field_type.kind in NESTED and shape.rows.size:
                        waiting.append((field_type, shape.fields[:, position]))
        return [np.flatnonzero(flags) for flags in seen]

    def shapes(self, codes: Codes, value_type: ValueType) -> list[SameFields]:
        """Return the fields of values of one type, for each branch apart; nil has none."""
        if value_type.kind is Kind.RECORD:
            rows = np.flatnonzero(codes != NIL)
            types = [self._resolve(field.type) for field in value_type.fields]
            return [SameFields(rows, types, self._records.unpack(codes[rows], len(types)))]
        shapes = []
        positions = self._records.branches(codes)
        for position, branch in enumerate(value_type.branches):
            rows = np.flatnonzero(positions == position)
            types = [self._resolve(field.type) for field in branch.fields]
            shapes.append(SameFields(rows, types, self._records.unpack(codes[rows], len(types) + 1)[:, 1:]))
        return shapes

    def levels(self) -> list[list[Codes]]:
        """Return, for every type, the places of its members of height 0, 1, 2 ..."""
        none = np.empty(0, dtype=np.int64)
        owners, children = [none], [none]
        for number, codes in enumerate(self.members):
            for shape in self.shapes(codes, self.types[number]):
                for position, field_type in enumerate(shape.types):
                    if field_type.kind in NESTED and shape.rows.size:
                        owners.append(codes[shape.rows] + number * self.size)
                        inner = self.numbers[field_type.name]
                        children.append(shape.fields[:, position] + inner * self.size)
        heights = np.zeros(len(self.members) * self.size, dtype=np.int64)
        settled = raise_heights(heights, np.concatenate(owners), np.concatenate(children))
        assert settled == heights.size, "a record inside itself"
        by_type = heights.reshape(len(self.members), self.size)
        return [_by_height(own[codes]) for own, codes in zip(by_type, self.members, strict=True)]


def _by_height(heights: Codes) -> list[Codes]:
    rows = np.argsort(heights, kind="stable")
    ends = np.cumsum(np.bincount(heights))
    return np.split(rows, ends[:-1])


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
