"""An index as a B-tree: sorted blocks of bounded size, found by way of the blocks above them."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.reasoners.indexes.interface import ColumnOrder, Key, Positions
from tidelog.values import Fact

# A node with more entries than this is split in two, one with fewer than a quarter takes in its neighbour.
_MOST: Final = 64
_LEAST: Final = _MOST // 4


@dataclass
class _Node:
    """A leaf has facts by their sort keys, an inner node children and the lowest key of all but the first."""

    keys: list[tuple[Any, ...]] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    children: list["_Node"] = field(default_factory=list)


class BTreeIndex:
    """Facts in leaves in the order of their keys; all leaves are equally deep."""

    def __init__(self, positions: Positions, arity: int) -> None:
        self._order = ColumnOrder(positions, arity)
        self._root = _Node()
        self._count = 0

    def insert(self, fact: Fact) -> None:
        """Insert a fact into its leaf; a root that is split gets another one above it."""
        if self._insert(self._root, self._order.sort_key(fact), fact):
            self._count += 1
            if len(self._root.keys) > _MOST:
                key, right = _split(self._root)
                self._root = _Node([key], children=[self._root, right])

    def delete(self, fact: Fact) -> None:
        """Delete a fact from its leaf; a root with one child gives way to it."""
        if self._delete(self._root, self._order.sort_key(fact)):
            self._count -= 1
            if len(self._root.children) == 1:
                self._root = self._root.children[0]

    def matching(self, key: Key) -> Iterator[Fact]:
        """Yield the facts of a key."""
        return _from(self._root, self._order.prefix(key))

    def _insert(self, node: _Node, key: tuple[Any, ...], fact: Fact) -> bool:
        """Insert below a node; say whether the fact is new. Children that became too large are split."""
        if not node.children:
            place = bisect_left(node.keys, key)
            if place < len(node.keys) and node.keys[place] == key:
                return False
            node.keys.insert(place, key)
            node.facts.insert(place, fact)
            return True
        place = bisect_right(node.keys, key)
        child = node.children[place]
        is_new = self._insert(child, key, fact)
        if len(child.keys) > _MOST:
            lowest, right = _split(child)
            node.keys.insert(place, lowest)
            node.children.insert(place + 1, right)
        return is_new

    def _delete(self, node: _Node, key: tuple[Any, ...]) -> bool:
        """Delete below a node; say whether the fact was there. Children that became too small are merged."""
        if not node.children:
            place = bisect_left(node.keys, key)
            if place == len(node.keys) or node.keys[place] != key:
                return False
            del node.keys[place]
            del node.facts[place]
            return True
        place = bisect_right(node.keys, key)
        was_there = self._delete(node.children[place], key)
        if was_there and len(node.children[place].keys) < _LEAST and len(node.children) > 1:
            left = max(place - 1, 0)
            _merge(node, left)
        return was_there

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Fact]:
        return _from(self._root, ())


def _from(node: _Node, prefix: tuple[Any, ...]) -> Iterator[Fact]:
    """Yield the facts whose keys begin with a prefix."""
    size = len(prefix)
    place = bisect_left(node.keys, prefix)
    if not node.children:
        while place < len(node.keys) and node.keys[place][:size] == prefix:
            yield node.facts[place]
            place += 1
        return
    while place < len(node.children):
        yield from _from(node.children[place], prefix)
        if place == len(node.keys) or node.keys[place][:size] > prefix:
            return
        place += 1


def _split(node: _Node) -> tuple[tuple[Any, ...], _Node]:
    """Cut a node in half; return the right half and the lowest key below it."""
    middle = len(node.keys) // 2
    if not node.children:
        right = _Node(node.keys[middle:], node.facts[middle:])
        del node.keys[middle:], node.facts[middle:]
        return right.keys[0], right
    lowest = node.keys[middle]
    right = _Node(node.keys[middle + 1 :], children=node.children[middle + 1 :])
    del node.keys[middle:], node.children[middle + 1 :]
    return lowest, right


def _merge(parent: _Node, left: int) -> None:
    """Take the child after `left` into it, and split the result again if it is too large."""
    first, second = parent.children[left], parent.children.pop(left + 1)
    lowest = parent.keys.pop(left)
    first.keys += [lowest, *second.keys] if first.children else second.keys
    first.facts += second.facts
    first.children += second.children
    if len(first.keys) > _MOST:
        key, right = _split(first)
        parent.keys.insert(left, key)
        parent.children.insert(left + 1, right)
