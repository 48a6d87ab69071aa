"""Best values along the arcs of a graph that changes: shortest, widest and longest paths, components.

A node's value is the best of its base value and of what its incoming arcs offer from the values of their
sources. A node remembers the arc its value came by, and these parents form a forest. When arcs are deleted,
exactly the nodes below them in the forest lose their value and look at their incoming arcs again; whatever
improves then is spread in order of value. So the work follows the nodes that change.

If no arc makes a value better than that of its source, values are spread best first, and each node is
settled once. Otherwise they are spread in rounds, and more rounds than nodes mean that values improve for
ever.
"""

from enum import IntEnum
from typing import Any, Final

import numpy as np

from tidelog.storage.kernel import Int64s, Integer, inlined, kernel
from tidelog.storage.path_graph import BASE, NONE, Graph, Room, Step, Values


class Outcome(IntEnum):
    """How a spread ended."""

    DONE = 0
    ENDLESS = 1
    OVERFLOW = 2


# Marks of nodes.
TOUCHED: Final = 1
INVALID: Final = 2
QUEUED: Final = 4
_NOT_QUEUED: Final = 0xFF - QUEUED

_ADD, _SMALLER = int(Step.ADD), int(Step.SMALLER)
_DONE, _ENDLESS, _OVERFLOW = int(Outcome.DONE), int(Outcome.ENDLESS), int(Outcome.OVERFLOW)

# A record of an array. The parts below take records, which are addresses: passing on a graph for each arc
# would count references to all its arrays.
Record = Any


@kernel
def remember(node: Record, number: Integer, room: Room) -> None:
    """Save what a node had before it is touched for the first time."""
    if node["marks"] & TOUCHED == 0:
        node["marks"] |= TOUCHED
        place = room.touched[room.counts[0]["touched"]]
        place["node"] = number
        place["before"] = node["value"]
        place["had_value"] = node["has_value"]
        room.counts[0]["touched"] += 1


@inlined
def _invalidate(node: Record, number: Integer, counts: Record, invalid: Int64s) -> None:
    """Note that a node loses its value."""
    node["marks"] |= INVALID
    invalid[counts["invalid"]] = number
    counts["invalid"] += 1


@kernel
def invalidate(graph: Graph, seeds: Int64s, room: Room, invalid: Int64s) -> None:
    """Remove the value of the seeds and of all nodes below them in the forest."""
    counts = room.counts[0]
    done = counts["invalid"]
    for seed in seeds:
        node = graph.nodes[seed]
        if node["marks"] & INVALID == 0 and node["has_value"] != 0:
            _invalidate(node, seed, counts, invalid)
    while done < counts["invalid"]:
        number = invalid[done]
        done += 1
        node = graph.nodes[number]
        remember(node, number, room)
        node["has_value"] = 0
        node["parent"] = NONE
        arc = graph.first_out[number]
        while arc >= 0:
            target = graph.nodes[graph.targets[arc]]
            # A deleted arc is followed too: its target was reached by it.
            if target["parent"] == arc and target["marks"] & INVALID == 0:
                _invalidate(target, graph.targets[arc], counts, invalid)
            arc = graph.next_out[arc]


@kernel
def made_of(value: Any, weight: Any, step: int) -> Any:
    """Return the value that an arc makes from its source's value."""
    if step == _ADD:
        return value + weight
    if step == _SMALLER:
        return min(value, weight)
    return max(value, weight)


@kernel
def overflows(value: Any, weight: Any, step: int, lowest: Any, highest: Any) -> bool:
    """Say whether adding a weight leaves the range between the two limits.

    Comparing the sum would not do: compiled code assumes that nothing wraps.
    """
    is_beyond: bool = False
    if step == _ADD and weight > 0:
        is_beyond = value > highest - weight
    elif step == _ADD and weight < 0:
        is_beyond = value < lowest - weight
    return is_beyond


@inlined
def _is_better(value: Any, other: Any, is_greatest: Integer) -> bool:
    """Say whether a value is better than another one."""
    return bool(value > other if is_greatest != 0 else value < other)


