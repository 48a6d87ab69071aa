"""Aggregates over ranges in rules, which ask scan trees, under change."""

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import Maintained, each_strategy
from support.explanations_oracle import check_proofs
from support.programs import build
from tidelog.engine.epoch import Strategy
from tidelog.errors import TidelogError
from tidelog.maintain.range_groups import RangeGroups
from tidelog.values import Fact

WINDOWS = """
.decl reading(k: symbol, t: number, v: number, u: unsigned, f: float)
.input reading
.decl window(k: symbol, lo: number, hi: number)
.input window
.decl total(k: symbol, lo: number, hi: number, s: number)
total(k, lo, hi, s) :- window(k, lo, hi), s = sum v : { reading(k, t, v, _, _), lo <= t, t < hi }.
.decl number(lo: number, n: number)
number(lo, n) :- window(_, lo, _), n = count : { reading(_, t, _, _, _), t > lo }.
.decl last(k: symbol, hi: number, t: number)
last(k, hi, t) :- window(k, _, hi), t = max x : { reading(k, x, _, _, _), hi >= x }.
.decl least(lo: number, hi: number, f: float)
least(lo, hi, f) :- window(_, lo, hi), f = min y : { reading("a", t, _, _, y), t <= hi, lo - 1 < t, t < 90 }.
.decl above(k: symbol, u: unsigned, s: unsigned, m: unsigned)
above(k, u, s, m) :- reading(k, _, _, u, _), s = sum x : { reading(k, _, _, x, _), x >= u },
    m = min x : { reading(k, _, _, x, _), x > u }.
.decl broken(lo: number, hi: number, n: number)
broken(lo, hi, n) :- window(_, lo, hi), n = count : { reading(_, t, _, _, _), t < 6 / lo, t >= hi }.
.decl busy(k: symbol, lo: number)
busy(k, lo) :- total(k, lo, _, s), s > 3.
.decl crowd(n: number, c: number)
crowd(n, c) :- number(_, n), c = count : { busy(_, lo), lo < n }.
"""
PROGRAM = build(WINDOWS)
SCANNED = 9
KEYS = st.sampled_from("abc")
TIMES = st.one_of(st.integers(-2, 8), st.sampled_from([2**31 + 5, -(2**63), 2**63 - 1]))
READINGS = st.tuples(
    KEYS,
    TIMES,
    st.one_of(st.integers(-4, 4), st.sampled_from([2**63 - 1, -(2**63)])),
    st.sampled_from([0, 1, 5, 2**63, 2**64 - 1]),
    st.sampled_from([1.5, -2.0, 0.0, 1e300]),
)
WINDOW_FACTS = st.tuples(KEYS, TIMES, TIMES)
CHANGES = st.tuples(
    st.lists(READINGS, max_size=4),
    st.integers(0, 4),
    st.lists(WINDOW_FACTS, max_size=2),
    st.integers(0, 2),
)


def range_groups(followed: Maintained) -> list[RangeGroups]:
    """Return the groups that ask scan trees."""
    return [each for each in followed.engine.groups.groups.values() if isinstance(each, RangeGroups)]


@settings(max_examples=60)
@given(
    strategy=st.sampled_from(list(Strategy)),
    readings=st.lists(READINGS, max_size=12),
    windows=st.lists(WINDOW_FACTS, max_size=5),
    epochs=st.lists(CHANGES, min_size=1, max_size=3),
)
def test_windows_follow(
    strategy: Strategy,
    readings: list[Fact],
    windows: list[Fact],
    epochs: Iterable[tuple[list[Fact], int, list[Fact], int]],
) -> None:
    """Relations, levels and counts are those of evaluation from nothing after every epoch."""
    followed = Maintained(PROGRAM).start({"reading": readings, "window": windows})
    assert len(range_groups(followed)) == SCANNED
    followed.check()
    for inserted, deleted, opened, closed in epochs:
        before = {name: sorted(facts) for name, facts in followed.inputs.items()}
        followed.change(
            insert={"reading": inserted, "window": opened},
            delete={"reading": before["reading"][:deleted], "window": before["window"][:closed]},
            strategy=strategy,
        )
        followed.check()


