"""An aggregate over ranges of a relation, answered from a scan tree."""

from typing import Final, NamedTuple

import numpy as np

from tidelog.engine.local.chains import collect
from tidelog.engine.local.evaluated import Bindings
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.plan.operators import RangeScan, ScanView, View
from tidelog.program.nodes import Aggregate
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.range_pages import GREATEST, LEAST, RangeSummaries
from tidelog.storage.value_order import ValueOrder
from tidelog.values import Kind

_BLOCK_ROWS: Final = 1 << 14


class Windows(NamedTuple):
    """Ranges to ask about: the number of the key, and the first and last place in the order of the column.

    A window whose first place is after its last has no facts.
    """

    keys: Int64s
    lows: Int64s
    highs: Int64s


class RangeTree:
    """The facts of a relation in the order of a column, by key, with the summaries of an aggregate."""

    def __init__(self, scan: RangeScan, aggregate: Aggregate, expressions: Expressions) -> None:
        self._scan = scan
        self._functor = aggregate.functor
        # Sums add codes, so that they wrap as the kind does; extremes are the least and greatest keys.
        kind = aggregate.kind if aggregate.functor in ("min", "max") else Kind.NUMBER
        self._values = ValueOrder(kind)
        self._operands = [expressions.compile_term(term) for term in scan.operands]
        self._bounds = [(op, expressions.compile_term(term)) for op, term in scan.bounds]
        self._order = ValueOrder(scan.kind)
        self._keys = StoredRelation(len(scan.key), np.int64, counting=True)
        self._summaries = RangeSummaries(*(np.empty(0, np.int64) for _ in range(3)))

    def fill(self, rows: CodeArray) -> None:
        """Take these facts in place of all others."""
        self._summaries = RangeSummaries(*self._entries(rows))

    def change(self, rows: CodeArray, diff: int) -> None:
        """Insert facts (diff 1) or delete them (-1), which must be there."""
        if len(rows):
            self._summaries.change(*self._entries(rows), diff)

    def points(self, rows: CodeArray) -> Int64s:
        """Return the number of the key and the place in the order of the column, for each fact."""
        keys, places, _ = self._entries(rows)
        return np.column_stack([keys, places])

    def windows(self, columns: Bindings, count: int) -> Windows:
        """Return the ranges that belong to bindings of the aggregate's outer variables."""
        operands = [operand(columns, count)[0] for operand in self._operands]
        keys = self._key_numbers(np.column_stack(operands) if operands else np.empty((count, 0), np.int64))
        lows, highs = np.full(count, LEAST), np.full(count, GREATEST)
        is_empty = np.zeros(count, np.bool_)
        for op, bound in self._bounds:
            codes, has_value = bound(columns, count)
            places = self._order.to_keys(codes)
            match op:
                case ">=":
                    lows = np.maximum(lows, places)
                case ">":
                    is_empty |= places == GREATEST
                    lows = np.maximum(lows, places + 1)
                case "<=":
                    highs = np.minimum(highs, places)
                case _:
                    is_empty |= places == LEAST
                    highs = np.minimum(highs, places - 1)
            if has_value is not None:
                is_empty |= ~has_value
        lows[is_empty], highs[is_empty] = GREATEST, LEAST
        return Windows(keys, lows, highs)

    def answers(self, windows: Windows) -> tuple[Int64s, Int64s]:
        """Return how many facts are in each window, and the code of the aggregate's value.

        The least and the greatest value of an empty window mean nothing.
        """
        found = self._summaries.summaries(*windows)
        counts = np.ascontiguousarray(found[:, 0])
        match self._functor:
            case "count":
                return counts, counts
            case "sum":
                return counts, found[:, 1]
            case "min":
                return counts, self._values.to_codes(found[:, 2])
            case _:
                return counts, self._values.to_codes(found[:, 3])

    def _entries(self, rows: CodeArray) -> tuple[Int64s, Int64s, Int64s]:
        scan = self._scan
        keys = self._key_numbers(rows[:, list(scan.key)])
        places = self._order.to_keys(rows[:, scan.column].astype(np.int64))
        if scan.value is None:
            return keys, places, np.zeros(len(rows), np.int64)
        return keys, places, self._values.to_keys(rows[:, scan.value].astype(np.int64))

    def _key_numbers(self, keys: CodeArray) -> Int64s:
        """Return the number of each key; new ones get the next numbers."""
        if not keys.shape[1]:
            return np.zeros(len(keys), np.int64)
        # In blocks: each makes room for as many new keys as it has rows.
        numbers = np.empty(len(keys), np.int64)
        for first in range(0, len(keys), _BLOCK_ROWS):
            block = np.ascontiguousarray(keys[first : first + _BLOCK_ROWS], np.int64)
            numbers[first : first + len(block)] = self._keys.locate(block)
        return numbers


def visible_rows(relation: str, state: LocalState, expressions: Expressions) -> CodeArray:
    """Return the facts of a relation that joins see."""
    names = tuple(f"%{column}" for column in range(state.relations[relation].arity))
    scan = ScanView(relation, View.FULL, tuple(enumerate(names)), (), names)
    return collect((scan,), state, expressions)