@inlined
def _improves(value: Any, node: Record, settings: Record) -> bool:
    """Say whether a value is better than what a node has."""
    return bool(node["has_value"] == 0 or _is_better(value, node["value"], settings["is_greatest"]))


@inlined
def _offers(arc: Record, value: Any, target: Record, settings: Record, counts: Record) -> bool:
    """Say whether an arc offers its target a better value than it has."""
    weight, step = arc["weight"], arc["step"]
    if arc["alive"] == 0:
        return False
    if overflows(value, weight, step, settings["lowest"], settings["highest"]):
        counts["overflowed"] = 1
        return False
    return _improves(made_of(value, weight, step), target, settings)


@inlined
def _give(node: Record, value: Any, parent: Integer) -> None:
    """Give a node a value."""
    node["value"] = value
    node["has_value"] = 1
    node["parent"] = parent


@inlined
def _take(target: Record, value: Any, arc: Record, number: Integer) -> None:
    """Give the target of an arc the value that the arc offers."""
    _give(target, made_of(value, arc["weight"], arc["step"]), number)


@inlined
def _pass_on(graph: Graph, place: Integer, value: Any, room: Room) -> bool:
    """Let the target of an arc take what the arc makes of a value, if that is better than what it has."""
    number = graph.targets[place]
    target, arc = graph.nodes[number], graph.arcs[place]
    if not _offers(arc, value, target, graph.settings[0], room.counts[0]):
        return False
    remember(target, number, room)
    _take(target, value, arc, place)
    return True


@kernel
def ask_again(graph: Graph, invalid: Int64s, room: Room) -> None:
    """Give invalid nodes the best value that valid nodes offer."""
    settings, counts = graph.settings[0], room.counts[0]
    for number in invalid:
        node = graph.nodes[number]
        if graph.bases[number]["is_there"] != 0:
            _give(node, graph.bases[number]["value"], BASE)
        place = graph.first_in[number]
        while place >= 0:
            source, arc = graph.nodes[graph.sources[place]], graph.arcs[place]
            is_valid = source["has_value"] != 0 and source["marks"] & INVALID == 0
            if is_valid and _offers(arc, source["value"], node, settings, counts):
                _take(node, source["value"], arc, place)
            place = graph.next_in[place]


@inlined
def _enter(heap_values: Values, heap_nodes: Int64s, place: Integer, value: Any, node: Integer) -> None:
    """Write an entry of a heap."""
    heap_values[place] = value
    heap_nodes[place] = node


