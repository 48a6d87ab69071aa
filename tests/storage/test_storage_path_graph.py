"""Kernels of graphs that keep best values, against loops over lists of arcs."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.kernel_oracles import oracle_of
from tidelog.storage.path_graph import (
    BASE,
    NONE,
    Step,
    delete_arcs,
    find_arc,
    link_arcs,
    make_graph,
    make_room,
    order_arcs,
    unlink_arcs,
)
from tidelog.storage.path_spread import (
    INVALID,
    TOUCHED,
    Outcome,
    ask_again,
    flood,
    improve,
    improve_bases,
    invalidate,
    made_of,
    overflows,
    pop,
    push,
    remember,
    spread_best_first,
    spread_in_rounds,
)

NODES = 5
NO_NODES = np.empty(0, np.int64)
LOWEST, HIGHEST = -(2**63), 2**63 - 1
dtypes = st.sampled_from([np.int64, np.float64])
nodes = st.integers(0, NODES - 1)
values = st.integers(-4, 9)
steps = st.sampled_from(list(Step))


def arcs_of(weights=values, steps=steps, **limits):
    """Draw arcs as (source, target, weight, step)."""
    return st.lists(st.tuples(nodes, nodes, weights, steps.map(int)), **limits)


def bytes_of(flags):
    """Return flags as kernels take them."""
    return np.array(flags, np.uint8)


def made_by(value, weight, step):
    """Return what an arc makes of a value."""
    return {Step.ADD: value + weight, Step.SMALLER: min(value, weight), Step.GREATER: max(value, weight)}[
        step
    ]


def best_of(offers, *, is_greatest):
    """Return the best of some values, None of none."""
    return (max if is_greatest else min)(offers, default=None)


@dataclass
class Drawn:
    """A graph made of lists; values and bases are None where there is none."""

    arcs: list
    bases: list
    dtype: type = np.int64
    is_greatest: bool = False

    def __post_init__(self):
        empty = make_graph(self.dtype, is_greatest=self.is_greatest)
        nodes, bases = np.zeros(NODES, empty.nodes.dtype), np.zeros(NODES, empty.bases.dtype)
        arcs = np.zeros(len(self.arcs), empty.arcs.dtype)
        nodes["value"] = bases["value"] = [base or 0 for base in self.bases]
        nodes["has_value"] = bases["is_there"] = [base is not None for base in self.bases]
        nodes["parent"] = np.where(bases["is_there"], BASE, NONE)
        arcs["weight"], arcs["step"] = ([arc[column] for arc in self.arcs] for column in (2, 3))
        arcs["alive"] = 1
        self.graph = empty._replace(
            nodes=nodes,
            bases=bases,
            first_out=np.full(NODES, NONE, np.int32),
            first_in=np.full(NODES, NONE, np.int32),
            arcs=arcs,
            sources=np.array([arc[0] for arc in self.arcs], np.int32),
            targets=np.array([arc[1] for arc in self.arcs], np.int32),
            next_out=np.zeros(len(self.arcs), np.int32),
            next_in=np.zeros(len(self.arcs), np.int32),
        )
        graph = self.graph
        link_arcs(graph.sources, 0, len(arcs), graph.first_out, graph.next_out)
        link_arcs(graph.targets, 0, len(arcs), graph.first_in, graph.next_in)
        self.room = make_room(self.graph)

    def set_values(self, drawn):
        """Give nodes values whatever the arcs say."""
        self.graph.nodes["value"] = [value or 0 for value in drawn]
        self.graph.nodes["has_value"] = [value is not None for value in drawn]

    def held(self):
        """Return the value of each node, None for none."""
        nodes = self.graph.nodes
        return [
            value if has else None
            for value, has in zip(nodes["value"].tolist(), nodes["has_value"], strict=True)
        ]

    def remembered(self):
        """Return the nodes that were touched with what they had before."""
        touched = self.room.touched[: self.room.counts[0]["touched"]].tolist()
        return {node: before if had_value else None for before, node, had_value in touched}

    def spread(self, kernel, starts=None):
        """Let a kernel spread the values of the starts, of all bases unless told."""
        starts = np.flatnonzero(self.graph.bases["is_there"]) if starts is None else starts
        return kernel(self.graph, np.array(starts, np.int64), self.room)


def fixpoint(arcs, bases, *, is_greatest):
    """Return the best value of each node by trying all arcs again and again; None if that never ends."""
    found = list(bases)
    for _ in range(NODES + 1):
        after = [
            best_of(
                [
                    *([] if bases[node] is None else [bases[node]]),
                    *(made_by(found[s], w, p) for s, t, w, p in arcs if t == node and found[s] is not None),
                ],
                is_greatest=is_greatest,
            )
            for node in range(NODES)
        ]
        if after == found:
            return found
        found = after
    return None


def list_from(first, following):
    """Return a linked list as a list."""
    found = []
    while first >= 0:
        found.append(int(first))
        first = following[first]
    return found


some_values = st.lists(st.none() | values, min_size=NODES, max_size=NODES)


@oracle_of(order_arcs)
@given(st.lists(nodes, max_size=20))
def test_arcs_are_ordered_by_source(sources):
    """Arcs come by source, those of one source as they were."""
    order = np.zeros(len(sources), np.int64)

    order_arcs(np.array(sources, np.int32), NODES, order)

    assert order.tolist() == sorted(range(len(sources)), key=sources.__getitem__)


@oracle_of(link_arcs, unlink_arcs)
@given(ends=st.lists(nodes, max_size=20), data=st.data())
def test_lists_have_the_arcs_of_their_node(ends, data):
    """Arcs of a node are listed by number, later additions first; deleted ones are taken out."""
    cut = data.draw(st.integers(0, len(ends)))
    dead = data.draw(st.sets(st.integers(0, len(ends) - 1))) if ends else set()
    array, first = np.array(ends, np.int32), np.full(NODES, NONE, np.int32)
    following = np.zeros(len(ends), np.int32)
    arcs = np.zeros(len(ends), Drawn([], [None] * NODES).graph.arcs.dtype)
    arcs["alive"] = [number not in dead for number in range(len(ends))]

    link_arcs(array, 0, cut, first, following)
    link_arcs(array, cut, len(ends), first, following)
    linked = [list_from(first[node], following) for node in range(NODES)]
    unlink_arcs(np.array(sorted(dead), np.int64), arcs, array, first, following)

    for node in range(NODES):
        every = [number for number in [*range(cut, len(ends)), *range(cut)] if ends[number] == node]
        assert linked[node] == every
        assert list_from(first[node], following) == [number for number in every if number not in dead]


@oracle_of(find_arc, delete_arcs)
@given(arcs=arcs_of(weights=st.integers(0, 1), max_size=12), data=st.data(), dtype=dtypes)
def test_arcs_are_found_and_deleted_one_by_one(arcs, data, dtype):
    """Of equal arcs one is deleted for each that is asked for, -1 says that none was left."""
    wanted = data.draw(st.permutations(arcs)) + data.draw(arcs_of(weights=st.integers(0, 1), max_size=3))
    graph = Drawn(arcs, [None] * NODES, dtype).graph
    gone, left = np.zeros(len(wanted), np.int64), dict(enumerate(arcs))
    for source, target, weight, step in wanted:
        found = find_arc(graph, source, target, dtype(weight), step)
        assert (found < 0) == ((source, target, weight, step) not in arcs)
        assert found < 0 or arcs[found] == (source, target, weight, step)

    delete_arcs(
        graph, np.array([arc[0] for arc in wanted], np.int64), np.array([arc[1] for arc in wanted], np.int64),
        np.array([arc[2] for arc in wanted], dtype), bytes_of([arc[3] for arc in wanted]), gone,
    )  # fmt: skip

    for arc, number in zip(wanted, gone.tolist(), strict=True):
        assert (number < 0) == (arc not in left.values())
        assert number < 0 or left.pop(number) == arc
    assert np.flatnonzero(graph.arcs["alive"]).tolist() == sorted(left)


@oracle_of(remember)
@given(drawn=some_values, touched=st.lists(nodes), data=st.data())
def test_what_a_node_had_is_remembered_once(drawn, touched, data):
    """Only the first touch writes down a node's value; later ones see other values."""
    made = Drawn([], [None] * NODES)
    made.set_values(drawn)

    for node in touched:
        remember(made.graph.nodes[node], node, made.room)
        made.graph.nodes["value"][node], made.graph.nodes["has_value"][node] = data.draw(values), 1

    assert made.remembered() == {node: drawn[node] for node in touched}
    assert list(made.remembered()) == list(dict.fromkeys(touched))


