"""Best values along the arcs of a graph that changes: shortest, widest and longest paths, components.

A node's value is the best of its base value and of what the arcs into it make of the values of their
sources. A node remembers the arc its value came by, and these parents form a forest. When arcs
go, exactly the nodes below them in the forest lose their value and ask the arcs into them again;
whatever improves then is spread in order of value. So the work follows the nodes that change.

Where no arc makes a value better than that of its source, values are spread best first, and each node
is settled once. Otherwise they are spread in rounds, and more rounds than nodes mean that
values improve for ever.
"""

from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.storage.kernel import Bools, Int32s, Int64s, Integer, kernel

Values = npt.NDArray[Any]


class Step(IntEnum):
    """What an arc makes of its source's value and its own weight."""

    ADD = 0
    SMALLER = 1
    GREATER = 2


class Outcome(IntEnum):
    """How a spread ended."""

    DONE = 0
    ENDLESS = 1
    OVERFLOW = 2


# Parents that are no arc.
_NONE = -1
_BASE = -2
# Marks of nodes.
_TOUCHED = 1
_INVALID = 2
_QUEUED = 4
_NOT_QUEUED = 0xFF - _QUEUED

_ADD, _SMALLER, _GREATER = int(Step.ADD), int(Step.SMALLER), int(Step.GREATER)
_DONE, _ENDLESS, _OVERFLOW = int(Outcome.DONE), int(Outcome.ENDLESS), int(Outcome.OVERFLOW)


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
def find_arc(
    source: int, target: int, weight: Any, step: int, first_out: Int32s, next_out: Int32s, targets: Int32s,
    weights: Values, steps: Bools, alive: Bools,
) -> Integer:  # fmt: skip
    """Return an arc between two nodes with this weight and step, -1 if there is none."""
    arc = first_out[source]
    while arc >= 0:
        is_same = targets[arc] == target and weights[arc] == weight and steps[arc] == step
        if alive[arc] != 0 and is_same:
            found: Integer = arc
            return found
        arc = next_out[arc]
    return -1


@kernel
def delete_arcs(
    chosen_sources: Int64s, chosen_targets: Int64s, chosen_weights: Values, chosen_steps: Bools,
    first_out: Int32s, next_out: Int32s, targets: Int32s, weights: Values, steps: Bools, alive: Bools,
    gone: Int64s,
) -> None:  # fmt: skip
    """Mark one arc as deleted for each that is chosen, and write its number (-1 if there is none)."""
    for position in range(chosen_sources.shape[0]):
        arc = find_arc(
            chosen_sources[position], chosen_targets[position], chosen_weights[position],
            chosen_steps[position], first_out, next_out, targets, weights, steps, alive,
        )  # fmt: skip
        gone[position] = arc
        if arc >= 0:
            alive[arc] = 0


@kernel
def unlink_dead_arcs(gone: Int64s, ends: Int32s, first: Int32s, following: Int32s, alive: Bools) -> None:
    """Take deleted arcs from the lists of the nodes at one of their ends."""
    for position in range(gone.shape[0]):
        node = ends[gone[position]]
        before = -1
        arc = first[node]
        while arc >= 0:
            after = following[arc]
            if alive[arc] == 0:
                if before < 0:
                    first[node] = after
                else:
                    following[before] = after
            else:
                before = arc
            arc = after


@kernel
def remember(
    node: int, values: Values, has_value: Bools, marks: Bools, touched: Int64s, before: Values,
    had_value: Bools, counts: Int64s,
) -> None:  # fmt: skip
    """Write down what a node had before it is touched for the first time."""
    if marks[node] & _TOUCHED == 0:
        marks[node] |= _TOUCHED
        touched[counts[0]] = node
        before[counts[0]] = values[node]
        had_value[counts[0]] = has_value[node]
        counts[0] += 1


