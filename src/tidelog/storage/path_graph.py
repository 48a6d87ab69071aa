"""A graph whose nodes have values and whose arcs are in lists by the nodes at their ends."""

from enum import IntEnum
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidelog.storage.kernel import Bools, Int32s, Int64s, Integer, kernel

Values = npt.NDArray[Any]
Records = npt.NDArray[np.void]


class Step(IntEnum):
    """How an arc combines the value of its source with its own weight."""

    ADD = 0
    SMALLER = 1
    GREATER = 2


# Parents that are not arcs, and the end of a list.
NONE: Final = -1
BASE: Final = -2


_COUNTS: Final = np.dtype([(name, np.int64) for name in ("touched", "invalid", "overflowed")])


class Graph(NamedTuple):
    """Nodes, their base values and arcs as records, and the lists of arcs at each node.

    The lists run from `first_out` and `first_in` of a node along `next_out` and `next_in` of arcs; those by
    target may be missing. `settings` is one record: which of two values is the better one, and the limits
    that sums must not exceed.
    """

    nodes: Records
    bases: Records
    first_out: Int32s
    first_in: Int32s
    arcs: Records
    sources: Int32s
    targets: Int32s
    next_out: Int32s
    next_in: Int32s
    settings: Records


class Room(NamedTuple):
    """Where kernels write the nodes they touch with what these had before; `counts` is one record.

    It has how many nodes are touched and invalid, and whether a sum overflowed.
    """

    touched: Records
    counts: Records


def make_graph(dtype: npt.DTypeLike, *, is_greatest: bool) -> Graph:
    """Return a graph of values of one type, without nodes and arcs."""
    kind = np.dtype(dtype)
    # 16 bytes, since nodes are visited in any order.
    node = np.dtype(
        [("value", kind), ("parent", np.int32), ("marks", np.uint8), ("has_value", np.uint8)], align=True
    )
    base = np.dtype([("value", kind), ("is_there", np.uint8)])
    arc = np.dtype([("weight", kind), ("step", np.uint8), ("alive", np.uint8)])
    settings = np.zeros(1, [("lowest", kind), ("highest", kind), ("is_greatest", np.uint8)])
    ends = (-np.inf, np.inf) if kind.kind == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
    settings["lowest"], settings["highest"] = ends
    settings["is_greatest"] = is_greatest
    numbers = np.zeros(0, np.int32)
    return Graph(
        nodes=np.zeros(0, node),
        bases=np.zeros(0, base),
        first_out=numbers,
        first_in=numbers,
        arcs=np.zeros(0, arc),
        sources=numbers,
        targets=numbers,
        next_out=numbers,
        next_in=numbers,
        settings=settings,
    )


def make_room(graph: Graph) -> Room:
    """Return room for all nodes; pages that are never written take no memory."""
    touched = np.empty(graph.nodes.shape[0], _touched(graph.nodes.dtype["value"]))
    return Room(touched, np.zeros(1, _COUNTS))


@cache
def _touched(kind: np.dtype[Any]) -> np.dtype[np.void]:
    return np.dtype([("before", kind), ("node", np.int64), ("had_value", np.uint8)])


@kernel
def order_arcs(sources: Int32s, nodes: int, order: Int64s) -> None:
    """Write the numbers of arcs in the order of their sources."""
    starts = np.zeros(nodes + 1, np.int64)
    for arc in range(sources.shape[0]):
        starts[sources[arc] + 1] += 1
    for node in range(nodes):
        starts[node + 1] += starts[node]
    for arc in range(sources.shape[0]):
        place = starts[sources[arc]]
        order[place] = arc
        starts[sources[arc]] = place + 1


@kernel
def link_arcs(ends: Int32s, first_arc: int, last_arc: int, first: Int32s, following: Int32s) -> None:
    """Enter arcs into the lists of the nodes at one of their ends; lists run towards higher numbers."""
    for arc in range(last_arc - 1, first_arc - 1, -1):
        node = ends[arc]
        following[arc] = first[node]
        first[node] = arc


@kernel
def unlink_arcs(deleted: Int64s, arcs: Records, ends: Int32s, first: Int32s, following: Int32s) -> None:
    """Remove deleted arcs from the lists of the nodes at one of their ends."""
    for number in deleted:
        node = ends[number]
        before = NONE
        arc = first[node]
        while arc >= 0:
            after = following[arc]
            if arcs[arc]["alive"] != 0:
                before = arc
            elif before < 0:
                first[node] = after
            else:
                following[before] = after
            arc = after


@kernel
def find_arc(graph: Graph, source: int, target: int, weight: Any, step: int) -> Integer:
    """Return an arc between two nodes with this weight and step, or -1."""
    number = graph.first_out[source]
    while number >= 0:
        arc = graph.arcs[number]
        is_same = graph.targets[number] == target and arc["weight"] == weight and arc["step"] == step
        if is_same and arc["alive"] != 0:
            found: Integer = number
            return found
        number = graph.next_out[number]
    return NONE


@kernel
def delete_arcs(
    graph: Graph, sources: Int64s, targets: Int64s, weights: Values, steps: Bools, deleted: Int64s
) -> None:
    """Mark one arc as deleted for each request, and write its number (-1 if there is none)."""
    for position in range(sources.shape[0]):
        arc = find_arc(graph, sources[position], targets[position], weights[position], steps[position])
        deleted[position] = arc
        if arc >= 0:
            graph.arcs[arc]["alive"] = 0
