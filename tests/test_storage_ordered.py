"""An index ordered by a column, and joins that bound it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from programs import build
from tidelog.engine.epoch import MaintenanceSettings, RelationChange, Strategy
from tidelog.engine.local import LocalEngine
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.maintain import MaintainedEngine
from tidelog.plan.body import Body
from tidelog.plan.flatten import flatten_rule
from tidelog.plan.operators import Join, View
from tidelog.plan.order import best_chain
from tidelog.plan.statistics import KnownSizes
from tidelog.storage.ordered import OrderedIndex
from tidelog.storage.postings import LENGTH, START
from tidelog.values.codec import Codec

_NEAR = """
.decl item(group: number, at: number)
.decl probe(group: number, at: number)
.input item, probe
.decl near(x: number, y: number)
near(x, y) :- probe(g, x), item(g, y), x - 3 <= y, y < x + 3.
.decl after(x: number, y: number)
after(x, y) :- probe(_, x), item(_, y), x < y, y <= 9223372036854775807.
"""


@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(-50, 50)), max_size=120), max_size=5))
def test_postings_hold_a_sorted_run_and_a_tail(pieces: list[list[tuple[int, int]]]) -> None:
    """After any additions each posting has every entry once, in order up to its sorted length."""
    index = OrderedIndex((0,), 1, 2, np.int32)
    rows = np.empty((0, 2), np.int32)

    for piece in pieces:
        rows = np.concatenate([rows, np.array(piece, np.int32).reshape(-1, 2)])
        index.add_rows(rows, len(rows))

        for group in np.flatnonzero(index.groups[:, LENGTH]):
            start, length = index.groups[group, START], index.groups[group, LENGTH]
            entries = index.arena[start : start + length]
            run = index.sorted_lengths[group]
            assert (np.diff(entries[:run, 0]) >= 0).all()
            assert sorted(map(tuple, entries.tolist())) == sorted(
                (at, number) for number, (key, at) in enumerate(rows.tolist()) if key == group
            )


def test_a_bounded_column_of_many_facts_is_ordered() -> None:
    """The planner asks for an ordered index where a key has many facts, computing bounds before."""
    program = build(_NEAR)
    rule = flatten_rule(program.strata[-2].rules[0], program)
    rule = next(
        flatten_rule(r, program) for s in program.strata for r in s.rules if r.head.relation == "near"
    )

    def joins(matches: int) -> list[Join]:
        sizes = KnownSizes({"probe": 10.0, "item": 10.0 * matches}, {("item", (0,)): 10.0})
        body = Body(rule.body, (View.FULL, View.FULL), ("x", "y"), program, sizes)
        return [operator for operator in best_chain(body, (0, 1)).operators if isinstance(operator, Join)]

    assert [join.ordered for join in joins(1000)] == [1]
    assert [join.ordered for join in joins(4)] == [None]


def _facts(random: np.random.Generator, count: int) -> set[tuple[int, int]]:
    return set(zip(random.integers(0, 2, count).tolist(), random.integers(-300, 300, count).tolist()))  # noqa: B905 - equal


def _columns(facts: set[tuple[int, int]]) -> list[np.ndarray]:
    return list(np.array(sorted(facts), np.int64).reshape(-1, 2).T)


def _expected(items: set[tuple[int, int]], probes: set[tuple[int, int]]) -> dict[str, set[tuple[int, int]]]:
    near = {(x, y) for g, x in probes for h, y in items if g == h and x - 3 <= y < x + 3}
    return {"near": near, "after": {(x, y) for _, x in probes for _, y in items if x < y}}


@pytest.mark.parametrize("seed", range(4))
def test_bounded_joins_agree_with_a_loop(seed: int) -> None:
    """Batch evaluation and epochs over an ordered index derive what a double loop does."""
    random = np.random.default_rng(seed)
    program = build(_NEAR)
    items, probes = _facts(random, 700), _facts(random, 40)
    batch = LocalEngine(program, Codec(program.types), Settings(), {})
    engine = MaintainedEngine(program, Codec(program.types), Settings(), {})
    for each in (batch, engine):
        each.insert("item", _columns(items))
        each.insert("probe", _columns(probes))
        each.evaluate(SilentObserver())

    def held(each: LocalEngine) -> dict[str, set[tuple[int, int]]]:
        return {
            name: set(zip(*(column.tolist() for column in each.facts(name)), strict=True))
            for name in ("near", "after")
        }

    assert held(batch) == held(engine) == _expected(items, probes)
    for _ in range(4):
        gone = {fact for fact in items if random.random() < 0.05}
        come = _facts(random, 30) - items
        changes = {"item": RelationChange(_columns(come), _columns(gone))}
        engine.apply(changes, MaintenanceSettings(Strategy.UPDATE), SilentObserver())
        items = items - gone | come
        assert held(engine) == _expected(items, probes)
