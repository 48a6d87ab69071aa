"""Counts, sums and extremes over ranges of a column, kept up to date by the epochs of a session."""

import threading
from typing import TYPE_CHECKING, Final

import numpy as np

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments
from tidelog.program.nodes import Column, Relation
from tidelog.program.suggest import undeclared_relation
from tidelog.session.subscriptions import Subscription, Subscriptions
from tidelog.storage.range_pages import GREATEST, LEAST, RangeSummaries
from tidelog.storage.value_order import ValueOrder
from tidelog.values import Codec, Kind, Value
from tidelog.views.delta import RelationDelta
from tidelog.views.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidelog.engine.protocol import Codes
    from tidelog.storage.kernel import Int64s

_WRAP: Final = 1 << 64


class Ranges:
    """Answers about the facts whose column `over` is in a range, from `Session.ranges`.

    A range is half open: `sum(10, 20)` is over the facts with `10 <= over < 20`; None leaves an end open. The
    cost of a question or a change grows with the logarithm of the number of facts. Every fact counts, whether
    or not others have the same values.
    """

    def __init__(self, relation: Relation, codec: Codec, over: Column, of: Column) -> None:
        self._relation = relation
        self._codec = codec
        self._places = (relation.columns.index(over), relation.columns.index(of))
        self._columns = (over, of)
        self._orders = tuple(ValueOrder(codec.types[column.type].kind) for column in self._columns)
        self._lock = threading.Lock()
        self._subscription: Subscription | None = None
        self._summaries = RangeSummaries(*(np.empty(0, np.int64) for _ in range(3)))

    def begin(self, codes: "Sequence[Codes]", subscriptions: Subscriptions) -> None:
        """Take the facts that are there, and follow the epochs from now on."""
        with self._lock:
            self._summaries = RangeSummaries(*self._entries(codes))
            self._subscription = subscriptions.subscribe(self._relation.name, self._follow)

    def close(self) -> None:
        """Stop following epochs; what is known can still be asked for."""
        if self._subscription is not None:
            self._subscription.cancel()

    def _follow(self, delta: RelationDelta) -> None:
        """Take an epoch's changes of the relation."""
        with self._lock:
            for facts, diff in ((delta.deleted, -1), (delta.inserted, 1)):
                if len(facts):
                    self._summaries.change(*self._entries(facts.codes()), diff)

    def _entries(self, codes: "Sequence[Codes]") -> "tuple[Int64s, Int64s, Int64s]":
        over, of = self._places
        # All facts are in one group.
        return np.zeros(len(codes[over]), np.int64), self._keys(codes[over], 0), self._keys(codes[of], 1)

    def _keys(self, codes: "Codes", number: int) -> "Int64s":
        whole = np.ascontiguousarray(codes, np.int64)
        order = self._orders[number]
        return whole if order.kind is Kind.NUMBER else order.to_keys(whole)

    # --- questions -----------------------------------------------------------------------------

    def count(self, low: Value = None, high: Value = None) -> int:
        """Return how many facts are in the range."""
        return self._summary(low, high)[0]

    def sum(self, low: Value = None, high: Value = None) -> int:
        """Return the sum of the values in the range; like `sum` in a rule it wraps."""
        kind = self._orders[1].kind
        if kind is Kind.FLOAT:
            raise TidelogError([_not_summed(self._columns[1])])
        count, total, _, _ = self._summary(low, high)
        if kind is Kind.UNSIGNED:
            # Keys of unsigned are those of numbers, shifted by half the range.
            return (total + (count << 63)) % _WRAP
        return (total + (_WRAP >> 1)) % _WRAP - (_WRAP >> 1)

    def min(self, low: Value = None, high: Value = None) -> Value:
        """Return the least value in the range, None if no fact is in it."""
        count, _, least, _ = self._summary(low, high)
        return self._value(least) if count else None

    def max(self, low: Value = None, high: Value = None) -> Value:
        """Return the greatest value in the range, None if no fact is in it."""
        count, _, _, greatest = self._summary(low, high)
        return self._value(greatest) if count else None

    def _summary(self, low: Value, high: Value) -> tuple[int, int, int, int]:
        first = LEAST if low is None else self._key(low)
        last = GREATEST if high is None else self._key(high) - 1
        with self._lock:
            return self._summaries.summary(0, first, max(last, LEAST)) if last >= first else (0, 0, 0, 0)

    def _key(self, value: Value) -> int:
        order, column = self._orders[0], self._columns[0]
        if order.kind is Kind.NUMBER and type(value) is int and LEAST <= value <= GREATEST:
            return value
        codes = np.array([self._codec.encode(value, column.type)], np.int64)
        return int(order.to_keys(codes)[0])

    def _value(self, key: int) -> Value:
        code = int(self._orders[1].to_codes(np.array([key]))[0])
        return self._codec.decode(code, self._columns[1].type)


def open_ranges(
    snapshot: Snapshot, subscriptions: Subscriptions, name: str, over: str, of: str | None
) -> Ranges:
    """Return the ranges of a relation, which follow the epochs from now on."""
    with Arguments() as arguments:
        arguments.text("relation", name)
        arguments.text("over", over)
        if of is not None:
            arguments.text("of", of)
    with snapshot.lock:
        relation = snapshot.program.relations.get(name)
        if relation is None:
            raise TidelogError([undeclared_relation(name, snapshot.program.relations, is_asked=True)])
        ranges = Ranges(relation, snapshot.codec, *_columns(relation, snapshot.codec, over, of))
        ranges.begin(snapshot.engine.facts(name), subscriptions)
    return ranges


def _columns(relation: Relation, codec: Codec, over: str, of: str | None) -> tuple[Column, Column]:
    """Return the columns that ranges of a relation are asked about; `TidelogError` if they cannot be."""
    found = {column.name: column for column in relation.columns}
    mistakes = []
    for name in dict.fromkeys((over, of or over)):
        listed = ", ".join(f"`{each}`" for each in found)
        if name not in found:
            message, hint = f"`{relation.name}` has no column `{name}`", f"its columns are {listed}"
        elif not codec.types[found[name].type].kind.is_numeric:
            message = f"the column `{name}` of `{relation.name}` is not numeric"
            hint = "ranges are over numbers, unsigned and floats"
        else:
            continue
        mistakes.append(Diagnostic(code="bad-argument", message=message, hint=hint))
    if mistakes:
        raise TidelogError(mistakes)
    return found[over], found[of or over]


def _not_summed(column: Column) -> Diagnostic:
    return Diagnostic(
        code="bad-argument",
        message=f"the column `{column.name}` holds floats, whose sums over ranges are not kept",
        hint="`count`, `min` and `max` are; a rule with `sum` computes the exact sum of a group",
    )