@kernel
def invalidate(
    seeds: Int64s, values: Values, has_value: Bools, parents: Int32s, marks: Bools, first_out: Int32s,
    next_out: Int32s, targets: Int32s, touched: Int64s, before: Values, had_value: Bools, invalid: Int64s,
    counts: Int64s,
) -> None:  # fmt: skip
    """Take the value from the seeds and from all nodes below them in the forest.

    `counts` has the numbers of touched and of invalid nodes, and whether a sum overflowed.
    """
    done = counts[1]
    for position in range(seeds.shape[0]):
        seed = seeds[position]
        if marks[seed] & _INVALID == 0 and has_value[seed] != 0:
            marks[seed] |= _INVALID
            invalid[counts[1]] = seed
            counts[1] += 1
    while done < counts[1]:
        node = invalid[done]
        done += 1
        remember(node, values, has_value, marks, touched, before, had_value, counts)
        has_value[node] = 0
        parents[node] = _NONE
        arc = first_out[node]
        while arc >= 0:
            target = targets[arc]
            # A deleted arc is followed too: its target was reached by it.
            if parents[target] == arc and marks[target] & _INVALID == 0:
                marks[target] |= _INVALID
                invalid[counts[1]] = target
                counts[1] += 1
            arc = next_out[arc]


@kernel
def made_of(value: Any, weight: Any, step: int) -> Any:
    """Return what an arc makes of a value."""
    if step == _ADD:
        return value + weight
    if step == _SMALLER:
        return min(value, weight)
    return max(value, weight)


@kernel
def overflows(value: Any, weight: Any, step: int, limits: Values) -> bool:
    """Say whether adding a weight leaves the numbers between the two limits.

    Comparing the sum would not tell: compiled code takes it for granted that nothing wraps.
    """
    is_beyond: bool = False
    if step == _ADD and weight > 0:
        is_beyond = value > limits[1] - weight
    elif step == _ADD and weight < 0:
        is_beyond = value < limits[0] - weight
    return is_beyond


@kernel
def ask_again(
    invalid: Int64s, bases: Values, has_base: Bools, values: Values, has_value: Bools, parents: Int32s,
    marks: Bools, first_in: Int32s, next_in: Int32s, sources: Int32s, weights: Values, steps: Bools,
    alive: Bools, is_greatest: bool, limits: Values, counts: Int64s,
) -> None:  # fmt: skip
    """Give invalid nodes the best value that nodes which are not invalid offer."""
    for position in range(invalid.shape[0]):
        node = invalid[position]
        if has_base[node] != 0:
            values[node] = bases[node]
            has_value[node] = 1
            parents[node] = _BASE
        arc = first_in[node]
        while arc >= 0:
            source = sources[arc]
            if alive[arc] != 0 and has_value[source] != 0 and marks[source] & _INVALID == 0:
                if overflows(values[source], weights[arc], steps[arc], limits):
                    counts[2] = 1
                offer = made_of(values[source], weights[arc], steps[arc])
                is_better = offer > values[node] if is_greatest else offer < values[node]
                if has_value[node] == 0 or is_better:
                    values[node] = offer
                    has_value[node] = 1
                    parents[node] = arc
            arc = next_in[arc]


