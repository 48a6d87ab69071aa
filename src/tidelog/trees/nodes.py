"""Nodes of trees as arrays, one row per node, in preorder."""

from typing import Final

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.trees.shape import measure_sizes, previous_siblings

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

# The parent, link or previous sibling of a node that has none.
NONE: Final = -1


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Trees side by side; a node's subtree is the `sizes[row]` rows that begin with it.

    `links` says by which link of its parent's type a node hangs on its parent, and `values` holds
    numbers of a pool: those of a row begin at `value_starts[row]`, one for each value link of its type.
    """

    types: Int32s
    links: Int32s
    parents: Int32s
    sizes: Int32s
    value_starts: Int64s
    values: Int64s

    @property
    def count(self) -> int:
        """Return the number of nodes."""
        return int(self.types.size)

    def roots(self) -> Int64s:
        """Return the rows of the roots."""
        return np.flatnonzero(self.parents == NONE)

    def children(self, row: int) -> list[int]:
        """Return the rows of a node's children."""
        found = []
        child, end = row + 1, row + int(self.sizes[row])
        while child < end:
            found.append(child)
            child += int(self.sizes[child])
        return found

    def values_of(self, row: int) -> list[int]:
        """Return the numbers of a node's values."""
        found: list[int] = self.values[self.value_starts[row] : self.value_starts[row + 1]].tolist()
        return found

    def previous(self) -> Int32s:
        """Return for each node the sibling before it under the same link."""
        return previous_siblings(self.links, self.parents, self.sizes)

    def slice(self, row: int) -> "Nodes":
        """Return a subtree by itself."""
        end = row + int(self.sizes[row])
        parents = self.parents[row:end] - np.int32(row)
        parents[0] = NONE
        links = self.links[row:end].copy()
        links[0] = NONE
        starts = self.value_starts[row : end + 1]
        return Nodes(
            self.types[row:end],
            links,
            parents,
            self.sizes[row:end],
            starts - starts[0],
            self.values[starts[0] : starts[-1]],
        )


class NodesBuilder:
    """Takes nodes in preorder and makes arrays of them.

    A child may be added whenever its parent and the children before it are complete.
    """

    __slots__ = ("links", "parents", "types", "values")

    def __init__(self) -> None:
        self.types: list[int] = []
        self.links: list[int] = []
        self.parents: list[int] = []
        self.values: list[int] = []

    def add(self, node_type: int, link: int, parent: int, values: list[int] | tuple[int, ...] = ()) -> int:
        """Add a node and return its row."""
        self.types.append(node_type)
        self.links.append(link)
        self.parents.append(parent)
        if values:
            self.values += values
        return len(self.types) - 1

    def finish(self, value_counts: Int64s) -> Nodes:
        """Return the nodes; `value_counts` says how many values each type has."""
        return make_nodes(
            np.array(self.types, dtype=np.int32),
            np.array(self.links, dtype=np.int32),
            np.array(self.parents, dtype=np.int32),
            np.array(self.values, dtype=np.int64),
            value_counts,
        )


def make_nodes(types: Int32s, links: Int32s, parents: Int32s, values: Int64s, value_counts: Int64s) -> Nodes:
    """Return nodes given in preorder, with what can be computed from the rest."""
    starts = np.zeros(types.size + 1, dtype=np.int64)
    np.cumsum(value_counts[types], out=starts[1:])
    assert starts[-1] == values.size, "every value link has a value, or is absent"
    return Nodes(types, links, parents, measure_sizes(parents), starts, values)


def join_nodes(parts: list[Nodes]) -> Nodes:
    """Return the trees of several arrays side by side."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        empty = np.empty(0, dtype=np.int32)
        return Nodes(empty, empty, empty, empty, np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64))
    firsts = np.cumsum([0, *(part.count for part in parts)])
    value_firsts = np.cumsum([0, *(part.values.size for part in parts)])
    parents = [
        np.where(part.parents == NONE, NONE, part.parents + first).astype(np.int32)
        for part, first in zip(parts, firsts[:-1], strict=True)
    ]
    starts = [part.value_starts[:-1] + first for part, first in zip(parts, value_firsts[:-1], strict=True)]
    return Nodes(
        np.concatenate([part.types for part in parts]),
        np.concatenate([part.links for part in parts]),
        np.concatenate(parents),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([*starts, value_firsts[-1:]]),
        np.concatenate([part.values for part in parts]),
    )
