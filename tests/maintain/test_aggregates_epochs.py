"""Aggregates under change: after every epoch each is what its group makes, by every strategy."""

import math
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import Maintained, each_strategy
from support.programs import build, run
from tidelog.engine.epoch import Action, Strategy
from tidelog.errors import TidelogError
from tidelog.maintain.aggregates import name_aggregates
from tidelog.program.nodes import Atom
from tidelog.values import Fact, NoValueError

PAY = """
.decl dept(d: symbol)
.input dept
.decl emp(n: symbol, d: symbol, w: number)
.input emp
.decl total(d: symbol, s: number)
total(d, s) :- dept(d), s = sum w : { emp(_, d, w) }.
"""


class Median:
    """Neither takes values out nor merges."""

    def __init__(self) -> None:
        self.values: list[int] = []

    def add(self, value: int) -> None:
        """Take a value."""
        self.values.append(value)

    def result(self) -> int:
        """Return the middle one."""
        return sorted(self.values)[len(self.values) // 2]


class Gcd:
    """Merges, but takes nothing out."""

    def __init__(self, value: int = 0) -> None:
        self.value = value

    def add(self, value: int) -> None:
        """Take a value."""
        self.value = math.gcd(self.value, value)

    def merge(self, other: "Gcd") -> "Gcd":
        """Return one of both."""
        return Gcd(math.gcd(self.value, other.value))

    def result(self) -> int:
        """Return the divisor; 1 is not worth telling."""
        if self.value == 1:
            raise NoValueError
        return self.value


class Xor:
    """Takes values out again."""

    def __init__(self) -> None:
        self.value = 0

    def add(self, value: int) -> None:
        """Take a value."""
        self.value ^= value

    def remove(self, value: int) -> None:
        """Take a value out."""
        self.value ^= value

    def result(self) -> int:
        """Return what is left."""
        return self.value


FUNCTIONS = {"median": Median, "gcd": Gcd, "xor": Xor, "twice": lambda a, b: (2 * a + b) % 1000}

MANY = """
.functor median(x: number): number
.functor gcd(x: number): number
.functor xor(x: number): number
.functor twice(a: number, b: number): number
.decl d(x: number)
.input d
.decl e(x: number, y: number, s: symbol, f: float, u: unsigned)
.input e
.decl objects(x: number, m: number, g: number, b: number)
objects(x, m, g, b) :- d(x), m = @@median y : { e(x, y, _, _, _) }, g = @@gcd y : { e(x, y, _, _, _) },
    b = @@xor y : { e(x, y, _, _, _) }.
.decl texts(x: number, s: symbol, f: number, a: symbol, b: symbol)
texts(x, s, f, a, b) :- d(x), s = @@concat t : "-", { e(x, _, t, _, _) },
    f = @@twice y : x, { e(x, y, _, _, _) },
    a = min t : { e(x, _, t, _, _) }, b = max t : { e(x, _, t, _, _) }.
.decl floats(x: number, s: float, m: float, q: float, a: float)
floats(x, s, m, q, a) :- d(x), s = sum f : { e(x, _, _, f, _) }, m = mean f : { e(x, _, _, f, _) },
    q = max f : { e(x, _, _, f, _) }, a = mean u : { e(_, x, _, _, u) }.
.decl unsigneds(x: number, a: unsigned, b: unsigned)
unsigneds(x, a, b) :- d(x), a = sum t : { e(x, _, _, _, t) }, b = max t : { e(x, _, _, _, t) }.
.decl outer(x: number, n: number)
outer(x, n) :- d(x), n = count : { e(_, y, _, _, _), y < x }.
.decl nested(n: number)
nested(n) :- n = sum k : { d(x), k = count : { e(x, _, _, _, _), !d(0) } }.
.decl whole(a: float, s: symbol)
whole(a, s) :- a = sum f : { e(_, _, _, f, _) }, s = @@concat t : ";", { e(_, _, t, _, _) }.
.decl reach(x: number, n: number)
reach(x, 0) :- d(x).
reach(y, n) :- reach(x, _), e(x, y, _, _, _), n = count : { e(y, _, _, _, _) }.
"""
MANY_PROGRAM = build(MANY)
NUMBERS = st.integers(0, 3)
E_FACTS = st.tuples(
    NUMBERS,
    NUMBERS,
    st.sampled_from(["a", "b", "zz", ""]),
    st.sampled_from([1e100, -1e100, 1.0, 0.1, 3e-300, math.inf, 1e16]),
    st.sampled_from([0, 1, 5, 2**63, 2**64 - 1]),
)
EPOCHS = st.lists(
    st.tuples(st.lists(E_FACTS, max_size=2), st.integers(0, 3), st.sets(NUMBERS, max_size=1), st.booleans()),
    min_size=1,
    max_size=3,
)


@settings(max_examples=25)
@given(
    strategy=st.sampled_from(list(Strategy)),
    first=st.tuples(st.sets(NUMBERS), st.lists(E_FACTS, max_size=6)),
    epochs=EPOCHS,
)
def test_every_aggregate_follows(
    strategy: Strategy,
    first: tuple[set[int], list[Fact]],
    epochs: Iterable[tuple[list[Fact], int, set[int], bool]],
) -> None:
    """Relations, levels and counts are those of evaluation from nothing after every epoch."""
    groups, facts = first
    followed = Maintained(MANY_PROGRAM, FUNCTIONS).start({"d": [(x,) for x in groups], "e": facts})
    followed.check()
    for come, gone, moved, is_gone in epochs:
        taken = sorted(followed.inputs["e"], key=str)[:gone]
        d = {"d": [(x,) for x in moved]}
        followed.change(
            insert={"e": come, **({} if is_gone else d)},
            delete={"e": taken, **(d if is_gone else {})},
            strategy=strategy,
        )
        followed.check()


@pytest.mark.parametrize("strategy", each_strategy())
def test_an_epoch_touches_the_groups_it_reaches(strategy: Strategy) -> None:
    """The delta has the old and the new value of affected groups alone, empty groups included."""
    followed = Maintained(build(PAY)).start(
        {"dept": [("a",), ("b",)], "emp": [("x", "a", 3), ("y", "a", 4), ("z", "c", 1)]}
    )

    found = followed.change(
        insert={"emp": [("q", "b", 9)]}, delete={"emp": [("z", "c", 1)]}, strategy=strategy
    )

    assert found.inserted["total"] == {("b", 9)}
    assert found.deleted["total"] == {("b", 0)}
    followed.check()


def test_a_stratum_with_an_aggregate_is_updated() -> None:
    """No recompute is needed, nor told."""
    followed = Maintained(build(PAY)).start({"dept": [("a",)], "emp": [("x", "a", 3)]})

    found = followed.change(insert={"emp": [("y", "a", 4)]}, strategy=Strategy.UPDATE)

    actions = {report.relations: report.action for report in found.strata}
    assert actions["total",] is Action.UPDATED
    assert all(not name.startswith(("sum/", "some/")) for names in actions for name in names)


def test_float_sums_do_not_drift() -> None:
    """After many epochs the sum is `math.fsum` of the values left, bit for bit."""
    db = tidelog.open(
        """
        .decl v(x: number, f: float)
        .decl s(f: float)
        s(f) :- f = sum f : { v(_, f) }.
        """,
        facts={"v": [(0, 1.0)]},
    )
    left = {0: 1.0}
    for number in range(1, 60):
        value = (-1) ** number * 1.1**number * 10.0 ** (number % 7 * 20)
        left[number] = value
        gone = [(number // 2, left.pop(number // 2))] if number % 3 == 0 else []
        db.apply(insert={"v": [(number, value)]}, delete={"v": gone})

        assert list(db["s"]) == [(math.fsum(left.values()),)]


def test_sums_that_outgrow_32_bits_widen_the_state() -> None:
    """A value that needs wide codes is found in an epoch, and groups are as they should be after it."""
    followed = Maintained(build(PAY)).start({"dept": [("a",)], "emp": [("x", "a", 2**31 - 1)]})
    followed.change(insert={"emp": [("y", "a", 1)]})
    followed.check()
    followed.change(delete={"emp": [("x", "a", 2**31 - 1)]})

    assert followed.check()["total"] == {("a", 1)}


KEYED = PAY + ".decl one(x: number, d: symbol) keys x\none(1, d) :- total(d, s), s > 5.\n"


def test_groups_go_back_with_a_rejected_epoch() -> None:
    """An epoch that fails after the groups changed leaves them as they were."""
    followed = Maintained(build(KEYED)).start(
        {"dept": [("a",), ("b",)], "emp": [("x", "a", 6), ("y", "b", 1)]}
    )

    with pytest.raises(TidelogError, match="two-values"):
        followed.change(insert={"emp": [("z", "b", 9)]})

    followed.check()
    followed.change(insert={"emp": [("w", "b", 2)]}, delete={"emp": [("x", "a", 6)]})
    assert followed.check()["total"] == {("a", 0), ("b", 3)}


def test_aggregates_survive_a_change_of_rules() -> None:
    """A rule that is added finds the groups of another rule, and both follow the next epoch."""
    followed = Maintained(build(PAY + ".decl big(d: symbol)\n")).start(
        {"dept": [("a",)], "emp": [("x", "a", 3)]}
    )
    more = build(PAY + ".decl big(d: symbol)\nbig(d) :- dept(d), s = sum w : { emp(_, d, w) }, s > 5.\n")
    followed.change_rules(more)
    followed.check()
    followed.change(insert={"emp": [("y", "a", 4)]})

    assert followed.check()["big"] == {("a",)}


def test_an_exported_state_goes_on() -> None:
    """Another engine that takes over the state has the same groups."""
    followed = Maintained(build(PAY)).start({"dept": [("a",)], "emp": [("x", "a", 3), ("y", "a", 5)]})
    moved = followed.moved()
    moved.change(delete={"emp": [("x", "a", 3)]})

    assert moved.check()["total"] == {("a", 5)}


# --- aggregates of the user's --------------------------------------------------------------


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_texts_are_joined_in_value_order(engine: str) -> None:
    """Every derivation gives its text once, by code points; nothing gives an empty text."""
    found = run(
        """
        .decl t(x: number, s: symbol)
        t(1, "b"). t(2, "a"). t(3, "b"). t(4, "B").
        .decl r(s: symbol, none: symbol)
        r(s, n) :- s = @@concat x : ", ", { t(_, x) }, n = @@concat x : ", ", { t(9, x) }.
        """,
        engine=engine,
    )

    assert found["r"] == {("B, a, b, b", "")}


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_a_class_over_nothing_has_no_value(engine: str) -> None:
    """A group without derivations derives nothing, and so does a result that has no value."""
    found = run(
        """
        .functor gcd(x: number): number
        .decl n(x: number, y: number)
        n(1, 4). n(1, 6). n(2, 3). n(2, 5).
        .decl r(x: number, g: number)
        r(x, g) :- x = range(0, 3), g = @@gcd y : { n(x, y) }.
        """,
        engine=engine,
        functions={"gcd": Gcd},
    )

    assert found["r"] == {(1, 2)}


def test_a_decorated_class_is_found() -> None:
    """`@tidelog.aggregate` registers a class under its name."""

    @tidelog.aggregate(name="parity_of_this_test")
    class Parity(Xor):
        def result(self) -> int:
            return self.value % 2

    db = tidelog.open(
        """
        .functor parity_of_this_test(x: number): number
        .decl n(x: number)
        .decl p(x: number)
        p(x) :- x = @@parity_of_this_test y : { n(y) }.
        """,
        facts={"n": [(1,), (2,)]},
    )
    assert list(db["p"]) == [(1,)]
    db.apply(insert={"n": [(3,)]})

    assert list(db["p"]) == [(0,)]


def test_what_a_class_raises_is_told() -> None:
    """A failing method rejects the epoch and names itself."""

    class Fussy(Xor):
        def add(self, value: int) -> None:
            if value > 5:
                raise ValueError("too large")
            super().add(value)

    db = tidelog.open(
        """
        .functor fussy(x: number): number
        .decl n(x: number)
        .decl p(x: number)
        p(x) :- x = @@fussy y : { n(y) }.
        """,
        facts={"n": [(1,)]},
        functions={"fussy": Fussy},
    )

    with pytest.raises(TidelogError, match="too large") as caught:
        db.apply(insert={"n": [(9,)]})

    assert [each.code for each in caught.value.diagnostics] == ["aggregate-failed"]
    assert list(db["p"]) == [(1,)]


# --- several levels of grouping ------------------------------------------------------------

LEVELS = ".decl s(x: number, y: number, w: number)\n.input s\n" + "\n".join(
    f"""
    .decl by_x_{name}(x: number, v: number)
    by_x_{name}(x, v) :- s(x, _, _), v = {aggregate} : {{ s(x, q, w), w > 0 }}.
    .decl by_xy_{name}(x: number, y: number, v: number)
    by_xy_{name}(x, y, v) :- s(x, y, _), v = {aggregate} : {{ s(x, y, w), w > 0 }}.
    .decl whole_{name}(v: number)
    whole_{name}(v) :- v = {aggregate} : {{ s(p, q, w), w > 0 }}.
    """
    for name, aggregate in {"sum": "sum w", "min": "min w", "max": "max w", "count": "count"}.items()
)
LEVELS_PROGRAM = build(LEVELS)


def test_coarse_groups_stand_on_finer_ones() -> None:
    """An aggregate by fewer columns of the same body reads the values of the finer groups."""
    program, aggregates = name_aggregates(LEVELS_PROGRAM)

    reading = {
        atom.relation
        for rule in program.rules
        if rule.head.relation in aggregates
        for atom in rule.body
        if isinstance(atom, Atom)
    }
    # Of the three levels of each aggregate only the finest reads the facts themselves.
    assert len(aggregates) == 12
    assert len(reading & aggregates.keys()) == 8
    assert reading - aggregates.keys() == {"s"}


@settings(max_examples=20)
@given(
    strategy=st.sampled_from([Strategy.AUTO, Strategy.UPDATE, Strategy.COUNTING, Strategy.RECOMPUTE]),
    first=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-1, 4)), max_size=6),
    second=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-1, 4)), max_size=4),
)
def test_all_levels_of_grouping_follow(strategy: Strategy, first: list[Fact], second: list[Fact]) -> None:
    """Every level is what its own derivations make, after facts come and after they go."""
    followed = Maintained(LEVELS_PROGRAM).start({"s": first})
    followed.check()
    followed.change(insert={"s": second}, delete={"s": first[:2]}, strategy=strategy)
    followed.check()
    followed.change(delete={"s": second}, strategy=strategy)
    followed.check()


def test_an_aggregate_grouped_beside_an_open_pattern_of_its_own_stratum():
    """What binds its groups is looked for in earlier strata; a pattern with a wildcard binds nothing."""
    text = """
    .type List = [head: number, tail: List]
    .decl e(x: number)
    .input e
    .decl r(l: List, n: number)
    r([1, nil], 0) :- e(_).
    r([2, nil], min x : { e(x), x <= n }) :- e(n), r([n, _], _).
    """
    run = Maintained(build(text)).start({"e": [(1,)]})

    run.change({"e": [(2,), (0,)]}, {})

    run.check()


def test_an_empty_concatenation_needs_its_separator():
    """Where the separator has no value, the concatenation has none, whatever it is over."""
    text = """
    .decl e(x: number)
    .input e
    .decl r(x: number, s: symbol)
    r(x, s) :- e(x), s = @@concat "a" : (substr("ab", (count : { e(_) }), 1)), { e(y), y < x }.
    """
    run = Maintained(build(text)).start({"e": [(0,), (1,)]})

    run.check()
    run.change({}, {"e": [(1,)]})
    run.check()
