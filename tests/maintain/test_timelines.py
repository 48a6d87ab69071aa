"""Lattices of the user's own: from nothing, and followed from epoch to epoch."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import LIMIT, STRATEGIES, Maintained, difference, examples
from support.lattice_functions import LATTICE_FUNCTIONS as FUNCTIONS
from support.lattice_functions import constant
from support.programs import build, run_program
from tidelog.engine.epoch import Action, Strategy
from tidelog.engine.protocol import Settings
from tidelog.errors import TidelogError
from tidelog.values import Fact

PROGRAM = """
.decl edge(x: number, y: number, n: number)
.input edge
.decl start(x: number, v: symbol)
.input start
.decl loop(x: number)
.input loop

.functor constant(x: symbol, y: symbol): symbol
.functor union(x: symbol, y: symbol): symbol
.functor hull(x: symbol, y: symbol): symbol
.functor widen(x: symbol, y: symbol): symbol
.functor narrow(x: symbol, y: symbol): symbol
.functor shift(x: symbol, n: number): symbol
.functor cap(x: symbol, n: number): symbol
.functor both(x: symbol, y: symbol): symbol

.type Constant <: symbol
.lattice Constant<> { Lub -> @constant(_, _) }
.type Types <: symbol
.lattice Types<> { Lub -> @union(_, _) }
.type Interval <: symbol
.lattice Interval<> { Lub -> @hull(_, _) }
.type Wide <: symbol
.lattice Wide<> { Lub -> @hull(_, _), Widen -> @widen(_, _) }
.type Tight <: symbol
.lattice Tight<> { Lub -> @hull(_, _), Widen -> @widen(_, _), Narrow -> @narrow(_, _) }

// One value, with another stratum in between and above.
.decl value(x: number, v: Constant<>)
.input value
value(x, as(v, Constant)) :- start(x, v).
value(y, v) :- value(x, v), edge(x, y, _).
.decl known(x: number)
known(x) :- value(x, v), v != "?".

// Two values meet in a rule; a plain relation is part of the recursion.
.decl types(x: number, v: Types<>)
.decl reached(x: number)
.input reached
types(x, as(cat("t", to_string(x)), Types)) :- loop(x).
types(y, @union(v, w)) :- types(x, v), types(z, w), edge(x, y, n), edge(z, y, n), x != z, reached(y).
types(y, v) :- types(x, v), edge(x, y, _), !loop(y), reached(y).
reached(y) :- types(x, _), edge(x, y, _).
reached(x) :- loop(x).

// Two lattice columns of one relation.
.decl pair(x: number, v: Constant<>, w: Types<>)
pair(x, as(v, Constant), as("a", Types)) :- start(x, v).
pair(y, v, as(cat("t", to_string(n)), Types)) :- pair(x, v, _), edge(x, y, n).

// Widening without narrowing.
.decl wide(x: number, v: Wide<>)
wide(x, as("0..0", Wide)) :- start(x, _).
wide(y, @shift(v, n)) :- wide(x, v), edge(x, y, n).

// Widening and narrowing at the heads of loops, bounded by a test, and sums of two values.
.decl tight(x: number, v: Tight<>)
.decl flat(x: number, v: Interval<>)
tight(x, as("0..0", Tight)) :- start(x, _).
tight(y, as(v, Tight)) :- flat(x, v), edge(x, y, _).
flat(y, as(@cap(@shift(v, n), 4), Interval)) :- tight(x, v), edge(x, y, n).
flat(y, as(@cap(@both(v, w), 9), Interval)) :- tight(x, v), tight(y, w), edge(x, y, 1).
"""
BUILT = build(PROGRAM)
NODES = st.integers(0, 4)
EDGES = st.tuples(NODES, NODES, st.integers(0, 2))
STARTS = st.tuples(NODES, st.sampled_from(["a", "b"]))
CHANGES = st.fixed_dictionaries(
    {
        "edge": st.lists(EDGES, max_size=3),
        "start": st.lists(STARTS, max_size=1),
        "loop": st.lists(st.tuples(NODES), max_size=1),
        "value": st.lists(STARTS, max_size=1),
        "reached": st.lists(st.tuples(NODES), max_size=1),
    }
)


@settings(max_examples=examples(60), deadline=None)
@given(
    strategy=st.sampled_from([Strategy.UPDATE, Strategy.AUTO]),
    first=CHANGES,
    edges=st.lists(EDGES, max_size=8),
    epochs=st.lists(st.tuples(CHANGES, st.integers(0, 4), st.booleans()), min_size=1, max_size=5),
)
def test_values_are_those_of_an_evaluation_from_nothing(
    strategy: Strategy,
    first: dict[str, list[Fact]],
    edges: list[Fact],
    epochs: Iterable[tuple[dict[str, list[Fact]], int, bool]],
) -> None:
    """After every epoch, with widening and narrowing too, every value is the reference engine's."""
    run = Maintained(BUILT, FUNCTIONS).start({**first, "edge": first["edge"] + edges})
    before = run.check()
    for inserted, number, is_large in epochs:
        deleted = {
            name: sorted(facts)[:: 1 if is_large and name != "edge" else max(1, 5 - number)][:number]
            for name, facts in run.inputs.items()
        }
        found = run.change(inserted, deleted, strategy=strategy)
        after = run.check()
        assert found == difference(before, after)
        before = after


