"""Aggregates over ranges in a run, which ask scan trees, against the reference engine."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.programs import build, run
from tidelog.plan import plan_stratum
from tidelog.plan.operators import Reduce
from tidelog.plan.statistics import KnownSizes

DECLARED = """
.decl reading(k: symbol, t: number, v: number, u: unsigned, f: float)
.input reading
.decl window(k: symbol, lo: number, hi: number)
.input window
.decl big(t: number)
.decl out(k: symbol, lo: number, s: number)
"""
PROGRAM = (
    DECLARED
    + """
out(k, lo, s) :- window(k, lo, hi), s = sum v : { reading(k, t, v, _, _), lo <= t, t < hi }.
.decl number(lo: number, n: number)
number(lo, n) :- window(_, lo, _), n = count : { reading("a", t, _, _, _), t > lo + 1 }.
.decl last(k: symbol, hi: number, t: number)
last(k, hi, t) :- window(k, _, hi), t = max x : { reading(k, x, _, _, _), x <= hi, 6 / (hi - 3) < x }.
.decl least(lo: number, f: float)
least(lo, f) :- window(_, lo, _), f = min y : { reading(_, t, _, _, y), t <= lo }.
.decl above(k: symbol, lo: number, s: unsigned, m: unsigned)
above(k, lo, s, m) :- window(k, lo, _), u = to_unsigned(lo), s = sum x : { reading(k, _, _, x, _), x >= u },
    m = min x : { reading(k, _, _, x, _), x > u }.
"""
)
TIMES = (*range(-3, 12), 2**31 + 5, -(2**63), 2**63 - 1)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), count=st.integers(0, 300))
def test_runs_agree_with_the_reference_engine(seed: int, count: int) -> None:
    """Sums, counts and extremes of random windows, many and few facts, are the reference engine's."""
    random = Random(seed)  # noqa: S311 - test data
    readings = [
        (
            random.choice("ab"),
            random.choice(TIMES),
            random.choice((1, -2, 5, 2**63 - 1)),
            random.choice((0, 7, 2**64 - 1)),
            random.choice((0.5, -1.0, 1e300)),
        )
        for _ in range(count)
    ]
    windows = [(random.choice("abc"), random.choice(TIMES), random.choice(TIMES)) for _ in range(8)]
    facts = {"reading": readings, "window": windows}

    assert run(PROGRAM, inputs=facts, engine="local") == run(PROGRAM, inputs=facts)


def scans(rule: str) -> bool:
    """Say whether the aggregate of a rule is answered from a scan tree if its relation is large."""
    program = build(DECLARED + rule)
    plan = plan_stratum(program.strata[-1], program, KnownSizes({"reading": 1e6, "window": 10.0}))
    (reduce,) = (operator for operator in plan.operators() if isinstance(operator, Reduce))
    return reduce.scan is not None


@pytest.mark.parametrize(
    "body",
    [
        "s = sum v : { reading(k, t, v, _, _), lo <= t, t < hi }",
        "s = count : { reading(_, t, _, _, _), t < hi * 2 }",
        "s = max t : { reading(k, t, _, _, _), hi > t }",
        "s = min v : { reading(k, t, v, _, _), t > lo, t < 7 }",
    ],
)
def test_ranges_are_recognised(body: str) -> None:
    """One atom, and bounds on one of its columns that depend on outer variables."""
    assert scans(f"out(k, lo, s) :- window(k, lo, hi), {body}.")


@pytest.mark.parametrize(
    "body",
    [
        "s = count : { reading(k, t, _, _, _), t < 7 }",
        "s = count : { reading(k, t, v, _, _), t < hi, v > lo }",
        "s = count : { reading(k, t, v, _, _), t < v + hi }",
        "s = count : { reading(k, t, t, _, _), t < hi }",
        "s = count : { reading(k, t, v, _, _), t < hi, v != 3 }",
        "s = count : { reading(k, t, _, _, _), t < hi, !window(k, t, t) }",
        "s = sum v + 1 : { reading(k, t, v, _, _), t < hi }",
        "s = count : { reading(j, t, _, _, _), j < k, t < hi }",
        "s = count : { reading(k, t, _, _, _), window(_, t, _), t < hi }",
        "s = count : { reading(k, t, _, _, f), f < to_float(hi) }",
    ],
)
def test_other_aggregates_join(body: str) -> None:
    """What a scan tree cannot answer is joined, as before."""
    assert not scans(f"out(k, lo, s) :- window(k, lo, hi), {body}.")


def test_few_facts_of_a_key_are_joined() -> None:
    """A scan tree is not worth it where an index finds a few facts at once."""
    rule = "out(k, v, s) :- window(k, v, h), s = count : { reading(k, t, v, _, _), t < h }."
    program = build(DECLARED + rule)
    sizes = KnownSizes({"reading": 1000.0, "window": 10.0})

    plan = plan_stratum(program.strata[-1], program, sizes)

    assert all(x.scan is None for x in plan.operators() if isinstance(x, Reduce))


def test_an_aggregate_over_its_own_stratum_is_joined() -> None:
    """What grows while it is asked is not put into a tree."""
    rule = """
    .decl on(t: number, n: number)
    on(t, 0) :- window(_, t, _).
    on(t, 1) :- window(_, t, _), count : { on(x, _), x < t } > 1.
    """
    program = build(DECLARED + rule)
    plan = plan_stratum(program.strata[-1], program, KnownSizes({"window": 1e6, "on": 1e6}))

    assert all(x.scan is None for x in plan.operators() if isinstance(x, Reduce))
