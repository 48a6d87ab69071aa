"""A graph that keeps the best value of every node, as arcs and base values are inserted and deleted."""

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.storage.kernel import Bools, Int64s
from tidelog.storage.path_graph import (
    BASE,
    NONE,
    Graph,
    Room,
    Step,
    Values,
    delete_arcs,
    link_arcs,
    make_graph,
    make_room,
    order_arcs,
    unlink_arcs,
)
from tidelog.storage.path_spread import (
    TOUCHED,
    Outcome,
    ask_again,
    flood,
    improve,
    improve_bases,
    invalidate,
    spread_best_first,
    spread_in_rounds,
)
from tidelog.values.memory import enlarged

# Up to this many arcs are sorted; more are counted by node.
_FEW_ARCS = 1 << 12
_NO_NODES = np.empty(0, np.int64)


@dataclass(frozen=True)
class Arcs:
    """Arcs as arrays: source and target nodes, weights, and the step each makes."""

    sources: Int64s
    targets: Int64s
    weights: Values
    steps: npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Touched:
    """Nodes whose value may have changed, with what they had before."""

    nodes: Int64s
    before: Values
    had_value: npt.NDArray[np.bool_]


class Unsuitable(Exception):  # noqa: N818 - a property of the arcs, no error
    """The arcs cannot be followed here: their values are neither monotone nor plain sums."""


class Endless(Exception):  # noqa: N818 - told to the user by whoever knows the program
    """Values improve for ever along a cycle of arcs."""


