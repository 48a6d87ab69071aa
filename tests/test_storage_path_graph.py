"""Kernels of graphs that keep best values, against loops over lists of arcs."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel_oracles import oracle_of
from tidelog.storage.path_graph import (
    Outcome,
    Step,
    ask_again,
    delete_arcs,
    find_arc,
    flood,
    improve_bases,
    improve_targets,
    improve_values,
    invalidate,
    link_arcs,
    made_of,
    order_arcs,
    overflows,
    pop,
    push,
    remember,
    spread_best_first,
    spread_in_rounds,
    unlink_dead_arcs,
)

NODES = 5
NONE, BASE = -1, -2
TOUCHED, INVALID = 1, 2
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


def limits_of(dtype):
    """Return the numbers that sums must not leave."""
    return np.array([LOWEST, HIGHEST] if dtype is np.int64 else [-np.inf, np.inf], dtype)


def made(value, weight, step):
    """Return what an arc makes of a value."""
    return {Step.ADD: value + weight, Step.SMALLER: min(value, weight), Step.GREATER: max(value, weight)}[
        step
    ]


def best_of(offers, *, is_greatest):
    """Return the best of some values, None of none."""
    return (max if is_greatest else min)(offers, default=None)


@dataclass
class Graph:
    """The arrays that the kernels share; values and bases are None where there is none."""

    arcs: list
    bases: list
    dtype: type = np.int64

    def __post_init__(self):
        columns = list(zip(*self.arcs, strict=True)) or [[], [], [], []]
        self.sources, self.targets = (np.array(column, np.int32) for column in columns[:2])
        self.weights, self.steps = np.array(columns[2], self.dtype), bytes_of(columns[3])
        self.alive = bytes_of([1] * len(self.arcs))
        self.first_out, self.first_in = (np.full(NODES, NONE, np.int32) for _ in range(2))
        self.next_out, self.next_in = (np.zeros(len(self.arcs), np.int32) for _ in range(2))
        link_arcs(self.sources, 0, len(self.arcs), self.first_out, self.next_out)
        link_arcs(self.targets, 0, len(self.arcs), self.first_in, self.next_in)
        self.base_values = np.array([base or 0 for base in self.bases], self.dtype)
        self.has_base = bytes_of([base is not None for base in self.bases])
        self.values, self.has_value = self.base_values.copy(), self.has_base.copy()
        self.parents = np.where(self.has_base, BASE, NONE).astype(np.int32)
        self.marks = np.zeros(NODES, np.uint8)
        self.touched, self.before = np.zeros(NODES, np.int64), np.zeros(NODES, self.dtype)
        self.had_value, self.counts = np.zeros(NODES, np.uint8), np.zeros(3, np.int64)
        self.limits = limits_of(self.dtype)

    def set_values(self, drawn):
        """Give nodes values whatever the arcs say."""
        self.values[:] = [value or 0 for value in drawn]
        self.has_value[:] = [value is not None for value in drawn]

    def held(self):
        """Return the value of each node, None for none."""
        return [
            value if has else None for value, has in zip(self.values.tolist(), self.has_value, strict=True)
        ]

    def remembered(self):
        """Return the nodes that were touched with what they had before."""
        count = self.counts[0]
        old = zip(self.before[:count].tolist(), self.had_value[:count], strict=True)
        return dict(
            zip(self.touched[:count].tolist(), [value if has else None for value, has in old], strict=True)
        )

    def spread(self, kernel, starts, *, is_greatest):
        """Let a kernel spread the values of the starts."""
        return kernel(
            np.array(starts, np.int64), self.values, self.has_value, self.parents, self.marks, self.first_out,
            self.next_out, self.targets, self.weights, self.steps, self.alive, self.touched, self.before,
            self.had_value, self.counts, is_greatest, self.limits,
        )  # fmt: skip


def fixpoint(arcs, bases, *, is_greatest):
    """Return the best value of each node by trying all arcs again and again; None if that never ends."""
    found = list(bases)
    for _ in range(NODES + 1):
        after = [
            best_of(
                [
                    *([] if bases[node] is None else [bases[node]]),
                    *(made(found[s], w, p) for s, t, w, p in arcs if t == node and found[s] is not None),
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


@oracle_of(link_arcs, unlink_dead_arcs)
@given(ends=st.lists(nodes, max_size=20), data=st.data())
def test_lists_have_the_arcs_of_their_node(ends, data):
    """Arcs of a node are listed by number, later additions first; deleted ones are taken out."""
    cut = data.draw(st.integers(0, len(ends)))
    dead = data.draw(st.sets(st.integers(0, len(ends) - 1))) if ends else set()
    array, first = np.array(ends, np.int32), np.full(NODES, NONE, np.int32)
    following = np.zeros(len(ends), np.int32)
    alive = bytes_of([number not in dead for number in range(len(ends))])

    link_arcs(array, 0, cut, first, following)
    link_arcs(array, cut, len(ends), first, following)
    linked = [list_from(first[node], following) for node in range(NODES)]
    unlink_dead_arcs(np.array(sorted(dead), np.int64), array, first, following, alive)

    for node in range(NODES):
        every = [number for number in [*range(cut, len(ends)), *range(cut)] if ends[number] == node]
        assert linked[node] == every
        assert list_from(first[node], following) == [number for number in every if number not in dead]


@oracle_of(find_arc, delete_arcs)
@given(arcs=arcs_of(weights=st.integers(0, 1), max_size=12), data=st.data(), dtype=dtypes)
def test_arcs_are_found_and_deleted_one_by_one(arcs, data, dtype):
    """Of equal arcs one is deleted for each that is asked for, -1 says that none was left."""
    wanted = data.draw(st.permutations(arcs)) + data.draw(arcs_of(weights=st.integers(0, 1), max_size=3))
    graph = Graph(arcs, [None] * NODES, dtype)
    gone, left = np.zeros(len(wanted), np.int64), dict(enumerate(arcs))
    shared = (graph.first_out, graph.next_out, graph.targets, graph.weights, graph.steps, graph.alive)
    for source, target, weight, step in wanted:
        found = find_arc(source, target, dtype(weight), step, *shared)
        assert (found < 0) == ((source, target, weight, step) not in arcs)
        assert found < 0 or arcs[found] == (source, target, weight, step)

    delete_arcs(
        np.array([arc[0] for arc in wanted], np.int64), np.array([arc[1] for arc in wanted], np.int64),
        np.array([arc[2] for arc in wanted], dtype), bytes_of([arc[3] for arc in wanted]), *shared, gone,
    )  # fmt: skip

    for arc, number in zip(wanted, gone.tolist(), strict=True):
        assert (number < 0) == (arc not in left.values())
        assert number < 0 or left.pop(number) == arc
    assert np.flatnonzero(graph.alive).tolist() == sorted(left)


@oracle_of(remember)
@given(drawn=some_values, touched=st.lists(nodes), data=st.data())
def test_what_a_node_had_is_remembered_once(drawn, touched, data):
    """Only the first touch writes down a node's value; later ones see other values."""
    graph = Graph([], [None] * NODES)
    graph.set_values(drawn)

    for node in touched:
        remember(
            node, graph.values, graph.has_value, graph.marks, graph.touched, graph.before, graph.had_value,
            graph.counts,
        )  # fmt: skip
        graph.values[node], graph.has_value[node] = data.draw(values), 1

    assert graph.remembered() == {node: drawn[node] for node in touched}
    assert list(graph.remembered()) == list(dict.fromkeys(touched))


