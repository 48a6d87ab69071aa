"""Lattices of the user's own: from nothing, and followed from epoch to epoch."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import LIMIT, STRATEGIES, Maintained, difference, examples
from support.programs import build, run_program
from tidelog.engine.epoch import Action, Strategy
from tidelog.engine.protocol import Settings
from tidelog.errors import TidelogError
from tidelog.values import Fact, NoValueError, Value

# Intervals are texts such as "0..9" and "0..*", sets of types such as "int|str".
_END = 6


def _ends(interval: str) -> tuple[float, float]:
    low, high = interval.split("..")
    return (float("-inf") if low == "*" else int(low), float("inf") if high == "*" else int(high))


def _interval(low: float, high: float) -> str:
    return "..".join("*" if abs(end) == float("inf") else str(int(end)) for end in (low, high))


def hull(x: str, y: str) -> str:
    """Return the least interval that contains two."""
    (a, b), (c, d) = _ends(x), _ends(y)
    return _interval(min(a, c), max(b, d))


def widen(x: str, y: str) -> str:
    """Return the first interval with the ends that moved at infinity."""
    (a, b), (c, d) = _ends(x), _ends(y)
    return _interval(float("-inf") if c < a else a, float("inf") if d > b else b)


def narrow(x: str, y: str) -> str:
    """Return the first interval with its infinite ends taken from the second."""
    (a, b), (c, d) = _ends(x), _ends(y)
    return _interval(c if a == float("-inf") else a, d if b == float("inf") else b)


def shift(x: str, n: int) -> str:
    """Return an interval moved by a number."""
    low, high = _ends(x)
    return _interval(low + n, high + n)


def cap(x: str, n: int) -> str:
    """Return the part of an interval that is below a number; there is none beyond it."""
    low, high = _ends(x)
    if low > n:
        raise NoValueError
    return _interval(low, min(high, n))


def both(x: str, y: str) -> str:
    """Return the sum of two intervals."""
    (a, b), (c, d) = _ends(x), _ends(y)
    return _interval(a + c, b + d)


def constant(x: str, y: str) -> str:
    """Return the value if it is the same, otherwise the top."""
    return x if x == y else "?"


def union(x: str, y: str) -> str:
    """Return the types of both, or any type if there are more than two."""
    if "any" in (x, y):
        return "any"
    types = {*x.split("|"), *y.split("|")}
    return "any" if len(types) > 2 else "|".join(sorted(types))


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "hull": hull,
    "widen": widen,
    "narrow": narrow,
    "shift": shift,
    "cap": cap,
    "both": both,
    "constant": constant,
    "union": union,
}
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