class Paths:
    """Nodes, arcs and values; `is_greatest` says which of two values is the better one.

    paths = Paths(np.int64)
    paths.reserve(3)
    paths.add(Arcs(...))                 # 0 -> 1 with weight 4, 1 -> 2 with weight 1
    paths.set_bases([0], [0], [True])
    paths.evaluate()
    paths.values[:3]  ->  [0, 4, 5]
    """

    def __init__(
        self, dtype: npt.DTypeLike, *, is_greatest: bool = False, keeps_sources: bool = True
    ) -> None:
        self._graph: Graph = make_graph(dtype, is_greatest=is_greatest)
        self._is_greatest = is_greatest
        self._keeps_sources = keeps_sources
        self._best_first = True
        self._has_limits = False
        # All arcs pass values on unchanged, and none was deleted.
        self._is_flat = True
        self.count = 0

    @property
    def values(self) -> Values:
        """Return the value of each node; meaningless for nodes without a value."""
        values: Values = self._graph.nodes["value"]
        return values

    @property
    def has_value(self) -> Bools:
        """Return whether each node has a value."""
        flags: Bools = self._graph.nodes["has_value"]
        return flags

    def reserve(self, nodes: int) -> None:
        """Make room for this many nodes, the new ones without arcs and value."""
        known = self._graph.nodes.shape[0]
        if nodes > known:
            self._enlarge(("nodes", "bases", "first_out", "first_in"), nodes, known)
            for numbers in (self._graph.nodes["parent"], self._graph.first_out, self._graph.first_in):
                numbers[known:] = NONE

    def _enlarge(self, names: tuple[str, ...], capacity: int, used: int) -> None:
        """Give some arrays of the graph more room."""
        graph = self._graph
        larger = {name: enlarged(getattr(graph, name), capacity, used) for name in names}
        self._graph = graph._replace(**larger)

    def add(self, arcs: Arcs) -> Int64s:
        """Add arcs between nodes that there is room for; return their numbers."""
        first, last = self.count, self.count + arcs.sources.size
        if not arcs.sources.size:
            return _NO_NODES
        self._check(arcs)
        if last > self._graph.arcs.shape[0]:
            capacity = last if not first else max(last, first + first // 2, 1024)
            names = ("arcs", "sources", "targets", "next_out", "next_in")
            self._enlarge(names if self._keeps_sources else names[:-1], capacity, first)
        graph = self._graph
        sources = arcs.sources.astype(np.int32)
        order = np.empty(sources.size, np.int64)
        if sources.size > _FEW_ARCS:
            order_arcs(sources, graph.nodes.shape[0], order)
        else:
            order[:] = np.argsort(sources, kind="stable")
        graph.sources[first:last] = sources[order]
        graph.targets[first:last] = arcs.targets[order]
        graph.arcs["weight"][first:last] = arcs.weights[order]
        graph.arcs["step"][first:last] = arcs.steps[order]
        graph.arcs["alive"][first:last] = 1
        self.count = last
        link_arcs(graph.sources, first, last, graph.first_out, graph.next_out)
        if self._keeps_sources:
            link_arcs(graph.targets, first, last, graph.first_in, graph.next_in)
        return np.arange(first, last)

    def _check(self, arcs: Arcs) -> None:
        """Find out how values may be spread along arcs; raise `Unsuitable` if they cannot be."""
        is_greatest, kind = self._is_greatest, self.values.dtype
        worse, better = (Step.SMALLER, Step.GREATER) if is_greatest else (Step.GREATER, Step.SMALLER)
        is_sum = arcs.steps == Step.ADD
        zero = kind.type(0)
        gains = is_sum & ~(arcs.weights <= zero if is_greatest else arcs.weights >= zero)
        gains |= arcs.steps == better
        self._is_flat = self._is_flat and not arcs.weights.any() and bool(is_sum.all())
        if gains.any():
            self._best_first = False
        has_limits = bool((arcs.steps == worse).any() or (arcs.steps == better).any())
        self._has_limits = self._has_limits or has_limits
        if not self._best_first and (self._has_limits or kind.kind == "f"):
            raise Unsuitable

    def set_bases(self, nodes: Int64s, bases: Values, has_base: npt.NDArray[np.bool_]) -> None:
        """Set or remove base values of nodes before `evaluate`."""
        self._graph.bases["value"][nodes] = bases
        self._graph.bases["is_there"][nodes] = has_base

    def improve_bases(self, nodes: Int64s, bases: Values) -> None:
        """Set base values of nodes before `evaluate`; a node keeps the best of several."""
        improve_bases(self._graph, nodes, bases)

    def evaluate(self) -> None:
        """Find the value of every node."""
        graph = self._graph
        starts = np.flatnonzero(graph.bases["is_there"])
        bases = graph.bases["value"][starts]
        graph.nodes["value"][starts] = bases
        graph.nodes["has_value"][starts] = 1
        graph.nodes["parent"][starts] = BASE
        if self._is_flat:
            order = np.argsort(bases, kind="stable")
            flood(graph, starts[order[:: -1 if self._is_greatest else 1]])
            return
        graph.nodes["marks"][starts] |= TOUCHED
        self._spread(starts, make_room(graph))
        graph.nodes["marks"] = 0

    def change(
        self, deleted: Arcs, inserted: Arcs, nodes: Int64s, bases: Values, has_base: npt.NDArray[np.bool_]
    ) -> Touched:
        """Delete and insert arcs, set other base values, and update all values."""
        graph = self._graph
        room = make_room(graph)
        counts = room.counts[0]
        dead = self._delete(deleted)
        was_base, values = graph.nodes["parent"][nodes] == BASE, graph.nodes["value"][nodes]
        is_worse = ~has_base | (bases < values if self._is_greatest else bases > values)
        self.set_bases(nodes, bases, has_base)
        seeds = np.concatenate([self._children(dead), nodes[was_base & is_worse]])
        invalid = _NO_NODES
        if seeds.size:
            invalid = np.empty(graph.nodes.shape[0], np.int64)
            invalidate(graph, seeds, room, invalid)
            invalid = invalid[: counts["invalid"]]
        if dead.size:
            unlink_arcs(dead, graph.arcs, graph.sources, graph.first_out, graph.next_out)
            unlink_arcs(dead, graph.arcs, graph.targets, graph.first_in, graph.next_in)
        added = self.add(inserted)
        graph = self._graph
        if invalid.size:
            ask_again(graph, invalid, room)
            graph.nodes["marks"][invalid] &= TOUCHED
        improved = np.empty(added.size + nodes.size, np.int64)
        found = improve(graph, added, nodes[has_base], room, improved) if improved.size else 0
        starts = np.concatenate([invalid[graph.nodes["has_value"][invalid] != 0], improved[:found]])
        self._spread(np.unique(starts), room)
        touched = room.touched[: counts["touched"]]
        numbers = touched["node"].copy()
        graph.nodes["marks"][numbers] = 0
        return Touched(numbers, touched["before"].copy(), touched["had_value"] != 0)

    def _delete(self, arcs: Arcs) -> Int64s:
        """Mark arcs as deleted and return their numbers."""
        if not arcs.sources.size:
            return _NO_NODES
        deleted = np.empty(arcs.sources.size, np.int64)
        delete_arcs(self._graph, arcs.sources, arcs.targets, arcs.weights, arcs.steps, deleted)
        assert (deleted >= 0).all(), "a deleted arc was there"
        return deleted

    def _children(self, arcs: Int64s) -> Int64s:
        """Return the nodes that got their value by one of these arcs."""
        targets = self._graph.targets[arcs].astype(np.int64)
        children: Int64s = targets[self._graph.nodes["parent"][targets] == arcs]
        return children

    def _spread(self, starts: Int64s, room: Room) -> None:
        """Let the values of the starts spread; an overflow may have been noted before."""
        spread = spread_best_first if self._best_first else spread_in_rounds
        outcome = spread(self._graph, starts, room) if starts.size else Outcome.DONE
        if outcome == Outcome.ENDLESS:
            raise Endless
        if outcome == Outcome.OVERFLOW or room.counts[0]["overflowed"]:
            raise Unsuitable
