"""What every index structure does."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from tidelog.values import Fact, Value
from tidelog.values.functors import order_key

# The columns that a key has values for, in the order of the key.
Positions = tuple[int, ...]
Key = Sequence[Value]


class FactIndex(Protocol):
    """The facts of a relation by the values of some of its columns.

    An index is made of those columns and of the number of all columns. It is a set: inserting a fact again
    or deleting one that is not there changes nothing.
    """

    def insert(self, fact: Fact) -> None:
        """Insert a fact."""

    def delete(self, fact: Fact) -> None:
        """Delete a fact."""

    def matching(self, key: Key) -> Iterable[Fact]:
        """Return the facts with these values in the columns of the index."""

    def __len__(self) -> int:
        """Return the number of facts."""

    def __iter__(self) -> Iterator[Fact]:
        """Yield all facts."""


class ColumnOrder:
    """Facts with the columns of a key first, and the way to compare them.

    Two facts of which one comes first by key have that order; all facts of a key follow each other.
    """

    def __init__(self, positions: Positions, arity: int) -> None:
        self.positions = positions
        self._order = (*positions, *(place for place in range(arity) if place not in positions))

    def sort_key(self, fact: Fact) -> tuple[Any, ...]:
        """Return what facts are sorted by."""
        return tuple(order_key(fact[place]) for place in self._order)

    def prefix(self, key: Key) -> tuple[Any, ...]:
        """Return what the sort keys of all facts of a key begin with."""
        return tuple(map(order_key, key))

    def path(self, fact: Fact) -> list[Value]:
        """Return the values of a fact, those of the key first."""
        return [fact[place] for place in self._order]