@oracle_of(invalidate)
@given(
    arcs=arcs_of(weights=st.integers(0, 3), steps=st.just(Step.ADD), max_size=12),
    bases=some_values,
    seeds=st.lists(nodes),
)
def test_what_hangs_on_a_seed_loses_its_value(arcs, bases, seeds):
    """Exactly the seeds that have a value and the nodes whose values came by way of them are invalid."""
    made = Drawn(arcs, bases)
    made.spread(spread_best_first)
    graph, room = made.graph, make_room(made.graph)
    made.room, graph.nodes["marks"] = room, 0
    held, parents, invalid = made.held(), graph.nodes["parent"].tolist(), np.zeros(NODES, np.int64)

    invalidate(graph, np.array(seeds, np.int64), room, invalid)

    def hangs(node):
        return node in seeds or (parents[node] >= 0 and hangs(arcs[parents[node]][0]))

    expected = {node for node in range(NODES) if held[node] is not None and hangs(node)}
    count = room.counts[0]["invalid"]
    assert set(invalid[:count].tolist()) == expected
    assert count == len(expected)
    assert made.held() == [None if node in expected else value for node, value in enumerate(held)]
    assert made.remembered() == {node: held[node] for node in expected}
    assert all((graph.nodes["marks"][node] & INVALID != 0) == (node in expected) for node in range(NODES))