@settings(max_examples=examples(40), deadline=None)
@given(
    edges=st.lists(EDGES, max_size=8),
    first=CHANGES,
    epochs=st.lists(st.tuples(CHANGES, st.integers(0, 4), st.booleans()), min_size=2, max_size=6),
)
def test_timelines_go_on_from_an_image(
    tmp_path_factory: pytest.TempPathFactory,
    edges: list[Fact],
    first: dict[str, list[Fact]],
    epochs: Iterable[tuple[dict[str, list[Fact]], int, bool]],
) -> None:
    """An engine that took over an image has the same values after every epoch, and evaluates nothing anew."""
    run = Maintained(BUILT, FUNCTIONS).start({**first, "edge": first["edge"] + edges})
    before = run.check()
    folder = tmp_path_factory.mktemp("images")
    for epoch, (inserted, number, is_mapped) in enumerate(epochs):
        if is_mapped or not epoch:
            run = run.mapped(folder / str(epoch))
        deleted = {name: sorted(facts)[:number] for name, facts in run.inputs.items()}

        found = run.change(inserted, deleted)

        after = run.check()
        assert found == difference(before, after)
        before = after
        actions = {name: each.action for each in found.strata for name in each.relations}
        followed = {actions[name] for name in ("value", "types", "pair", "wide", "tight")}
        assert followed <= {Action.UPDATED, Action.SKIPPED}


def test_the_first_epoch_after_an_image_reads_what_it_looks_at(tmp_path: Path) -> None:
    """Of a long path, only the nodes around a change are read, and their functions called."""
    calls: list[tuple[str, str]] = []

    def join(x: str, y: str) -> str:
        calls.append((x, y))
        return constant(x, y)

    length = 2000
    program = build(ONE_LATTICE.format(rule=COPY))
    edges = [(x, x + 1) for x in range(length) if x % 100]
    starts = [(x, f"v{x % 7}") for x in range(length)]
    run = Maintained(program, {"join": join}).start({"start": starts, "edge": edges})
    run = run.mapped(tmp_path / "image")
    calls.clear()

    found = run.change(insert={"start": [(1950, "new")]}, delete={"edge": [(1960, 1961)]})

    assert found.strata[-1].action is Action.UPDATED
    read = dict.keys(run.engine.timelines._kept["value"].timelines.timelines)
    assert 0 < len(read) < 100
    assert len(calls) < 100
    run.check()


def test_a_join_that_is_none_stays_known_in_an_image(tmp_path: Path) -> None:
    """Why a stratum is recomputed is known after an image too, before it is evaluated again."""
    run = Maintained(build(ONE_LATTICE.format(rule=COPY)), {"join": _left})
    run.start({"start": [(0, "a"), (1, "b")], "edge": [(0, 1)]})

    found = run.mapped(tmp_path / "image").change(insert={"edge": [(0, 2)]})

    assert found.strata[-1].action is Action.RECOMPUTED
    assert "is not commutative" in found.strata[-1].reason


@settings(max_examples=examples(25), deadline=None)
@given(inputs=CHANGES, edges=st.lists(EDGES, max_size=8))
def test_a_single_run_widens_and_narrows_as_the_reference_does(
    inputs: dict[str, list[Fact]], edges: list[Fact]
) -> None:
    """Evaluation by iterations, which keeps no timelines, ends with the same values."""
    given_facts = {**inputs, "edge": inputs["edge"] + edges}

    found = run_program(BUILT, engine="local", inputs=given_facts, functions=FUNCTIONS, settings=LIMIT)

    assert found == run_program(BUILT, inputs=given_facts, functions=FUNCTIONS, settings=LIMIT)


