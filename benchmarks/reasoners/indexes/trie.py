"""An index as a trie: a level of branches for each column, those of the key first."""

from collections.abc import Iterator
from typing import Any

from benchmarks.reasoners.indexes.interface import ColumnOrder, Key, Positions
from tidelog.values import Fact

# From values to what is below them; below the last column is the fact itself.
_Branches = dict[Any, Any]


class TrieIndex:
    """Facts that begin alike share their first levels; a key is a way down from the root."""

    def __init__(self, positions: Positions, arity: int) -> None:
        self._order = ColumnOrder(positions, arity)
        self._arity = arity
        self._root: _Branches = {}
        self._count = 0

    def insert(self, fact: Fact) -> None:
        """Insert a fact: branches as far as they are missing."""
        *path, last = self._order.path(fact) or [()]
        branches = self._root
        for value in path:
            branches = branches.setdefault(value, {})
        self._count += last not in branches
        branches[last] = fact

    def delete(self, fact: Fact) -> None:
        """Delete a fact, and the branches that lead to no other."""
        path = self._order.path(fact) or [()]
        way = [self._root]
        for value in path[:-1]:
            if value not in way[-1]:
                return
            way.append(way[-1][value])
        if path[-1] not in way[-1]:
            return
        self._count -= 1
        for branches, value in zip(reversed(way), reversed(path), strict=True):
            del branches[value]
            if branches:
                return

    def matching(self, key: Key) -> Iterator[Fact]:
        """Yield the facts below the way of a key."""
        below: Any = self._root
        for value in key:
            if value not in below:
                return iter(())
            below = below[value]
        return _facts(below, max(self._arity, 1) - len(key))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Fact]:
        return _facts(self._root, max(self._arity, 1))


def _facts(below: Any, levels: int) -> Iterator[Fact]:
    """Yield the facts below so many levels."""
    if not levels:
        yield below
        return
    for branch in below.values():
        yield from _facts(branch, levels - 1)