@oracle_of(invalidate)
@given(
    arcs=arcs_of(weights=st.integers(0, 3), steps=st.just(Step.ADD), max_size=12),
    bases=some_values,
    seeds=st.lists(nodes),
)
def test_what_hangs_on_a_seed_loses_its_value(arcs, bases, seeds):
    """Exactly the seeds that have a value and the nodes whose values came by way of them are invalid."""
    graph = Graph(arcs, bases)
    graph.spread(spread_best_first, np.flatnonzero(graph.has_base), is_greatest=False)
    graph.marks[:] = 0
    graph.counts[:] = 0
    held, parents, invalid = graph.held(), graph.parents.tolist(), np.zeros(NODES, np.int64)

    invalidate(
        np.array(seeds, np.int64), graph.values, graph.has_value, graph.parents, graph.marks, graph.first_out,
        graph.next_out, graph.targets, graph.touched, graph.before, graph.had_value, invalid, graph.counts,
    )  # fmt: skip

    def hangs(node):
        return node in seeds or (parents[node] >= 0 and hangs(arcs[parents[node]][0]))

    expected = {node for node in range(NODES) if held[node] is not None and hangs(node)}
    assert set(invalid[: graph.counts[1]].tolist()) == expected
    assert graph.counts[1] == len(expected)
    assert graph.held() == [None if node in expected else value for node, value in enumerate(held)]
    assert graph.remembered() == {node: held[node] for node in expected}
    assert all((graph.marks[node] & INVALID != 0) == (node in expected) for node in range(NODES))