def test_narrowing_finds_the_bound_of_a_loop() -> None:
    """`i = 0; while i <= 4: i += 1` widens to 0..* and narrows to what the test lets through."""
    run = Maintained(BUILT, FUNCTIONS).start({"start": [(0, "a")], "edge": [(0, 1, 1), (1, 0, 1)]})

    found = run.check()
    assert found["tight"] == {(0, "0..4")}
    assert found["wide"] == {(0, "0..*"), (1, "1..*")}


def test_strata_of_own_lattices_are_updated() -> None:
    """All strata of the program are followed, not recomputed."""
    run = Maintained(BUILT, FUNCTIONS).start(
        {"start": [(0, "a")], "loop": [(0,)], "edge": [(0, 1, 1), (1, 2, 0), (2, 0, 1)]}
    )

    found = run.change(delete={"edge": [(1, 2, 0)]})

    run.check()
    actions = {name: report.action for report in found.strata for name in report.relations}
    assert {actions[name] for name in ("value", "types", "pair", "wide", "tight")} == {Action.UPDATED}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_gives_the_same_values(strategy: Strategy) -> None:
    """Strategies that know nothing of lattices follow them the same way, or recompute them."""
    run = Maintained(BUILT, FUNCTIONS).start({"start": [(0, "a")], "edge": [(0, 1, 1), (1, 2, 0)]})

    run.change(insert={"edge": [(2, 0, 1)], "start": [(2, "b")]}, strategy=strategy)

    run.check()


ONE_LATTICE = """
.functor join(x: symbol, y: symbol): symbol
.type Value <: symbol
.lattice Value<> {{ Lub -> @join(_, _) }}
.decl edge(x: number, y: number)
.input edge
.decl start(x: number, v: symbol)
.input start
.decl value(x: number, v: Value<>)
value(x, as(v, Value)) :- start(x, v).
{rule}
"""
COPY = "value(y, v) :- value(x, v), edge(x, y)."


def _left(x: str, y: str) -> str:  # noqa: ARG001 - that is what is wrong with it
    return x


def _lesser(x: str, y: str) -> str:
    return min(x, y) + "'" if len(x + y) < 6 else min(x, y)


def _winner(x: str, y: str) -> str:
    """Rock, paper, scissors: commutative, but no order."""
    beats = {("paper", "rock"): "paper", ("rock", "scissors"): "rock", ("paper", "scissors"): "scissors"}
    return x if x == y else beats[tuple(sorted((x, y)))]  # type: ignore[index] # two of them


@pytest.mark.parametrize(
    ("join", "values", "reason"),
    [
        (_left, ["a", "b"], "is not commutative"),
        (_lesser, ["a", "b"], "is not an upper bound"),
        (_winner, ["rock", "paper", "scissors"], "not associative"),
    ],
)
def test_a_join_that_is_none_is_recomputed_with_the_reason(
    join: Callable[[str, str], str], values: list[str], reason: str
) -> None:
    """A function that breaks a law of lattices is found out, and its stratum recomputed from then on."""
    run = Maintained(build(ONE_LATTICE.format(rule=COPY)), {"join": join}).start({"start": [(0, values[0])]})

    first = run.change(insert={"edge": [(0, 1)]})
    run.change(insert={"start": [(number, value) for number, value in enumerate(values[1:], 2)]})
    second = run.change(insert={"edge": [(2, 1), (3, 2), (0, 3)]})
    third = run.change(delete={"edge": [(0, 1)]})

    assert first.strata[-1].action is Action.UPDATED
    assert (second.strata[-1].action, third.strata[-1].action) == (Action.RECOMPUTED, Action.RECOMPUTED)
    assert reason in third.strata[-1].reason


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("value(y, v) :- value(x, v), value(y, _), edge(x, _).", "depend on more than earlier strata"),
        ("value(y, v) :- value(x, v), edge(x, y), start(_, v).", "looks facts up by the value"),
    ],
)
def test_rules_that_are_no_arcs_are_recomputed_with_the_reason(rule: str, reason: str) -> None:
    """Where keys or facts depend on values, the stratum is recomputed, and the report says why."""
    text = ONE_LATTICE.format(rule=rule)
    try:
        program = build(text)
    except TidelogError as error:
        assert "not-monotone" in str(error)  # noqa: PT017 - such a rule may be refused before
        return
    run = Maintained(program, {"join": constant}).start({"start": [(0, "a"), (1, "b")], "edge": [(0, 1)]})

    found = run.change(insert={"edge": [(1, 0)]})

    run.check()
    assert reason in found.strata[-1].reason