@oracle_of(made_of, overflows)
@given(
    value=values | st.sampled_from([LOWEST, LOWEST + 3, HIGHEST - 3, HIGHEST]),
    weight=values | st.sampled_from([LOWEST, HIGHEST]),
    step=st.sampled_from(list(Step)),
)
def test_sums_that_leave_the_numbers_are_told(value, weight, step):
    """An arc adds or takes the smaller or greater; only a sum can leave 64 bits."""
    expected = made_by(value, weight, step)
    leaves = not LOWEST <= expected <= HIGHEST

    assert (
        overflows(np.int64(value), np.int64(weight), int(step), np.int64(LOWEST), np.int64(HIGHEST)) == leaves
    )
    if not leaves:
        assert made_of(np.int64(value), np.int64(weight), int(step)) == expected


@oracle_of(ask_again)
@given(
    arcs=arcs_of(max_size=15),
    bases=some_values,
    drawn=some_values,
    data=st.data(),
    is_greatest=st.booleans(),
    dtype=dtypes,
)
def test_invalid_nodes_take_the_best_offer_of_valid_ones(arcs, bases, drawn, data, is_greatest, dtype):
    """A node that lost its value gets the best of its base and of what nodes that kept theirs make of it."""
    invalid = sorted(data.draw(st.sets(nodes)))
    made_graph = Drawn(arcs, bases, dtype, is_greatest)
    kept = [None if node in invalid else value for node, value in enumerate(drawn)]
    made_graph.set_values(kept)
    graph = made_graph.graph
    graph.nodes["marks"][invalid] = INVALID
    graph.arcs["alive"] = dead = data.draw(
        st.lists(st.integers(0, 1), min_size=len(arcs), max_size=len(arcs))
    )

    ask_again(graph, np.array(invalid, np.int64), made_graph.room)

    live = [arc for arc, is_alive in zip(arcs, dead, strict=True) if is_alive]
    for node in range(NODES):
        offers = [made_by(kept[s], w, p) for s, t, w, p in live if t == node and kept[s] is not None]
        offers += [] if bases[node] is None else [bases[node]]
        expected = best_of(offers, is_greatest=is_greatest) if node in invalid else kept[node]
        assert made_graph.held()[node] == expected
        if node in invalid and graph.nodes["parent"][node] >= 0:
            source, target, weight, step = arcs[graph.nodes["parent"][node]]
            assert (target, made_by(kept[source], weight, step)) == (node, expected)