@kernel
def push(
    heap_values: Values, heap_nodes: Int64s, size: int, value: Any, node: int, is_greatest: bool
) -> None:
    """Enter a node into a heap of this many entries."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if not _is_better(value, heap_values[above], is_greatest):
            break
        _enter(heap_values, heap_nodes, place, heap_values[above], heap_nodes[above])
        place = above
    _enter(heap_values, heap_nodes, place, value, node)


@kernel
def pop(heap_values: Values, heap_nodes: Int64s, size: int, is_greatest: bool) -> None:
    """Move the best entry of a heap of this many entries to its last place."""
    best_value, best_node = heap_values[0], heap_nodes[0]
    last = size - 1
    value, node = heap_values[last], heap_nodes[last]
    place = 0
    while 2 * place + 1 < last:
        below = 2 * place + 1
        if below + 1 < last and _is_better(heap_values[below + 1], heap_values[below], is_greatest):
            below += 1
        if not _is_better(heap_values[below], value, is_greatest):
            break
        _enter(heap_values, heap_nodes, place, heap_values[below], heap_nodes[below])
        place = below
    _enter(heap_values, heap_nodes, place, value, node)
    _enter(heap_values, heap_nodes, last, best_value, best_node)


@kernel
def spread_best_first(graph: Graph, starts: Int64s, room: Room) -> int:
    """Let the values of the starts spread along arcs, the best first."""
    is_greatest, counts = graph.settings[0]["is_greatest"], room.counts[0]
    heap_values = np.empty(max(starts.shape[0] * 2, 1024), graph.nodes["value"].dtype)
    heap_nodes = np.empty(heap_values.shape[0], np.int64)
    size = 0
    for start in starts:
        push(heap_values, heap_nodes, size, graph.nodes[start]["value"], start, is_greatest)
        size += 1
    while size > 0:
        pop(heap_values, heap_nodes, size, is_greatest)
        size -= 1
        value, node = heap_values[size], heap_nodes[size]
        if value != graph.nodes[node]["value"]:
            continue
        place = graph.first_out[node]
        while place >= 0:
            if _pass_on(graph, place, value, room):
                if size == heap_values.shape[0]:
                    heap_values = np.concatenate((heap_values, np.empty_like(heap_values)))
                    heap_nodes = np.concatenate((heap_nodes, np.empty_like(heap_nodes)))
                number = graph.targets[place]
                push(heap_values, heap_nodes, size, graph.nodes[number]["value"], number, is_greatest)
                size += 1
            place = graph.next_out[place]
        if counts["overflowed"] != 0:
            return _OVERFLOW
    return _DONE


@kernel
def flood(graph: Graph, starts: Int64s) -> None:
    """Let the values of the starts, best first, flow along arcs that do not change them."""
    settings = graph.settings[0]
    stack = np.empty(graph.nodes.shape[0], np.int64)
    for start in starts:
        if graph.nodes[start]["parent"] != BASE:
            continue
        value = graph.nodes[start]["value"]
        stack[0] = start
        size = 1
        while size > 0:
            size -= 1
            arc = graph.first_out[stack[size]]
            while arc >= 0:
                target = graph.nodes[graph.targets[arc]]
                if _improves(value, target, settings):
                    _give(target, value, arc)
                    stack[size] = graph.targets[arc]
                    size += 1
                arc = graph.next_out[arc]


@inlined
def _queue(node: Record, number: Integer, queue: Int64s, size: Integer) -> Integer:
    """Enter a node into a queue, unless it is there; return the new length."""
    if node["marks"] & QUEUED != 0:
        return size
    node["marks"] |= QUEUED
    queue[size] = number
    return size + 1


@kernel
def spread_in_rounds(graph: Graph, starts: Int64s, room: Room) -> int:
    """Let the values of the starts spread along arcs, round by round."""
    nodes, counts = graph.nodes.shape[0], room.counts[0]
    current = np.empty(nodes, np.int64)
    following = np.empty(nodes, np.int64)
    size: Integer = 0
    for start in starts:
        size = _queue(graph.nodes[start], start, current, size)
    rounds = 0
    while size > 0:
        rounds += 1
        for node in current[:size]:
            graph.nodes[node]["marks"] &= _NOT_QUEUED
        if rounds > nodes + 1:
            return _ENDLESS
        found: Integer = 0
        for node in current[:size]:
            value = graph.nodes[node]["value"]
            place = graph.first_out[node]
            while place >= 0:
                if _pass_on(graph, place, value, room):
                    number = graph.targets[place]
                    found = _queue(graph.nodes[number], number, following, found)
                place = graph.next_out[place]
            if counts["overflowed"] != 0:
                return _OVERFLOW
        current, following = following, current
        size = found
    return _DONE


@kernel
def improve(graph: Graph, arcs: Int64s, nodes: Int64s, room: Room, improved: Int64s) -> int:
    """Offer the targets of arcs the values of their sources, and nodes their base values.

    Write the nodes that improved, and return how many.
    """
    found = 0
    for place in arcs:
        source = graph.nodes[graph.sources[place]]
        if source["has_value"] != 0 and _pass_on(graph, place, source["value"], room):
            improved[found] = graph.targets[place]
            found += 1
    for number in nodes:
        node, base = graph.nodes[number], graph.bases[number]["value"]
        if _improves(base, node, graph.settings[0]):
            remember(node, number, room)
            _give(node, base, BASE)
            improved[found] = number
            found += 1
    return found


@kernel
def improve_bases(graph: Graph, nodes: Int64s, bases: Values) -> None:
    """Give nodes the best of their base values and their offers."""
    is_greatest = graph.settings[0]["is_greatest"]
    for position in range(nodes.shape[0]):
        base = graph.bases[nodes[position]]
        if base["is_there"] == 0 or _is_better(bases[position], base["value"], is_greatest):
            base["value"] = bases[position]
            base["is_there"] = 1