def test_a_failing_function_leaves_the_state_as_it_was() -> None:
    """An epoch in which a join raises is undone, timelines included."""

    def join(x: str, y: str) -> str:
        if "bad" in (x, y):
            raise ValueError("no")
        return constant(x, y)

    program = build(ONE_LATTICE.format(rule=COPY))
    run = Maintained(program, {"join": join}).start({"start": [(0, "a")], "edge": [(0, 1), (1, 2), (2, 0)]})
    before = run.relations()

    with pytest.raises(TidelogError, match="functor-failed"):
        run.change(insert={"start": [(1, "bad")]})

    assert run.relations() == before
    run.change(insert={"start": [(1, "b")]}, delete={"edge": [(2, 0)]})
    run.check()


def test_values_that_grow_for_ever_are_refused() -> None:
    """A cycle that shifts an interval has no fixpoint without widening; the state stays."""
    program = build(
        """
        .functor hull(x: symbol, y: symbol): symbol
        .functor shift(x: symbol, n: number): symbol
        .type Interval <: symbol
        .lattice Interval<> { Lub -> @hull(_, _) }
        .decl edge(x: number, y: number, n: number)
        .input edge
        .decl at(x: number, v: Interval<>)
        at(0, "0..0").
        at(y, @shift(v, n)) :- at(x, v), edge(x, y, n).
        """
    )
    run = Maintained(program, FUNCTIONS, Settings(jobs=1, iteration_limit=50)).start({"edge": [(0, 1, 1)]})

    with pytest.raises(TidelogError, match="iteration-limit"):
        run.change(insert={"edge": [(1, 0, 1)]})

    run.check()
    run.change(insert={"edge": [(1, 2, 1)]})
    run.check()


def test_rules_change_and_states_move() -> None:
    """Timelines survive another program with the same rules, and are made again from an exported state."""
    run = Maintained(BUILT, FUNCTIONS).start({"start": [(0, "a")], "edge": [(0, 1, 1), (1, 0, 1)]})
    more = build(PROGRAM + '.decl far(x: number)\nfar(x) :- wide(x, v), v != "0..0".')

    run.change_rules(more, insert={"edge": [(1, 2, 2)]})
    run.check()
    moved = run.moved()
    moved.change(delete={"edge": [(1, 0, 1)]})
    moved.check()
    found = moved.change(insert={"edge": [(1, 0, 1)]})

    moved.check()
    assert {r.action for r in found.strata if r.relations == ("wide",)} == {Action.UPDATED}


def test_a_trial_epoch_leaves_no_trace() -> None:
    """What a trial does to timelines is taken back."""
    run = Maintained(BUILT, FUNCTIONS).start({"start": [(0, "a")], "edge": [(0, 1, 1), (1, 0, 1)]})
    before = run.relations()
    changes = run._net(BUILT, {"edge": [(1, 2, 0)]}, {"edge": [(1, 0, 1)]})[1]

    with run.engine.trial(changes, tidelog.engine.epoch.MaintenanceSettings(Strategy.UPDATE)):
        pass

    assert run.relations() == before
    run.change(insert={"edge": [(2, 1, 1)]})
    run.check()


def test_every_value_has_a_proof_after_an_epoch() -> None:
    """Joined, widened and narrowed values are proved, and the proofs are checked."""
    db = tidelog.open(PROGRAM, functions=FUNCTIONS, jobs=1)
    edges = [(0, 1, 1), (1, 0, 1), (1, 2, 0), (2, 0, 1), (3, 2, 2)]
    db.apply(insert={"edge": edges, "start": [(0, "a"), (3, "b")], "loop": [(0,), (3,)], "reached": [(3,)]})
    db.apply(delete={"edge": [(2, 0, 1)]}, insert={"edge": [(2, 3, 1)]})

    for relation in ("value", "types", "reached", "pair", "wide", "tight", "flat"):
        assert len(db[relation])
        for fact in db[relation]:
            written = ", ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in fact)
            assert db.why(f"{relation}({written})").check(), (relation, fact)
