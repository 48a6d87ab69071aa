"""Lattices and aggregates over their own stratum, from nothing and under change."""

import math
from collections.abc import Iterable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import STRATEGIES, Maintained, check_reports, each_strategy, examples
from support.programs import build, run_program
from tidelog.engine.epoch import Action, Strategy
from tidelog.engine.protocol import Settings
from tidelog.errors import TidelogError
from tidelog.plan.lattice_paths import plan_paths
from tidelog.values import Fact
from tidelog.values.functors import order_key

GRAPHS = """
.type Length <: number
.lattice Length<> { Lub -> min(_, _) }
.type Wide <: number
.lattice Wide<> { Lub -> max(_, _) }
.decl edge(x: number, y: number, w: number)
.input edge
.decl start(x: number)
.input start
.decl dist(x: number, d: Length<>)
.input dist
dist(x, 0) :- start(x).
dist(y, d + w) :- dist(x, d), edge(x, y, w).
.decl far(x: number)
far(x) :- dist(x, d), d > 3.
.decl comp(x: number, c: Length<>)
comp(x, as(x, Length)) :- edge(x, _, _).
comp(y, as(y, Length)) :- edge(_, y, _).
comp(y, c) :- comp(x, c), edge(x, y, _).
comp(x, c) :- comp(y, c), edge(x, y, _).
.decl width(x: number, c: Wide<>)
width(x, 9) :- start(x).
width(y, min(c, w)) :- width(x, c), edge(x, y, w).
.decl members(n: number)
members(n) :- n = count : { comp(x, c), x != c }.
.decl odd(x: number, d: Length<>)
.decl even(x: number, d: Length<>)
even(x, 0) :- start(x).
odd(y, d + w) :- even(x, d), edge(x, y, w).
even(y, w + d + 1) :- odd(x, d), edge(x, y, w), !start(y).
.decl least(x: number, d: Length<>)
least(x, 0) :- start(x).
least(y, d) :- edge(_, y, _), d = 1 + min e + w : { least(x, e), edge(x, y, w) }.
.decl near(x: number, d: Length<>)
near(x, 0) :- start(x).
near(y, d + w) :- near(x, d), edge(x, y, w), d < 3.
"""
GRAPH_PROGRAM = build(GRAPHS)
EDGES = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))


