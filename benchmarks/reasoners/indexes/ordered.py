"""An index by order: all facts in one sorted list, in which a key is found by halving."""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from benchmarks.reasoners.indexes.interface import ColumnOrder, Key, Positions
from tidelog.values import Fact


class SortedIndex:
    """Facts in the order of their keys; an insertion moves all facts behind it."""

    def __init__(self, positions: Positions, arity: int) -> None:
        self._order = ColumnOrder(positions, arity)
        # Beside each other: comparing sort keys must not compare facts.
        self._sorted: list[tuple[Any, ...]] = []
        self._facts: list[Fact] = []

    def insert(self, fact: Fact) -> None:
        """Insert a fact at its place."""
        key = self._order.sort_key(fact)
        place = bisect_left(self._sorted, key)
        if place == len(self._sorted) or self._sorted[place] != key:
            self._sorted.insert(place, key)
            self._facts.insert(place, fact)

    def delete(self, fact: Fact) -> None:
        """Delete a fact from its place."""
        key = self._order.sort_key(fact)
        place = bisect_left(self._sorted, key)
        if place < len(self._sorted) and self._sorted[place] == key:
            del self._sorted[place]
            del self._facts[place]

    def matching(self, key: Key) -> Iterator[Fact]:
        """Yield the facts of a key: from its first place on."""
        prefix = self._order.prefix(key)
        place = bisect_left(self._sorted, prefix)
        while place < len(self._sorted) and self._sorted[place][: len(prefix)] == prefix:
            yield self._facts[place]
            place += 1

    def __len__(self) -> int:
        return len(self._facts)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts)
