"""What aggregates are kept in: exact sums, ordered groups, scan trees, best paths, each against an oracle."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.storage.exact_sum import ExactSums
from tidelog.storage.node_numbers import NodeNumbers
from tidelog.storage.ordered_groups import OrderedGroups
from tidelog.storage.path_graph import Step
from tidelog.storage.paths import Arcs, Endless, Paths, Unsuitable
from tidelog.storage.scan_tree import ScanTree
from tidelog.values.codes import float_to_code, floats_to_codes
from tidelog.values.functors import exact_sum

DOUBLES = st.floats(allow_subnormal=True) | st.sampled_from([5e-324, -5e-324, 1.7e308, -1.7e308, 0.1, 1e16])
ONE, NOBODY = np.array([1]), np.array([0])


@given(st.lists(st.tuples(DOUBLES, st.integers(0, 3)), max_size=12))
def test_exact_sums_equal_fsum_after_every_change(changes: list[tuple[float, int]]) -> None:
    """Whatever came and went, the sum is that of the values left, rounded once, bit for bit."""
    sums = ExactSums()
    sums.reserve(1)
    left: list[float] = []
    for value, gone in changes:
        sums.change(NOBODY, floats_to_codes(np.array([value])), ONE)
        left.append(value)
        for _ in range(min(gone, len(left))):
            taken = left.pop(0)
            sums.change(NOBODY, floats_to_codes(np.array([taken])), -ONE)

        assert sums.codes(NOBODY)[0] == float_to_code(exact_sum(left))


def test_exact_sums_carry_over_many_changes() -> None:
    """Diffs that would overflow a digit are carried on."""
    sums = ExactSums()
    sums.reserve(1)
    many = np.array([1 << 28])
    for _ in range(40):
        sums.change(NOBODY, floats_to_codes(np.array([0.1])), many)

    expected = float_to_code(math.fsum([0.1 * (1 << 28)] * 40))
    assert sums.codes(NOBODY)[0] == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-3, 3), st.booleans()), max_size=40))
def test_ordered_groups_know_the_least_key(changes: list[tuple[int, int, bool]]) -> None:
    """After every change the least key of each group is the least of those left."""
    groups = OrderedGroups()
    groups.reserve(3)
    left = [Counter[int]() for _ in range(3)]
    for group, key, is_gone in changes:
        diff = -1 if is_gone and left[group][key] else 1
        left[group][key] += diff
        groups.change(np.array([group]), np.array([key]), np.array([diff]))

        known = [number for number, keys in enumerate(left) if keys.total()]
        assert groups.least(np.array(known, np.int64)).tolist() == [min(left[n].elements()) for n in known]


@given(st.lists(st.tuples(st.text("abc", max_size=2), st.booleans()), max_size=40))
def test_scan_trees_summarise_in_order(changes: list[tuple[str, bool]]) -> None:
    """An operation that does not commute gives what the sorted values give, after every change."""
    tree = ScanTree[str](lambda text, count: f"{text};" * count, lambda left, right: left + right)
    left: Counter[str] = Counter()
    for text, is_gone in changes:
        diff = -1 if is_gone and left[text] else 1
        left[text] += diff
        tree.change(text, text, diff)

        assert (tree.whole() or "") == "".join(f"{each};" for each in sorted(left.elements()))


@given(st.lists(st.lists(st.integers(-5, 2000) | st.just(10**7), max_size=8), max_size=5))
def test_node_numbers_count_keys_in_order(batches: list[list[int]]) -> None:
    """Keys get numbers in the order in which they are met, dense or not."""
    numbers = NodeNumbers(1, np.int64)
    known: dict[int, int] = {}
    for batch in batches:
        found = numbers.locate(np.array(batch, np.int64).reshape(-1, 1))

        assert found.tolist() == [known.setdefault(key, len(known)) for key in batch]
        assert numbers.rows[: numbers.count, 0].tolist() == list(known)


# --- best paths ----------------------------------------------------------------------------

NODES = 6
ARCS = st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.integers(0, 4))


def arcs(rows: list[tuple[int, int, int]], step: Step = Step.ADD) -> Arcs:
    """Return arcs of one step as arrays."""
    found = np.array(rows, np.int64).reshape(-1, 3)
    return Arcs(found[:, 0], found[:, 1], found[:, 2].copy(), np.full(len(found), step, np.uint8))


def best_values(
    rows: list[tuple[int, int, int]], bases: dict[int, int], step: Step, *, is_greatest: bool
) -> dict[int, int]:
    """Return the values by trying all arcs until nothing improves."""
    values, is_changed = dict(bases), True
    while is_changed:
        is_changed = False
        for source, target, weight in rows:
            if source not in values:
                continue
            made = {Step.ADD: values[source] + weight, Step.SMALLER: min(values[source], weight)}
            offer = made.get(step, max(values[source], weight))
            known = values.get(target)
            if known is None or (offer > known if is_greatest else offer < known):
                values[target], is_changed = offer, True
    return values


@settings(max_examples=150)
@given(
    st.sampled_from([(Step.ADD, False), (Step.GREATER, False), (Step.SMALLER, True)]),
    st.lists(ARCS, max_size=12),
    st.dictionaries(st.integers(0, NODES - 1), st.integers(0, 6), max_size=2),
    st.lists(st.tuples(st.lists(ARCS, max_size=2), st.integers(0, 3), ARCS), max_size=4),
)
def test_paths_follow_arcs_and_bases(
    kind: tuple[Step, bool],
    rows: list[tuple[int, int, int]],
    bases: dict[int, int],
    epochs: list[tuple[list[tuple[int, int, int]], int, tuple[int, int, int]]],
) -> None:
    """After every change all values are the best ones, and what is told to be touched is what changed."""
    step, is_greatest = kind
    paths = Paths(np.int64, is_greatest=is_greatest)
    paths.reserve(NODES)
    paths.add(arcs(rows, step))
    nodes = np.array(sorted(bases), np.int64)
    paths.set_bases(
        nodes, np.array([bases[n] for n in sorted(bases)], np.int64), np.ones(len(bases), np.bool_)
    )
    paths.evaluate()
    rows, bases = list(rows), dict(bases)
    for come, gone, (node, _, base) in epochs:
        before = _values(paths)
        taken, rows = rows[:gone], [*rows[gone:], *come]
        has_base = base < 4
        bases = {**bases, node: base} if has_base else {n: b for n, b in bases.items() if n != node}
        touched = paths.change(
            arcs(taken, step), arcs(come, step), np.array([node]), np.array([base]), np.array([has_base])
        )

        assert _values(paths) == best_values(rows, bases, step, is_greatest=is_greatest)
        old = dict(zip(touched.nodes.tolist(), touched.before.tolist(), strict=True))
        had = dict(zip(touched.nodes.tolist(), touched.had_value.tolist(), strict=True))
        assert {n: before.get(n) for n in old} == {n: old[n] if had[n] else None for n in old}
        assert {n: v for n, v in before.items() if n not in old}.items() <= _values(paths).items()


def _values(paths: Paths) -> dict[int, int]:
    return {node: int(paths.values[node]) for node in np.flatnonzero(paths.has_value).tolist()}


def test_paths_with_gains_are_spread_in_rounds() -> None:
    """Negative weights are fine without a negative cycle."""
    paths = Paths(np.int64)
    paths.reserve(3)
    paths.add(arcs([(0, 1, 5), (1, 2, -4), (0, 2, 3)]))
    paths.set_bases(np.array([0]), np.array([0]), np.array([True]))

    paths.evaluate()

    assert _values(paths) == {0: 0, 1: 5, 2: 1}


def test_a_negative_cycle_is_endless() -> None:
    """Values that improve around a cycle are told apart from long paths."""
    paths = Paths(np.int64)
    paths.reserve(2)
    paths.add(arcs([(0, 1, 1), (1, 0, -2)]))
    paths.set_bases(np.array([0]), np.array([0]), np.array([True]))

    with pytest.raises(Endless):
        paths.evaluate()


def test_sums_that_wrap_are_left_to_others() -> None:
    """A wrapped sum would look better than its source."""
    paths = Paths(np.int64)
    paths.reserve(2)
    paths.add(arcs([(0, 1, 2**62)]))
    paths.set_bases(np.array([0]), np.array([2**62 + 1]), np.array([True]))

    with pytest.raises(Unsuitable):
        paths.evaluate()