@oracle_of(push, pop)
@given(
    drawn=st.lists(st.tuples(values, nodes), max_size=20),
    is_greatest=st.booleans(),
    dtype=dtypes,
    data=st.data(),
)
def test_a_heap_gives_the_best_first(drawn, is_greatest, dtype, data):
    """Entries come out in the order of their values, each with its node, also between insertions."""
    heap_values, heap_nodes = np.zeros(len(drawn), dtype), np.zeros(len(drawn), np.int64)
    waiting, size = [], 0

    def take():
        nonlocal size
        pop(heap_values, heap_nodes, size, is_greatest)
        size -= 1
        best = (float(heap_values[size]), int(heap_nodes[size]))
        assert best[0] == best_of([value for value, _ in waiting], is_greatest=is_greatest)
        waiting.remove(best)

    for value, node in drawn:
        push(heap_values, heap_nodes, size, dtype(value), node, is_greatest)
        size += 1
        waiting.append((value, node))
        if data.draw(st.booleans()):
            take()
    while size:
        take()

    assert waiting == []


def only_worse(arcs, *, is_greatest):
    """Return the arcs that make no value better than that of their source."""
    better = Step.GREATER if is_greatest else Step.SMALLER
    sign = -1 if is_greatest else 1
    return [(s, t, sign * abs(w) if p == Step.ADD else w, p) for s, t, w, p in arcs if p != better]


@oracle_of(spread_best_first)
@given(arcs=arcs_of(max_size=15), bases=some_values, is_greatest=st.booleans(), dtype=dtypes)
def test_values_spread_best_first(arcs, bases, is_greatest, dtype):
    """Along arcs that never better a value every node gets the best one, by the arc it remembers."""
    arcs = only_worse(arcs, is_greatest=is_greatest)
    made = Drawn(arcs, bases, dtype, is_greatest)

    outcome = made.spread(spread_best_first)

    assert outcome == Outcome.DONE
    check_spread(made)


@oracle_of(spread_in_rounds)
@given(arcs=arcs_of(steps=st.just(Step.ADD), max_size=10), bases=some_values, is_greatest=st.booleans())
def test_values_spread_in_rounds(arcs, bases, is_greatest):
    """Whatever the weights, every node gets its best value, or it is told that values improve for ever."""
    made = Drawn(arcs, bases, is_greatest=is_greatest)

    outcome = made.spread(spread_in_rounds)

    if fixpoint(arcs, bases, is_greatest=is_greatest) is None:
        assert outcome == Outcome.ENDLESS
    else:
        assert outcome == Outcome.DONE
        check_spread(made)
    assert not (made.graph.nodes["marks"] & ~np.uint8(TOUCHED)).any()


@pytest.mark.parametrize("kernel", [spread_best_first, spread_in_rounds])
@pytest.mark.parametrize(("is_greatest", "base", "weight"), [(False, HIGHEST - 1, 2), (True, LOWEST + 1, -2)])
def test_a_sum_beyond_the_numbers_ends_the_spread(kernel, is_greatest, base, weight):
    """Nothing wraps around: the outcome says that a sum overflowed."""
    drawn = Drawn([(0, 1, weight, 0)], [base, None, None, None, None], is_greatest=is_greatest)

    assert drawn.spread(kernel, [0]) == Outcome.OVERFLOW
    assert drawn.held()[1] is None


