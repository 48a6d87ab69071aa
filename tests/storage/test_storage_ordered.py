"""An index ordered by a column, and joins that bound it."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples, row_lists
from support.kernel_oracles import oracle_of
from support.programs import build
from tidelog.engine.epoch import MaintenanceSettings, RelationChange, Strategy
from tidelog.engine.local import LocalEngine
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.maintain import LocalMaintainedEngine
from tidelog.plan.body import Body
from tidelog.plan.flatten import flatten_rule
from tidelog.plan.operators import IndexJoin, View
from tidelog.plan.order import best_chain
from tidelog.plan.statistics import KnownSizes
from tidelog.storage import StoredRelation
from tidelog.storage.join import LESS, LESS_EQUAL, find_groups
from tidelog.storage.ordered import ABOVE, AT_LEAST, AT_MOST, BELOW, OrderedIndex, join_ordered, merge_tails
from tidelog.storage.postings import LENGTH, START
from tidelog.values.codec import Codec

NO_CONSTANTS = np.empty(0, np.int64)

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


@oracle_of(merge_tails)
@given(
    runs=st.lists(
        st.tuples(st.lists(st.integers(-9, 9), max_size=8), st.lists(st.integers(-9, 9), max_size=50))
    ),
    data=st.data(),
)
def test_tails_are_merged_where_they_are_long(
    runs: list[tuple[list[int], list[int]]], data: st.DataObject
) -> None:
    """A tail of more than 32 entries joins its sorted run, a shorter one stays; every entry is kept."""
    groups, arena, lengths = [], [], []
    for run, tail in runs:
        entries = [*sorted(run), *tail]
        groups.append((len(arena), len(entries), len(entries)))
        lengths.append(len(run))
        arena.extend((code, len(arena) + place) for place, code in enumerate(entries))
    numbers = data.draw(st.lists(st.integers(0, len(runs) - 1))) if runs else []
    merged, sorted_lengths = as_rows(arena, 2), np.array(lengths, np.int64)

    merge_tails(as_rows(groups, 3, np.int64), merged, sorted_lengths, 0, np.array(numbers, np.int64))

    for group, (start, length, _) in enumerate(groups):
        before, after = arena[start : start + length], as_tuples(merged[start : start + length])
        is_merged = group in numbers and len(runs[group][1]) > 32
        assert sorted(after) == sorted(before)
        assert sorted_lengths[group] == (length if is_merged else lengths[group])
        if is_merged:
            assert [code for code, _ in after] == sorted(code for code, _ in before)
        else:
            assert after == before


@oracle_of(join_ordered)
@given(
    rows=row_lists(
        2, of=st.integers(0, 5) | st.sampled_from([-(2**31), 2**31 - 1]), max_size=60, unique=True
    ),
    batch=row_lists(2, of=st.integers(0, 6), max_size=6),
    bounds=st.lists(
        st.tuples(st.sampled_from([ABOVE, AT_LEAST, BELOW, AT_MOST]), st.sampled_from([1, -1])), max_size=3
    ),
    constant=st.integers(-1, 6),
    runs=st.lists(st.integers(0, 60), min_size=8, max_size=8),
    limit=st.sampled_from([1, 3, 100]),
    data=st.data(),
)
def test_entries_within_bounds_are_joined(rows, batch, bounds, constant, runs, limit, data) -> None:
    """A range of the ordered column is found in the sorted run; the tail is judged by the filters."""
    relation = StoredRelation(2, np.int32, counting=True)
    relation.insert(as_rows(rows, 2))
    index = relation.index((0,))
    last = data.draw(st.integers(0, len(rows)))
    first = data.draw(st.integers(0, last))
    alive = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows))), np.uint8)
    keys = {key for key, _ in rows}
    found = np.array([-1] * len(batch), np.int64)
    lengths = np.zeros(index.groups.shape[0], np.int64)
    for place, (key, _) in enumerate(batch):
        if key in keys:
            find = as_rows([(key,)], 1)
            group = np.empty(1, np.int64)
            find_groups(
                find, NO_CONSTANTS, np.zeros(1, np.int32), index.slots, index.keys, index.groups,
                index.is_dense, group,
            )  # fmt: skip
            found[place] = group[0]
            start, length = index.groups[group[0], START], index.groups[group[0], LENGTH]
            run = min(runs[key], length)
            part = index.arena[start : start + run]
            part[:] = part[np.argsort(part[:, 0], kind="stable")]
            lengths[group[0]] = run
    # A source: column 1 of the binding, or the constant; column 2 is the ordered one.
    filters = [
        {
            ABOVE: (LESS, source, 2),
            AT_LEAST: (LESS_EQUAL, source, 2),
            BELOW: (LESS, 2, source),
            AT_MOST: (LESS_EQUAL, 2, source),
        }[kind]
        for kind, source in bounds
    ]
    state, out, joined = np.zeros(2, np.int64), np.empty((limit, 3), np.int32), []

    while state[0] < len(batch):
        written = join_ordered(
            as_rows(batch, 2), found, np.array([constant], np.int64), index.groups, index.arena, lengths, 0,
            np.array(bounds, np.int32).reshape(-1, 2), alive, first, last, as_rows(filters, 3),
            np.array([0, 1, 2], np.int32), state, out,
        )  # fmt: skip
        joined.extend(as_tuples(out[:written]))

    holds = {ABOVE: operator.gt, AT_LEAST: operator.ge, BELOW: operator.lt, AT_MOST: operator.le}
    assert sorted(joined) == sorted(
        (*binding, code)
        for binding in batch
        for number, (key, code) in enumerate(rows)
        if key == binding[0] and first <= number < last and alive[number]
        if all(holds[kind](code, binding[1] if source == 1 else constant) for kind, source in bounds)
    )


def test_a_bounded_column_of_many_facts_is_ordered() -> None:
    """The planner asks for an ordered index where a key has many facts, computing bounds before."""
    program = build(_NEAR)
    rule = flatten_rule(program.strata[-2].rules[0], program)
    rule = next(
        flatten_rule(r, program) for s in program.strata for r in s.rules if r.head.relation == "near"
    )

    def joins(matches: int) -> list[IndexJoin]:
        sizes = KnownSizes({"probe": 10.0, "item": 10.0 * matches}, {("item", (0,)): 10.0})
        body = Body(rule.body, (View.FULL, View.FULL), ("x", "y"), program, sizes)
        return [
            operator for operator in best_chain(body, (0, 1)).operators if isinstance(operator, IndexJoin)
        ]

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
    engine = LocalMaintainedEngine(program, Codec(program.types), Settings(), {})
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