@settings(max_examples=25)
@given(
    strategy=st.sampled_from([Strategy.AUTO, Strategy.UPDATE, Strategy.DRED, Strategy.RECOMPUTE]),
    first=st.lists(EDGES, max_size=8),
    epochs=st.lists(
        st.tuples(
            st.lists(EDGES, max_size=2), st.integers(0, 3), st.sets(st.tuples(st.integers(0, 4)), max_size=1)
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_graphs_follow_their_edges(
    strategy: Strategy, first: list[Fact], epochs: Iterable[tuple[list[Fact], int, set[Fact]]]
) -> None:
    """Shortest and widest paths, components and the strata above them are right after every epoch."""
    followed = Maintained(GRAPH_PROGRAM).start({"edge": first, "start": [(0,)], "dist": [(3, 7)]})
    followed.check()
    for come, gone, starts in epochs:
        taken = sorted(followed.inputs["edge"])[:gone]
        followed.change(
            insert={"edge": come, "start": starts, "dist": [(x, 1) for (x,) in starts]},
            delete={"edge": taken, "start": followed.inputs["start"] if gone == 3 else []},
            strategy=strategy,
        )
        followed.check()


def test_strata_that_are_graphs_are_updated() -> None:
    """Rules with one value in and one out are followed as graphs, others by timelines."""
    followed = Maintained(GRAPH_PROGRAM).start({"edge": [(0, 1, 2), (1, 2, 2)], "start": [(0,)]})

    found = followed.change(delete={"edge": [(0, 1, 2)]}, strategy=Strategy.UPDATE)

    actions = {report.relations[0]: report.action for report in found.strata}
    graphs = ["dist", "comp", "width", "odd", "least"]
    assert [actions[name] for name in graphs] == [Action.UPDATED] * len(graphs)
    assert actions["near"] is Action.UPDATED


@pytest.mark.parametrize(
    ("rule", "is_graph"),
    [
        ("dist(y, d) :- dist(x, d), edge(x, y, _).", True),
        ("dist(y, d + 2 * w - 1) :- dist(x, d), edge(x, y, w).", True),
        ("dist(y, min(w, d)) :- dist(x, d), edge(x, y, w).", True),
        ("dist(y, e) :- e = w + d, dist(x, d), edge(x, y, w), !edge(y, _, _).", True),
        ("dist(y, d) :- edge(_, y, _), d = min e + w : { dist(x, e), edge(x, y, w) }.", True),
        ("dist(y, d + d) :- dist(x, d), edge(x, y, _).", False),
        ("dist(y, d + e) :- dist(x, d), dist(y, e), edge(x, y, _).", False),
        ("dist(y, d) :- dist(x, d), edge(x, y, _), d < 5.", False),
        ("dist(x, d + 1) :- dist(x, d).", False),
        ("dist(y, 1) :- dist(x, _), edge(x, y, _).", False),
    ],
)
def test_which_rules_are_arcs(rule: str, *, is_graph: bool) -> None:
    """A rule is an arc if the key it derives depends on earlier strata alone, and its step is known."""
    program = build(
        f"""
        .type Length <: number
        .lattice Length<> {{ Lub -> min(_, _) }}
        .decl edge(x: number, y: number, w: number)
        .input edge
        .decl dist(x: number, d: Length<>)
        dist(0, 0).
        {rule}
        """
    )

    assert (plan_paths(program.strata[-1], program) is not None) == is_graph


WEIGHTS = """
.type Length <: {type}
.lattice Length<> {{ Lub -> {join}(_, _) }}
.decl edge(x: number, y: number, w: {type})
.input edge
.decl dist(x: number, d: Length<>)
dist(0, {zero}).
dist(y, d {op} w) :- dist(x, d), edge(x, y, w).
"""


@pytest.mark.parametrize(
    ("kind", "join", "zero", "op", "weights"),
    [
        ("float", "min", "0.0", "+", [0.1, 0.2, 1e300, 1e-300]),
        ("float", "max", "0.0", "-", [0.1, 0.2, 1e300, 1e-300]),
        ("unsigned", "min", "0u", "+", [1, 2, 3, 2**63]),
        ("number", "max", "0", "+", [-1, -2, 0, -5]),
        ("number", "min", "0", "-", [-1, -2, 0, -5]),
        ("number", "min", "0", "+", [2**40, 2**33, 0, 1]),
    ],
)
def test_all_numeric_lattices_follow(kind: str, join: str, zero: str, op: str, weights: list[float]) -> None:
    """Numbers, unsigned numbers and floats, narrow codes and wide ones."""
    a, b, c, d = weights
    program = build(WEIGHTS.format(type=kind, join=join, zero=zero, op=op))
    followed = Maintained(program).start({"edge": [(0, 1, a), (1, 2, b), (0, 2, c)]})
    followed.check()
    followed.change(delete={"edge": [(0, 1, a)]}, insert={"edge": [(0, 3, d), (3, 1, d), (2, 0, d)]})
    followed.check()
    followed.change(insert={"edge": [(0, 1, a)]}, delete={"edge": [(0, 2, c)]})
    followed.check()


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_values_that_improve_for_ever_are_told(engine: str) -> None:
    """A cycle of negative weight ends in a diagnostic, in a run and in an epoch."""
    text = WEIGHTS.format(type="number", join="min", zero="0", op="+")
    with pytest.raises(TidelogError, match="no-convergence"):
        tidelog.open(text, facts={"edge": [(0, 1, 1), (1, 0, -2)]}, engine=engine)
    db = tidelog.open(text, facts={"edge": [(0, 1, 1)]}, engine=engine)

    with pytest.raises(TidelogError, match="no-convergence"):
        db.apply(insert={"edge": [(1, 0, -2)]})

    assert sorted(db["dist"]) == [(0, 0), (1, 1)]
    db.apply(insert={"edge": [(1, 2, -3)]})
    assert sorted(db["dist"]) == [(0, 0), (1, 1), (2, -2)]


def test_an_iteration_limit_is_obeyed() -> None:
    """The user's limit goes before the engine's own."""
    with pytest.raises(TidelogError, match="within 5 iterations"):
        tidelog.open(
            ".decl n(x: number)\nn(0).\nn(x + 1) :- n(x), x < 100.", engine="reference", iteration_limit=5
        )


# --- aggregates over their own stratum -----------------------------------------------------

CONTROL = """
.decl owns(x: number, y: number, n: number)
.input owns
.decl controls(x: number, y: number)
.decl share(x: number, z: number, y: number, n: number)
share(x, x, y, n) :- owns(x, y, n).
share(x, z, y, n) :- controls(x, z), owns(z, y, n).
controls(x, y) :- share(x, _, y, _), sum n : { share(x, _, y, n), n > 0 } > 50.
.decl on(x: number)
on(x) :- owns(x, _, _), x < 2.
on(y) :- owns(_, y, _), count : { on(_) } >= 2.
.type Top <: number
.lattice Top<> { Lub -> max(_, _) }
.decl popular(x: number, h: Top<>)
popular(x, 1) :- owns(x, _, _).
popular(y, h) :- owns(_, y, _), h = count : { popular(z, _), owns(z, y, _) }.
"""
CONTROL_PROGRAM = build(CONTROL)
SHARES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([-3, 10, 30, 60])), max_size=9
)


@settings(max_examples=25)
@given(shares=SHARES)
def test_aggregates_over_their_own_stratum_agree_with_the_reference(shares: list[Fact]) -> None:
    """Company control and its like: what is found by delta rules is what naive iteration finds."""
    expected = run_program(CONTROL_PROGRAM, inputs={"owns": shares})

    assert run_program(CONTROL_PROGRAM, inputs={"owns": shares}, engine="local") == expected


@pytest.mark.parametrize("strategy", each_strategy())
def test_company_control_under_change(strategy: Strategy) -> None:
    """Control is lost with a share and found again."""
    program = CONTROL_PROGRAM
    followed = Maintained(program).start({"owns": [(0, 1, 60), (0, 2, 30), (1, 2, 30), (2, 3, 60)]})
    assert {(0, 2), (0, 3)} <= followed.relations()["controls"]

    followed.change(delete={"owns": [(1, 2, 30)]}, strategy=strategy)
    assert followed.relations() == followed.from_nothing()
    assert (0, 3) not in followed.relations()["controls"]

    found = followed.change(insert={"owns": [(1, 2, 25)]}, strategy=strategy)
    assert followed.relations() == followed.from_nothing()
    assert (0, 3) in followed.relations()["controls"]
    actions = {report.relations[0]: report.action for report in found.strata}
    assert (actions["controls"] is Action.RECOMPUTED) == (strategy is Strategy.RECOMPUTE)


COMPANIES = st.integers(0, 4)
GUARDED = """
.decl owns(x: number, y: number, n: number)
.input owns
.decl block(x: number)
.input block
.decl controls(x: number, y: number)
.input controls
.decl share(x: number, z: number, y: number, n: number)
share(x, x, y, n) :- owns(x, y, n).
share(x, z, y, n) :- controls(x, z), owns(z, y, n), !block(z).
controls(x, y) :- share(x, _, y, _), sum n : { share(x, z, y, n), n > 0, !block(z) } > 50.
.decl on(x: number)
.input on
on(y) :- owns(_, y, _), count : { on(_) } >= 2.
on(y) :- owns(x, y, _), max z : { on(z), owns(z, y, _) } > x.
.decl top(n: number)
top(n) :- n = count : { on(_) }.
"""
GUARDED_PROGRAM = build(GUARDED)
ONE = st.sets(st.tuples(COMPANIES), max_size=1)
PAIR = st.sets(st.tuples(COMPANIES, COMPANIES), max_size=1)


@settings(max_examples=30)
@given(
    shares=SHARES,
    epochs=st.lists(
        st.tuples(SHARES.map(lambda rows: rows[:2]), st.integers(0, 3), ONE, ONE, PAIR), max_size=4
    ),
)
def test_own_aggregates_follow_without_a_recompute(
    shares: list[Fact], epochs: list[tuple[list[Fact], int, set[Fact], set[Fact], set[Fact]]]
) -> None:
    """Facts that are given, derived or both come and go; negated atoms turn; deltas are exact."""
    followed = Maintained(GUARDED_PROGRAM).start({"owns": shares, "on": [(0,)], "controls": [(0, 1)]})
    for come, gone, on, block, pair in epochs:
        before = followed.relations()
        found = followed.change(
            insert={"owns": come[:2], "on": on, "block": block if gone % 2 else [], "controls": pair},
            delete={
                "owns": sorted(followed.inputs["owns"])[:gone],
                "block": [] if gone % 2 else block,
                "controls": followed.inputs["controls"] if gone == 3 else [],
                "on": followed.inputs["on"] if gone == 2 else [],
            },
        )
        now = followed.relations()
        assert now == followed.from_nothing()
        nothing: frozenset[Fact] = frozenset()
        for name, facts in now.items():
            assert facts == before[name] - found.deleted.get(name, nothing) | found.inserted.get(
                name, nothing
            )


FLOAT_PATHS = """
.type D <: float
.lattice D<> {{ Lub -> {join}(_, _) }}
.decl start(x: number, d: D) .input start
.decl edge(x: number, y: number, w: D) .input edge
.decl dist(x: number, d: D<>) .input dist
dist(x, d) :- start(x, d).
dist(y, {step}) :- dist(x, d), edge(x, y, w).
.decl seen(x: number, d: D) seen(x, d) :- dist(x, d).
"""
ODD = (0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, 1e308, -1e308)


@settings(max_examples=examples(25), deadline=None)
@given(
    join=st.sampled_from(["min", "max"]),
    step=st.sampled_from(["d", "d + w", "min(d, w)", "max(d, w)"]),
    chance=st.randoms(use_true_random=False),
)
def test_values_that_are_no_numbers(join, step, chance):
    """NaN, which comes last, and infinities, which add up to it, are values of a lattice like all others."""

    def facts(arity: int, most: int) -> list[tuple[float, ...]]:
        keys = [tuple(chance.randrange(4) for _ in range(arity - 1)) for _ in range(chance.randrange(most))]
        return [(*key, chance.choice(ODD)) for key in keys]

    def inputs() -> dict[str, list[tuple[float, ...]]]:
        return {"start": facts(2, 3), "edge": facts(3, 5), "dist": facts(2, 2)}

    run = Maintained(build(FLOAT_PATHS.format(join=join, step=step)), settings=Settings(iteration_limit=60))
    try:
        run.start(inputs())
        for _ in range(3):
            deleted = {name: [each for each in sorted(held, key=order_key) if chance.random() < 0.3]
                       for name, held in run.inputs.items()}  # fmt: skip
            run.change(inputs(), deleted, strategy=chance.choice(STRATEGIES))

            run.check()
    except TidelogError:
        # Values that improve for ever, which is for others to test.
        assume(condition=False)


def test_a_lattice_that_gains_facts_is_not_called_extended():
    """A value that a larger one takes the place of is deleted, though the epoch only inserts."""
    text = """
    .type High <: number
    .lattice High<> { Lub -> max(_, _) }
    .decl e(x: number, n: number)
    .input e
    .decl high(x: number, n: High<>)
    high(x, as(n, High)) :- e(x, n), e(x, _).
    """
    run = Maintained(build(text)).start({"e": [(1, 2)]})

    found = run.change({"e": [(1, 3)]}, {})

    run.check()
    assert found.deleted["high"] == {(1, 2)}
    check_reports(run, found, Strategy.AUTO)