def check_spread(drawn):
    """Compare values with those of a fixpoint, and parents and what was touched with the values."""
    held = drawn.held()
    assert held == fixpoint(drawn.arcs, drawn.bases, is_greatest=drawn.is_greatest)
    for node, parent in enumerate(drawn.graph.nodes["parent"].tolist()):
        if parent >= 0:
            source, target, weight, step = drawn.arcs[parent]
            assert (target, made_by(held[source], weight, step)) == (node, held[node])
        else:
            assert held[node] == (drawn.bases[node] if parent == BASE else None)
    assert drawn.remembered() == {node: base for node, base in enumerate(drawn.bases) if base != held[node]}


@oracle_of(flood)
@given(
    pairs=st.lists(st.tuples(nodes, nodes), max_size=15),
    bases=some_values,
    is_greatest=st.booleans(),
    dtype=dtypes,
)
def test_values_flood_what_they_reach(pairs, bases, is_greatest, dtype):
    """Along arcs that change nothing every node gets the best base that reaches it."""
    arcs = [(source, target, 0, int(Step.ADD)) for source, target in pairs]
    drawn = Drawn(arcs, bases, dtype, is_greatest)
    starts = sorted(
        np.flatnonzero(drawn.graph.bases["is_there"]).tolist(),
        key=lambda node: bases[node],
        reverse=is_greatest,
    )

    flood(drawn.graph, np.array(starts, np.int64))

    assert drawn.held() == fixpoint(arcs, bases, is_greatest=is_greatest)


@oracle_of(improve)
@given(arcs=arcs_of(max_size=12), drawn=some_values, data=st.data(), is_greatest=st.booleans(), dtype=dtypes)
def test_targets_take_better_offers(arcs, drawn, data, is_greatest, dtype):
    """Arcs are tried in turn; each improvement is written with its arc, and what was there is remembered."""
    chosen = data.draw(st.lists(st.integers(0, len(arcs) - 1))) if arcs else []
    made_graph = Drawn(arcs, [None] * NODES, dtype, is_greatest)
    made_graph.set_values(drawn)
    graph = made_graph.graph
    improved, held, expected = np.zeros(len(chosen), np.int64), list(drawn), []
    for arc in chosen:
        source, target, weight, step = arcs[arc]
        if held[source] is not None:
            offer = made_by(held[source], weight, step)
            if (
                held[target] is None
                or best_of([held[target], offer], is_greatest=is_greatest) != held[target]
            ):
                held[target] = offer
                expected.append((target, arc))

    found = improve(graph, np.array(chosen, np.int64), NO_NODES, made_graph.room, improved)

    assert improved[:found].tolist() == [node for node, _ in expected]
    assert made_graph.held() == held
    assert {node: int(graph.nodes["parent"][node]) for node in dict(expected)} == dict(expected)
    assert made_graph.remembered() == {node: drawn[node] for node in dict(expected)}


@oracle_of(improve_bases, improve)
@given(drawn=some_values, offers=st.lists(st.tuples(nodes, values)), is_greatest=st.booleans(), dtype=dtypes)
def test_nodes_keep_the_best_of_what_they_are_offered(drawn, offers, is_greatest, dtype):
    """The best of offers becomes the base; a base better than the value replaces it."""
    made = Drawn([], [None] * NODES, dtype, is_greatest)
    graph = made.graph
    asked = np.array([node for node, _ in offers], np.int64)
    improve_bases(graph, asked, np.array([value for _, value in offers], dtype))
    bases = graph.bases["value"].tolist()
    made.set_values(drawn)
    improved = np.zeros(len(offers), np.int64)

    found = improve(graph, NO_NODES, asked, made.room, improved)

    best = {
        node: best_of([value for other, value in offers if other == node], is_greatest=is_greatest)
        for node, _ in offers
    }
    better = {
        node
        for node, value in best.items()
        if drawn[node] is None or value != best_of([value, drawn[node]], is_greatest=not is_greatest)
    }
    assert {node: bases[node] for node in best} == best
    assert np.flatnonzero(graph.bases["is_there"]).tolist() == sorted(best)
    assert set(improved[:found].tolist()) == better
    assert made.held() == [best[node] if node in better else value for node, value in enumerate(drawn)]
    assert made.remembered() == {node: drawn[node] for node in better}
    assert all(graph.nodes["parent"][node] == BASE for node in better)