@kernel
def push(
    heap_values: Values, heap_nodes: Int64s, size: int, value: Any, node: int, is_greatest: bool
) -> None:
    """Enter a node into a heap of so many entries."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        is_before = value > heap_values[above] if is_greatest else value < heap_values[above]
        if not is_before:
            break
        heap_values[place] = heap_values[above]
        heap_nodes[place] = heap_nodes[above]
        place = above
    heap_values[place] = value
    heap_nodes[place] = node


@kernel
def pop(heap_values: Values, heap_nodes: Int64s, size: int, is_greatest: bool) -> None:
    """Move the best entry of a heap of so many entries to its last place."""
    best_value, best_node = heap_values[0], heap_nodes[0]
    last = size - 1
    value, node = heap_values[last], heap_nodes[last]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= last:
            break
        other = below + 1
        if other < last:
            is_other = (
                heap_values[other] > heap_values[below]
                if is_greatest
                else heap_values[other] < heap_values[below]
            )
            if is_other:
                below = other
        is_before = heap_values[below] > value if is_greatest else heap_values[below] < value
        if not is_before:
            break
        heap_values[place] = heap_values[below]
        heap_nodes[place] = heap_nodes[below]
        place = below
    heap_values[place] = value
    heap_nodes[place] = node
    heap_values[last] = best_value
    heap_nodes[last] = best_node


@kernel
def spread_best_first(
    starts: Int64s, values: Values, has_value: Bools, parents: Int32s, marks: Bools, first_out: Int32s,
    next_out: Int32s, targets: Int32s, weights: Values, steps: Bools, alive: Bools, touched: Int64s,
    before: Values, had_value: Bools, counts: Int64s, is_greatest: bool, limits: Values,
) -> int:  # fmt: skip
    """Let the values of the starts spread along arcs, the best first."""
    heap_values = np.empty(max(starts.shape[0] * 2, 1024), values.dtype)
    heap_nodes = np.empty(heap_values.shape[0], np.int64)
    size = 0
    for position in range(starts.shape[0]):
        push(heap_values, heap_nodes, size, values[starts[position]], starts[position], is_greatest)
        size += 1
    while size > 0:
        pop(heap_values, heap_nodes, size, is_greatest)
        size -= 1
        value, node = heap_values[size], heap_nodes[size]
        if value != values[node]:
            continue
        arc = first_out[node]
        while arc >= 0:
            target = targets[arc]
            if alive[arc] != 0:
                if overflows(value, weights[arc], steps[arc], limits):
                    return _OVERFLOW
                offer = made_of(value, weights[arc], steps[arc])
                is_better = offer > values[target] if is_greatest else offer < values[target]
                if has_value[target] == 0 or is_better:
                    remember(target, values, has_value, marks, touched, before, had_value, counts)
                    values[target] = offer
                    has_value[target] = 1
                    parents[target] = arc
                    if size == heap_values.shape[0]:
                        larger_values = np.empty(2 * size, values.dtype)
                        larger_nodes = np.empty(2 * size, np.int64)
                        larger_values[:size] = heap_values
                        larger_nodes[:size] = heap_nodes
                        heap_values, heap_nodes = larger_values, larger_nodes
                    push(heap_values, heap_nodes, size, offer, target, is_greatest)
                    size += 1
            arc = next_out[arc]
    return _DONE


@kernel
def flood(
    starts: Int64s, values: Values, has_value: Bools, parents: Int32s, first_out: Int32s, next_out: Int32s,
    targets: Int32s, is_greatest: bool,
) -> None:  # fmt: skip
    """Let the values of the starts, best first, flow along arcs that do not change them."""
    stack = np.empty(values.shape[0], np.int64)
    for position in range(starts.shape[0]):
        node = starts[position]
        if parents[node] != _BASE:
            continue
        value = values[node]
        stack[0] = node
        size = 1
        while size > 0:
            size -= 1
            arc = first_out[stack[size]]
            while arc >= 0:
                target = targets[arc]
                is_better = value > values[target] if is_greatest else value < values[target]
                if has_value[target] == 0 or is_better:
                    values[target] = value
                    has_value[target] = 1
                    parents[target] = arc
                    stack[size] = target
                    size += 1
                arc = next_out[arc]


@kernel
def spread_in_rounds(
    starts: Int64s, values: Values, has_value: Bools, parents: Int32s, marks: Bools, first_out: Int32s,
    next_out: Int32s, targets: Int32s, weights: Values, steps: Bools, alive: Bools, touched: Int64s,
    before: Values, had_value: Bools, counts: Int64s, is_greatest: bool, limits: Values,
) -> int:  # fmt: skip
    """Let the values of the starts spread along arcs, round by round."""
    nodes = values.shape[0]
    current = np.empty(nodes, np.int64)
    following = np.empty(nodes, np.int64)
    size = 0
    for position in range(starts.shape[0]):
        if marks[starts[position]] & _QUEUED == 0:
            marks[starts[position]] |= _QUEUED
            current[size] = starts[position]
            size += 1
    rounds = 0
    while size > 0:
        rounds += 1
        if rounds > nodes + 1:
            for position in range(size):
                marks[current[position]] &= _NOT_QUEUED
            return _ENDLESS
        for position in range(size):
            marks[current[position]] &= _NOT_QUEUED
        found = 0
        for position in range(size):
            node = current[position]
            value = values[node]
            arc = first_out[node]
            while arc >= 0:
                target = targets[arc]
                if alive[arc] != 0:
                    if overflows(value, weights[arc], steps[arc], limits):
                        return _OVERFLOW
                    offer = made_of(value, weights[arc], steps[arc])
                    is_better = offer > values[target] if is_greatest else offer < values[target]
                    if has_value[target] == 0 or is_better:
                        remember(target, values, has_value, marks, touched, before, had_value, counts)
                        values[target] = offer
                        has_value[target] = 1
                        parents[target] = arc
                        if marks[target] & _QUEUED == 0:
                            marks[target] |= _QUEUED
                            following[found] = target
                            found += 1
                arc = next_out[arc]
        current, following = following, current
        size = found
    return _DONE


@kernel
def improve_targets(
    arcs: Int64s, values: Values, has_value: Bools, parents: Int32s, marks: Bools, sources: Int32s,
    targets: Int32s, weights: Values, steps: Bools, touched: Int64s, before: Values, had_value: Bools,
    counts: Int64s, improved: Int64s, is_greatest: bool, limits: Values,
) -> int:  # fmt: skip
    """Offer the targets of arcs what their sources have; write the nodes that improved; return how many."""
    found = 0
    for position in range(arcs.shape[0]):
        arc = arcs[position]
        source, target = sources[arc], targets[arc]
        if has_value[source] == 0:
            continue
        if overflows(values[source], weights[arc], steps[arc], limits):
            counts[2] = 1
        offer = made_of(values[source], weights[arc], steps[arc])
        is_better = offer > values[target] if is_greatest else offer < values[target]
        if has_value[target] == 0 or is_better:
            remember(target, values, has_value, marks, touched, before, had_value, counts)
            values[target] = offer
            has_value[target] = 1
            parents[target] = arc
            improved[found] = target
            found += 1
    return found


@kernel
def improve_values(
    nodes: Int64s, offers: Values, values: Values, has_value: Bools, is_greatest: bool
) -> None:
    """Give nodes the best of their values and of what they are offered."""
    for position in range(nodes.shape[0]):
        node = nodes[position]
        offer = offers[position]
        is_better = offer > values[node] if is_greatest else offer < values[node]
        if has_value[node] == 0 or is_better:
            values[node] = offer
            has_value[node] = 1


@kernel
def improve_bases(
    nodes: Int64s, bases: Values, values: Values, has_value: Bools, parents: Int32s, marks: Bools,
    touched: Int64s, before: Values, had_value: Bools, counts: Int64s, improved: Int64s, is_greatest: bool,
) -> int:  # fmt: skip
    """Offer nodes their base values; write those that improved; return how many."""
    found = 0
    for position in range(nodes.shape[0]):
        node = nodes[position]
        is_better = bases[node] > values[node] if is_greatest else bases[node] < values[node]
        if has_value[node] == 0 or is_better:
            remember(node, values, has_value, marks, touched, before, had_value, counts)
            values[node] = bases[node]
            has_value[node] = 1
            parents[node] = _BASE
            improved[found] = node
            found += 1
    return found