@pytest.mark.parametrize("strategy", each_strategy())
def test_only_windows_around_a_change_have_other_values(strategy: Strategy) -> None:
    """The delta has the windows that contain a changed fact; an empty one has the value of nothing."""
    readings = [("a", t, 1, 0, 0.0) for t in range(100)]
    followed = Maintained(PROGRAM).start(
        {"reading": readings, "window": [("a", 0, 10), ("a", 5, 50), ("a", 90, 99), ("b", 0, 99)]}
    )

    found = followed.change(delete={"reading": [("a", 7, 1, 0, 0.0)]}, strategy=strategy)

    assert found.inserted["total"] == {("a", 0, 10, 9), ("a", 5, 50, 44)}
    assert found.deleted["total"] == {("a", 0, 10, 10), ("a", 5, 50, 45)}
    assert ("b", 0, 99, 0) in followed.check()["total"]


SUMS = """
.decl reading(t: number, v: number)
.input reading
.decl window(lo: number, hi: number)
.input window
.decl total(lo: number, hi: number, s: number)
total(lo, hi, s) :- window(lo, hi), s = sum v : { reading(t, v), lo <= t, t < hi }.
"""
KEYED = SUMS + ".decl one(x: number, lo: number) keys x\none(1, lo) :- total(lo, _, s), s > 5.\n"


def test_windows_go_back_with_a_rejected_epoch() -> None:
    """An epoch that fails after the tree and the windows changed leaves them as they were."""
    followed = Maintained(build(KEYED)).start({"reading": [(1, 6), (8, 1)], "window": [(0, 5), (5, 9)]})

    with pytest.raises(TidelogError, match="two-values"):
        followed.change(insert={"reading": [(7, 9)], "window": [(6, 8)]}, delete={"window": [(0, 5)]})

    followed.check()
    followed.change(insert={"reading": [(6, 2)], "window": [(6, 8)]}, delete={"reading": [(1, 6)]})
    assert followed.check()["total"] == {(0, 5, 0), (5, 9, 3), (6, 8, 2)}


def test_closed_windows_are_forgotten_and_opened_again() -> None:
    """Many windows that were closed leave the index of windows, and come back with the right values."""
    windows = [(lo, lo + 10) for lo in range(200)]
    followed = Maintained(build(SUMS)).start(
        {"reading": [(t, 1) for t in range(0, 200, 7)], "window": windows}
    )
    (groups,) = range_groups(followed)

    followed.change(delete={"window": windows[:190]})
    followed.change(insert={"window": [(500, 600)], "reading": [(550, 4)]})

    assert len(groups._index) == 11
    followed.check()
    followed.change(insert={"window": windows[:190:3], "reading": [(20, 9)]})
    followed.check()


def test_a_state_of_windows_goes_on_elsewhere() -> None:
    """Another engine that takes over the state, and one with another rule, ask the same windows."""
    followed = Maintained(build(KEYED)).start({"reading": [(1, 2), (8, 1)], "window": [(0, 5)]})
    moved = followed.moved()
    moved.change(insert={"reading": [(2, 5)]})
    assert moved.check()["total"] == {(0, 5, 7)}

    more = (
        KEYED
        + """.decl most(lo: number, m: number)
        most(lo, m) :- window(lo, hi), m = max v : { reading(t, v), lo <= t, t < hi }."""
    )
    moved.change_rules(build(more))
    moved.check()
    moved.change(insert={"reading": [(3, 9)]}, delete={"reading": [(1, 2)]})

    assert moved.check()["most"] == {(0, 9)}


@settings(max_examples=10)
@given(
    readings=st.sets(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=8),
    windows=st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=3),
    seed=st.integers(0, 99),
)
def test_values_of_windows_have_proofs(
    readings: set[tuple[int, int]], windows: set[tuple[int, int]], seed: int
) -> None:
    """The proof of an aggregate over a range holds after an epoch, and its support suffices."""
    db = tidelog.open(SUMS, facts={"reading": sorted(readings), "window": sorted(windows)[1:]})

    gone = sorted(readings)[:1]
    db.apply(insert={"window": sorted(windows)[:1]}, delete={"reading": gone})

    inputs = {"reading": readings - set(gone), "window": windows}
    assert check_proofs(db, SUMS, inputs, Random(seed)) > 0  # noqa: S311 - test data