@oracle_of(made_of, overflows)
@given(
    value=values | st.sampled_from([LOWEST, LOWEST + 3, HIGHEST - 3, HIGHEST]),
    weight=values | st.sampled_from([LOWEST, HIGHEST]),
    step=st.sampled_from(list(Step)),
)
def test_sums_that_leave_the_numbers_are_told(value, weight, step):
    """An arc adds or takes the smaller or greater; only a sum can leave 64 bits."""
    expected = made(value, weight, step)
    leaves = not LOWEST <= expected <= HIGHEST

    assert overflows(np.int64(value), np.int64(weight), int(step), limits_of(np.int64)) == leaves
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
    graph = Graph(arcs, bases, dtype)
    kept = [None if node in invalid else value for node, value in enumerate(drawn)]
    graph.set_values(kept)
    graph.marks[invalid] = INVALID
    graph.alive[:] = dead = data.draw(st.lists(st.integers(0, 1), min_size=len(arcs), max_size=len(arcs)))

    ask_again(
        np.array(invalid, np.int64), graph.base_values, graph.has_base, graph.values, graph.has_value,
        graph.parents, graph.marks, graph.first_in, graph.next_in, graph.sources, graph.weights, graph.steps,
        graph.alive, is_greatest, graph.limits, graph.counts,
    )  # fmt: skip

    live = [arc for arc, is_alive in zip(arcs, dead, strict=True) if is_alive]
    for node in range(NODES):
        offers = [made(kept[s], w, p) for s, t, w, p in live if t == node and kept[s] is not None]
        offers += [] if bases[node] is None else [bases[node]]
        expected = best_of(offers, is_greatest=is_greatest) if node in invalid else kept[node]
        assert graph.held()[node] == expected
        if node in invalid and graph.parents[node] >= 0:
            source, target, weight, step = arcs[graph.parents[node]]
            assert (target, made(kept[source], weight, step)) == (node, expected)


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
    graph = Graph(arcs, bases, dtype)

    outcome = graph.spread(spread_best_first, np.flatnonzero(graph.has_base), is_greatest=is_greatest)

    assert outcome == Outcome.DONE
    check_spread(graph, is_greatest=is_greatest)


@oracle_of(spread_in_rounds)
@given(arcs=arcs_of(steps=st.just(Step.ADD), max_size=10), bases=some_values, is_greatest=st.booleans())
def test_values_spread_in_rounds(arcs, bases, is_greatest):
    """Whatever the weights, every node gets its best value, or it is told that values improve for ever."""
    graph = Graph(arcs, bases)

    outcome = graph.spread(spread_in_rounds, np.flatnonzero(graph.has_base), is_greatest=is_greatest)

    if fixpoint(arcs, bases, is_greatest=is_greatest) is None:
        assert outcome == Outcome.ENDLESS
    else:
        assert outcome == Outcome.DONE
        check_spread(graph, is_greatest=is_greatest)
    assert not (graph.marks & ~np.uint8(TOUCHED)).any()


@pytest.mark.parametrize("kernel", [spread_best_first, spread_in_rounds])
@pytest.mark.parametrize(("is_greatest", "base", "weight"), [(False, HIGHEST - 1, 2), (True, LOWEST + 1, -2)])
def test_a_sum_beyond_the_numbers_ends_the_spread(kernel, is_greatest, base, weight):
    """Nothing wraps around: the outcome says that a sum overflowed."""
    graph = Graph([(0, 1, weight, 0)], [base, None, None, None, None])

    assert graph.spread(kernel, [0], is_greatest=is_greatest) == Outcome.OVERFLOW
    assert graph.held()[1] is None


