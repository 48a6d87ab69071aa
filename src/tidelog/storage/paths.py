"""A graph that keeps the best value of every node while arcs and base values come and go."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.storage.kernel import Bools, Int32s, Int64s
from tidelog.storage.memory import enlarged
from tidelog.storage.path_graph import (
    Outcome,
    Step,
    Values,
    ask_again,
    delete_arcs,
    flood,
    improve_bases,
    improve_targets,
    improve_values,
    invalidate,
    link_arcs,
    order_arcs,
    spread_best_first,
    spread_in_rounds,
    unlink_dead_arcs,
)

_NONE = -1
_BASE = -2
# So few arcs are sorted; more are counted by node.
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
    """The arcs cannot be followed here: values neither go one way along them nor are plain sums."""


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
        self._is_greatest = is_greatest
        self._keeps_sources = keeps_sources
        kind = np.dtype(dtype)
        ends = (-np.inf, np.inf) if kind.kind == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
        self._limits: Values = np.array(ends, kind)
        self._best_first = True
        self._has_limits = False
        # All arcs hand values on as they are, and none was deleted.
        self._is_flat = True
        self.count = 0
        self._sources: Int32s = np.empty(0, np.int32)
        self._targets: Int32s = np.empty(0, np.int32)
        self._weights: Values = np.empty(0, dtype)
        self._steps: Bools = np.empty(0, np.uint8)
        self._alive: Bools = np.empty(0, np.uint8)
        self._next_out: Int32s = np.empty(0, np.int32)
        self._next_in: Int32s = np.empty(0, np.int32)
        self.values: Values = np.zeros(0, dtype)
        self.has_value: Bools = np.zeros(0, np.uint8)
        self.bases: Values = np.zeros(0, dtype)
        self.has_base: Bools = np.zeros(0, np.uint8)
        self._parents: Int32s = np.zeros(0, np.int32)
        self._marks: Bools = np.zeros(0, np.uint8)
        self._first_out: Int32s = np.zeros(0, np.int32)
        self._first_in: Int32s = np.zeros(0, np.int32)

    def reserve(self, nodes: int) -> None:
        """Make room for so many nodes, the new ones without arcs and value."""
        known = self.values.shape[0]
        if nodes <= known:
            return
        for name in ("values", "has_value", "bases", "has_base", "_marks"):
            setattr(self, name, enlarged(getattr(self, name), nodes, known))
        for name in ("_parents", "_first_out", "_first_in"):
            larger = enlarged(getattr(self, name), nodes, known)
            larger[known:] = _NONE
            setattr(self, name, larger)

    def add(self, arcs: Arcs) -> Int64s:
        """Add arcs between nodes that there is room for; return their numbers."""
        first, last = self.count, self.count + arcs.sources.size
        if not arcs.sources.size:
            return _NO_NODES
        self._check(arcs)
        if last > self._targets.shape[0]:
            capacity = last if not first else max(last, first + first // 2, 1024)
            names = ("_sources", "_targets", "_weights", "_steps", "_alive", "_next_out", "_next_in")
            for name in names if self._keeps_sources else names[:-1]:
                setattr(self, name, enlarged(getattr(self, name), capacity, first))
        sources = arcs.sources.astype(np.int32)
        order = np.empty(sources.size, np.int64)
        if sources.size > _FEW_ARCS:
            order_arcs(sources, self.values.shape[0], order)
        else:
            order[:] = np.argsort(sources, kind="stable")
        self._sources[first:last] = sources[order]
        self._targets[first:last] = arcs.targets[order]
        self._weights[first:last] = arcs.weights[order]
        self._steps[first:last] = arcs.steps[order]
        self._alive[first:last] = 1
        self.count = last
        link_arcs(self._sources, first, last, self._first_out, self._next_out)
        if self._keeps_sources:
            link_arcs(self._targets, first, last, self._first_in, self._next_in)
        return np.arange(first, last)

    def _check(self, arcs: Arcs) -> None:
        """See how values may be spread along arcs; raise `Unsuitable` if they cannot be."""
        worse, better = (Step.SMALLER, Step.GREATER) if self._is_greatest else (Step.GREATER, Step.SMALLER)
        is_sum = arcs.steps == Step.ADD
        zero = self._weights.dtype.type(0)
        gains = is_sum & ~(arcs.weights <= zero if self._is_greatest else arcs.weights >= zero)
        gains |= arcs.steps == better
        self._is_flat = self._is_flat and not arcs.weights.any() and bool(is_sum.all())
        if gains.any():
            self._best_first = False
        has_limits = bool((arcs.steps == worse).any() or (arcs.steps == better).any())
        self._has_limits = self._has_limits or has_limits
        if not self._best_first and (self._has_limits or self._weights.dtype.kind == "f"):
            raise Unsuitable

    def set_bases(self, nodes: Int64s, bases: Values, has_base: npt.NDArray[np.bool_]) -> None:
        """Give nodes base values, or take them away, before `evaluate`."""
        self.bases[nodes] = bases
        self.has_base[nodes] = has_base

    def improve_bases(self, nodes: Int64s, bases: Values) -> None:
        """Give nodes base values before `evaluate`, the best of those a node is given."""
        improve_values(nodes, bases, self.bases, self.has_base, self._is_greatest)

    def evaluate(self) -> None:
        """Find the value of every node."""
        nodes = np.flatnonzero(self.has_base)
        self.values[nodes] = self.bases[nodes]
        self.has_value[nodes] = 1
        self._parents[nodes] = _BASE
        if self._is_flat:
            order = np.argsort(self.values[nodes], kind="stable")
            flood(
                nodes[order[:: -1 if self._is_greatest else 1]], self.values, self.has_value, self._parents,
                self._first_out, self._next_out, self._targets, self._is_greatest,
            )  # fmt: skip
            return
        room = _Room(self)
        self._marks[nodes] |= 1
        self._spread(nodes, room)
        self._marks[:] = 0

    def change(
        self, deleted: Arcs, inserted: Arcs, nodes: Int64s, bases: Values, has_base: npt.NDArray[np.bool_]
    ) -> Touched:
        """Delete and insert arcs, give nodes other base values, and bring all values up to date."""
        room = _Room(self)
        gone = self._delete(deleted)
        was_base = self._parents[nodes] == _BASE
        if self._is_greatest:
            is_worse = ~has_base | (bases < self.values[nodes])
        else:
            is_worse = ~has_base | (bases > self.values[nodes])
        self.bases[nodes] = bases
        self.has_base[nodes] = has_base
        seeds = np.concatenate([self._children(gone), nodes[was_base & is_worse]])
        invalid = np.empty(self.values.shape[0] if seeds.size else 0, np.int64)
        invalidate(
            seeds, self.values, self.has_value, self._parents, self._marks, self._first_out, self._next_out,
            self._targets, room.touched, room.before, room.had_value, invalid, room.counts,
        )  # fmt: skip
        invalid = invalid[: room.counts[1]]
        for first, following, ends in (
            (self._first_out, self._next_out, self._sources), (self._first_in, self._next_in, self._targets),
        ):  # fmt: skip
            unlink_dead_arcs(gone, ends, first, following, self._alive)
        added = self.add(inserted)
        ask_again(
            invalid, self.bases, self.has_base, self.values, self.has_value, self._parents, self._marks,
            self._first_in, self._next_in, self._sources, self._weights, self._steps, self._alive,
            self._is_greatest, self._limits, room.counts,
        )  # fmt: skip
        self._marks[invalid] &= 1
        starts = [invalid[self.has_value[invalid] != 0]]
        improved = np.empty(max(added.size, nodes.size), np.int64)
        found = improve_targets(
            added, self.values, self.has_value, self._parents, self._marks, self._sources, self._targets,
            self._weights, self._steps, room.touched, room.before, room.had_value, room.counts, improved,
            self._is_greatest, self._limits,
        )  # fmt: skip
        starts.append(improved[:found].copy())
        with_base = nodes[has_base]
        found = improve_bases(
            with_base, self.bases, self.values, self.has_value, self._parents, self._marks, room.touched,
            room.before, room.had_value, room.counts, improved, self._is_greatest,
        )  # fmt: skip
        starts.append(improved[:found])
        self._spread(np.unique(np.concatenate(starts)), room)
        touched = room.touched[: room.counts[0]].copy()
        self._marks[touched] = 0
        return Touched(touched, room.before[: touched.size].copy(), room.had_value[: touched.size] != 0)

    def _delete(self, arcs: Arcs) -> Int64s:
        """Mark arcs as deleted and return their numbers."""
        gone = np.empty(arcs.sources.size, np.int64)
        delete_arcs(
            arcs.sources, arcs.targets, arcs.weights, arcs.steps, self._first_out, self._next_out,
            self._targets, self._weights, self._steps, self._alive, gone,
        )  # fmt: skip
        assert (gone >= 0).all(), "a deleted arc was there"
        return gone

    def _children(self, arcs: Int64s) -> Int64s:
        """Return the nodes that got their value by one of these arcs."""
        targets = self._targets[arcs].astype(np.int64)
        children: Int64s = targets[self._parents[targets] == arcs]
        return children

    def _spread(self, starts: Int64s, room: "_Room") -> None:
        spread = spread_best_first if self._best_first else spread_in_rounds
        outcome = spread(
            starts, self.values, self.has_value, self._parents, self._marks, self._first_out, self._next_out,
            self._targets, self._weights, self._steps, self._alive, room.touched, room.before, room.had_value,
            room.counts, self._is_greatest, self._limits,
        )  # fmt: skip
        if outcome == Outcome.ENDLESS:
            raise Endless
        if outcome == Outcome.OVERFLOW or room.counts[2]:
            raise Unsuitable


class _Room:
    """Where kernels write the nodes they touch; pages that are never written take no memory."""

    def __init__(self, paths: Paths) -> None:
        nodes = paths.values.shape[0]
        self.touched: Int64s = np.empty(nodes, np.int64)
        self.before: npt.NDArray[Any] = np.empty(nodes, paths.values.dtype)
        self.had_value: Bools = np.empty(nodes, np.uint8)
        self.counts: Int64s = np.zeros(3, np.int64)
