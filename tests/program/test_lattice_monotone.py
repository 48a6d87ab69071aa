"""Values that move while their stratum is evaluated: where they may be used, and where not."""

import re

import pytest

from support.building import diagnostics
from support.programs import run

LENGTHS = """
.type Length <: number
.lattice Length<> { Lub -> min(_, _) }
.type Top <: number
.lattice Top<> { Lub -> max(_, _) }
.decl edge(x: number, y: number, w: number)
.decl dist(x: number, d: Length<>)
.decl high(x: number, h: Top<>)
.decl seen(x: number)
edge(0, 1, 4). edge(0, 2, 1). edge(2, 1, 1). edge(1, 0, 3).
dist(0, 0).
high(0, 0).
seen(x) :- dist(x, _).
"""

ALLOWED = [
    "dist(y, d + w) :- dist(x, d), edge(x, y, w).",
    "dist(y, d + w) :- dist(x, d), edge(x, y, w), d < 10.",
    "dist(y, d + w) :- dist(x, d), edge(x, y, w), 10 >= d + w.",
    "dist(y, max(d, w)) :- dist(x, d), edge(x, y, w).",
    "dist(y, 2 * d + 1) :- dist(x, d), edge(x, y, _), d < 20.",
    "dist(y, e) :- dist(x, d), edge(x, y, w), e = d + w.",
    "dist(y, d) :- edge(_, y, _), d = min e + w : { dist(x, e), edge(x, y, w) }.",
    "high(y, h - w) :- high(x, h), edge(x, y, w).",
    "high(y, -d) :- dist(x, d), edge(x, y, _). dist(y, -h) :- high(x, h), edge(x, y, _), h > 5.",
    "dist(y, 3) :- edge(_, y, _), count : { dist(_, _) } > 1.",
    "seen(y) :- edge(_, y, _), max h : { high(_, h) } >= 0. high(x, 1) :- seen(x).",
    "seen(y) :- edge(_, y, _), sum w : { seen(x), edge(x, y, w), w > 0 } > 3. dist(x, 9) :- seen(x).",
]


@pytest.mark.parametrize("rule", ALLOWED)
def test_monotone_rules_are_accepted_and_engines_agree(rule: str) -> None:
    """What can only become true, or moves the way its column does, has one least answer."""
    assert run(LENGTHS + rule) == run(LENGTHS + rule, engine="local")


REJECTED = {
    "dist(y, d + w) :- dist(x, d), edge(x, y, w), d > 4.": "`d` may become smaller .* `>` may turn false",
    "dist(y, d + w) :- dist(x, d), edge(x, y, w), d = 4.": "`=` may turn false",
    "dist(y, d + w) :- dist(x, d), edge(x, y, w), d != 4.": "`!=` may turn false",
    "dist(y, w - d) :- dist(x, d), edge(x, y, w).": "may grow .* column `d` of `dist` may become smaller",
    "dist(y, d * w) :- dist(x, d), edge(x, y, w).": "either way",
    "dist(y, d band w) :- dist(x, d), edge(x, y, w).": "either way",
    "dist(y, 1) :- dist(x, d), edge(x, y, d).": "must have one value",
    "dist(y, 1) :- dist(x, d), dist(y, d).": "must have one value",
    "dist(y, 1) :- dist(x, 0), edge(x, y, _).": "must have one value",
    "dist(y, 1) :- dist(x, d), edge(x, y, _), !edge(y, x, d).": "negated atom",
    "dist(y, 1) :- dist(x, d), y = range(0, d).": "range",
    "dist(y, 1) :- dist(x, d), edge(x, y, _), 1 < count : { edge(_, _, d) }.": "grouped by it",
    "high(y, as(d, Top)) :- dist(x, d), edge(x, y, _). dist(x, 1) :- high(x, _).": "either way|may grow",
    "seen(d) :- dist(_, d). dist(x, 1) :- seen(x).": "keeps what is written",
    "dist(y, 3) :- edge(_, y, _), count : { dist(_, _) } < 2.": "the aggregate may grow",
}


@pytest.mark.parametrize("rule", REJECTED)
def test_other_uses_are_rejected_with_the_reason(rule: str) -> None:
    """The message says where the value goes and what it must not decide."""
    found = [each for each in diagnostics(LENGTHS + rule) if each.severity.value == "error"]

    assert {each.code for each in found} == {"not-monotone"}
    text = " ".join(each.message for each in found)
    assert re.search(REJECTED[rule], text), text


@pytest.mark.parametrize(
    "aggregate",
    [
        "sum w : { seen(x), edge(x, y, w) } > 3",
        "mean w : { seen(x), edge(x, y, w) } > 3.0",
        "count : { edge(x, y, _), !seen(x) } > 3",
    ],
)
def test_aggregates_that_go_both_ways_are_rejected(aggregate: str) -> None:
    """A sum may shrink by a negative value, a mean by a small one, a count by what is negated."""
    found = diagnostics(LENGTHS + f"seen(y) :- edge(_, y, _), {aggregate}. dist(x, 9) :- seen(x).")

    assert {each.code for each in found} == {"unstratifiable"}


def test_outside_the_recursion_everything_is_allowed() -> None:
    """A lattice that is complete is a relation like another."""
    found = run(
        LENGTHS
        + """
        dist(y, d + w) :- dist(x, d), edge(x, y, w).
        .decl far(x: number, d: number)
        far(x, as(d, number)) :- dist(x, d), d > 1, d != 7.
        """
    )

    assert found["far"] == {(1, 2)}


@pytest.mark.parametrize("join", ["min", "max"])
def test_intrinsic_joins_need_numbers(join: str) -> None:
    """Only numbers have an order that every engine's kernels know."""
    found = diagnostics(f'.lattice symbol<> {{ Lub -> {join}(_, _) }}\n.decl a(x: symbol<>)\na("b").')

    assert [each.code for each in found] == ["bad-lattice"]