def check_spread(graph, *, is_greatest):
    """Compare values with those of a fixpoint, and parents and what was touched with the values."""
    held = graph.held()
    assert held == fixpoint(graph.arcs, graph.bases, is_greatest=is_greatest)
    for node, parent in enumerate(graph.parents.tolist()):
        if parent >= 0:
            source, target, weight, step = graph.arcs[parent]
            assert (target, made(held[source], weight, step)) == (node, held[node])
        else:
            assert held[node] == (graph.bases[node] if parent == BASE else None)
    assert graph.remembered() == {node: base for node, base in enumerate(graph.bases) if base != held[node]}


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
    graph = Graph(arcs, bases, dtype)
    starts = sorted(
        np.flatnonzero(graph.has_base).tolist(), key=lambda node: bases[node], reverse=is_greatest
    )

    flood(
        np.array(starts, np.int64), graph.values, graph.has_value, graph.parents, graph.first_out,
        graph.next_out, graph.targets, is_greatest,
    )  # fmt: skip

    assert graph.held() == fixpoint(arcs, bases, is_greatest=is_greatest)


@oracle_of(improve_targets)
@given(arcs=arcs_of(max_size=12), drawn=some_values, data=st.data(), is_greatest=st.booleans(), dtype=dtypes)
def test_targets_take_better_offers(arcs, drawn, data, is_greatest, dtype):
    """Arcs are tried in turn; each improvement is written with its arc, and what was there is remembered."""
    chosen = data.draw(st.lists(st.integers(0, len(arcs) - 1))) if arcs else []
    graph = Graph(arcs, [None] * NODES, dtype)
    graph.set_values(drawn)
    improved, held, expected = np.zeros(len(chosen), np.int64), list(drawn), []
    for arc in chosen:
        source, target, weight, step = arcs[arc]
        if held[source] is not None:
            offer = made(held[source], weight, step)
            if (
                held[target] is None
                or best_of([held[target], offer], is_greatest=is_greatest) != held[target]
            ):
                held[target] = offer
                expected.append((target, arc))

    found = improve_targets(
        np.array(chosen, np.int64), graph.values, graph.has_value, graph.parents, graph.marks, graph.sources,
        graph.targets, graph.weights, graph.steps, graph.touched, graph.before, graph.had_value, graph.counts,
        improved, is_greatest, graph.limits,
    )  # fmt: skip

    assert improved[:found].tolist() == [node for node, _ in expected]
    assert graph.held() == held
    assert {node: int(graph.parents[node]) for node in dict(expected)} == dict(expected)
    assert graph.remembered() == {node: drawn[node] for node in dict(expected)}


@oracle_of(improve_values, improve_bases)
@given(drawn=some_values, offers=st.lists(st.tuples(nodes, values)), is_greatest=st.booleans(), dtype=dtypes)
def test_nodes_keep_the_best_of_what_they_are_offered(drawn, offers, is_greatest, dtype):
    """The best of offers becomes the base; a base better than the value replaces it."""
    graph = Graph([], [None] * NODES, dtype)
    asked = np.array([node for node, _ in offers], np.int64)
    improve_values(
        asked, np.array([value for _, value in offers], dtype), graph.base_values, graph.has_base, is_greatest
    )
    bases = graph.base_values.tolist()
    graph.set_values(drawn)
    improved = np.zeros(len(offers), np.int64)

    found = improve_bases(
        asked, graph.base_values, graph.values, graph.has_value, graph.parents, graph.marks, graph.touched,
        graph.before, graph.had_value, graph.counts, improved, is_greatest,
    )  # fmt: skip

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
    assert np.flatnonzero(graph.has_base).tolist() == sorted(best)
    assert set(improved[:found].tolist()) == better
    assert graph.held() == [best[node] if node in better else value for node, value in enumerate(drawn)]
    assert graph.remembered() == {node: drawn[node] for node in better}
    assert all(graph.parents[node] == BASE for node in better)
