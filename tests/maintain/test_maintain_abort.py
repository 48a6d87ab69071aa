"""An epoch that fails never happened: whatever it had done is undone, and the next one works."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import LIMIT, Maintained, difference, each_strategy, examples
from support.epochs_programs import SPECIAL, tangled_epochs, tangled_programs
from support.programs import build, run_program
from tidelog.engine.epoch import Action, Strategy
from tidelog.engine.protocol import Settings
from tidelog.errors import TidelogError
from tidelog.maintain import prices
from tidelog.maintain.learned import Learned
from tidelog.values import NoValueError

DECLARED = ".functor trip(x: number): number\n"
PATH = f"""{DECLARED}
.decl edge(x: number, y: number) .input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl node(x: number) .input node
.decl apart(x: number, y: number)
apart(x, y) :- node(x), node(y), !path(x, y).
.decl top(x: number)
top(@trip(x)) :- apart(x, _).
"""


class Trip:
    """A functor that gives back its operand, and fails at a call that is set beforehand."""

    def __init__(self) -> None:
        self.calls_left: int | None = None
        self.failure: BaseException = ZeroDivisionError("tripped")

    def __call__(self, number: int) -> int:
        """Give the number back, or fail."""
        if self.calls_left is not None:
            self.calls_left -= 1
            if self.calls_left < 0:
                raise self.failure
        return number


def failing_anywhere(text: str) -> str:
    """Return the program with a call of `trip` in every rule that has a variable."""
    lines = []
    for line in text.splitlines():
        head, arrow, body = line.removesuffix(".").partition(" :- ")
        variable = re.search(r"\b[xyzw]\b", body)
        is_rule = arrow and variable and " <= " not in head
        lines.append(f"{head} :- {body}, @trip({variable[0]}) = {variable[0]}." if is_rule else line)
    return DECLARED + "\n".join(lines)


def seen(run: Maintained):
    """Return all that can be seen of a state."""
    return run.relations(), run.annotations()


def attempt(trip: Trip, calls: int, act) -> bool:
    """Let a call fail while something is done; say whether it did fail."""
    trip.calls_left = calls
    try:
        act()
    except (TidelogError, KeyboardInterrupt):
        return True
    finally:
        trip.calls_left = None
    return False


@pytest.mark.parametrize("strategy", each_strategy())
@settings(max_examples=examples(8))
@given(data=st.data(), calls=st.integers(0, 12), is_interrupt=st.booleans())
def test_a_failed_epoch_leaves_everything(
    strategy: Strategy, data: st.DataObject, calls: int, *, is_interrupt: bool
):
    """A functor that fails, or Ctrl-C, leaves the state as it was; without it the epoch succeeds."""
    program = data.draw(tangled_programs(special=SPECIAL))
    trip = Trip()
    if is_interrupt:
        trip.failure = KeyboardInterrupt()
    run = Maintained(build(failing_anywhere(program.text)), {"trip": trip}).start(program.inputs)
    before = run.check()

    for epoch in data.draw(tangled_epochs(program, max_epochs=3)):
        state = seen(run)
        inputs = run.inputs
        if attempt(
            trip, calls, lambda epoch=epoch: run.change(epoch.inserts, epoch.deletes, strategy=strategy)
        ):
            assert seen(run) == state
            assert run.inputs is inputs
            run.check()
            found = run.change(epoch.inserts, epoch.deletes, strategy=strategy)
            assert found == difference(before, run.check())
        before = run.check()


@settings(max_examples=examples(12))
@given(data=st.data(), calls=st.integers(0, 12))
def test_a_failed_change_of_rules_leaves_everything(data: st.DataObject, calls: int):
    """If the new rules fail the old program goes on, with its facts and its rules."""
    program = data.draw(tangled_programs(special=SPECIAL))
    trip = Trip()
    plain = DECLARED + program.text
    run = Maintained(build(plain), {"trip": trip}).start(program.inputs)
    state = seen(run)

    if attempt(trip, calls, lambda: run.change_rules(build(failing_anywhere(program.text)))):
        assert seen(run) == state
        run.check()
        for epoch in data.draw(tangled_epochs(program, max_epochs=1)):
            run.change(epoch.inserts, epoch.deletes)
            run.check()


@pytest.mark.parametrize("strategy", each_strategy())
def test_a_failure_in_the_last_stratum_undoes_the_first(strategy: Strategy):
    """Strata that had arrived go back too, and what the functor could not take stays out."""
    trip = Trip()
    run = Maintained(build(PATH), {"trip": trip}).start(
        {"edge": [(0, 1), (1, 2), (2, 3)], "node": [(0,), (3,)]}
    )
    state = seen(run)

    change = {"insert": {"node": [(5,)]}, "delete": {"edge": [(0, 1)]}}
    assert attempt(trip, 0, lambda: run.change(**change, strategy=strategy))

    assert seen(run) == state
    run.check()
    run.change(**change, strategy=strategy)
    run.check()


@pytest.mark.parametrize("strategy", each_strategy())
def test_what_a_strategy_remembers_is_undone(strategy: Strategy):
    """A derivation lost in an epoch that failed later on is there for the next epoch to fall back on."""
    text = f"""{DECLARED}
    .decl edge(x: number, y: number) .input edge
    .decl path(x: number, y: number)
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), edge(y, z).
    .decl top(y: number) top(@trip(y)) :- path(0, y).
    """
    trip = Trip()
    run = Maintained(build(text), {"trip": trip}).start({"edge": [(0, 9), (0, 1), (1, 9)]})
    run.change(insert={"edge": [(5, 6)]}, strategy=strategy)
    state = seen(run)

    assert attempt(trip, 0, lambda: run.change(delete={"edge": [(0, 1)]}, strategy=strategy))
    assert seen(run) == state

    run.change(delete={"edge": [(0, 9)]}, strategy=strategy)
    run.check()
    assert (0, 9) in run.relations()["path"]


@pytest.mark.parametrize("strategy", each_strategy())
def test_failing_again_and_again(strategy: Strategy):
    """Epochs that fail leave nothing behind that a later one could trip over."""
    trip = Trip()
    run = Maintained(build(PATH), {"trip": trip}).start({"edge": [(0, 1), (1, 2)], "node": [(0,), (2,)]})

    for number in range(3, 7):
        change = {"insert": {"node": [(number,)], "edge": [(number, 0)]}, "delete": {"edge": [(0, 1)]}}
        state = seen(run)
        for _ in range(2):
            assert attempt(trip, 0, lambda change=change: run.change(**change, strategy=strategy))
            assert seen(run) == state
        run.change(insert={"edge": [(2, number)]}, strategy=strategy)
        run.check()


@pytest.mark.parametrize("strategy", each_strategy())
def test_an_epoch_without_a_fixpoint_is_stopped(strategy: Strategy):
    """An inserted fact that starts endless derivations meets the limit of iterations, and is undone."""
    text = ".decl a(x: number) .input a .decl b(x: number) b(x) :- a(x). b(x + 2) :- b(x), x % 2 = 1."
    run = Maintained(build(text), settings=Settings(jobs=1, iteration_limit=20)).start({"a": [(2,)]})
    state = seen(run)

    with pytest.raises(TidelogError) as caught:
        run.change(insert={"a": [(3,)]}, strategy=strategy)

    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["iteration-limit"]
    assert seen(run) == state
    run.change(insert={"a": [(4,)]}, strategy=strategy)
    run.check()


# --- the budget of `auto` ------------------------------------------------------------------


@pytest.fixture
def no_free_work(monkeypatch):
    """Let `auto` try every update and count every derivation, so that small programs go over their budget."""
    monkeypatch.setattr(prices, "FREE_WORK", 0)
    monkeypatch.setattr(Learned, "predict", lambda *_, **__: 0.0)


@pytest.mark.usefixtures("no_free_work")
def test_an_update_over_its_budget_is_given_up_for_a_recompute():
    """`auto` says that it gave up, and arrives at the same state."""
    trip = Trip()
    run = Maintained(build(PATH), {"trip": trip}, LIMIT).start(
        {"edge": [(number, number + 1) for number in range(8)], "node": [(0,), (8,)]}
    )

    found = run.change(delete={"edge": [(4, 5)]}, strategy=Strategy.AUTO, switch=0.01)

    assert Action.RECOMPUTED in {report.action for report in found.strata}
    assert any("given up" in report.reason for report in found.strata)
    run.check()


def test_budgets_of_any_size_give_the_same(no_free_work):
    """Random epochs under `auto`, with any share allowed: each is as from nothing."""
    del no_free_work

    @settings(max_examples=examples(14))
    @given(data=st.data(), switch=st.sampled_from([0.0, 0.5, 2.0, 8.0, 20.0]))
    def follow_budget(data: st.DataObject, switch: float) -> None:
        program = data.draw(tangled_programs(special=SPECIAL))
        run = Maintained(build(program.text)).start(program.inputs)
        before = run.check()
        for epoch in data.draw(tangled_epochs(program)):
            found = run.change(epoch.inserts, epoch.deletes, strategy=Strategy.AUTO, switch=switch)
            after = run.check()
            assert found == difference(before, after)
            before = after

    follow_budget()


# --- aggregates of the user's that fail ----------------------------------------------------------


class Total:
    """The sum of values; 13 cannot be added, and a sum of 99 cannot be told."""

    def __init__(self) -> None:
        self.values: list[int] = []

    def add(self, value: int) -> None:
        """Take a value."""
        if value == 13:
            raise ValueError("13 is bad luck")
        self.values.append(value)

    def result(self) -> int:
        """Return the sum."""
        if sum(self.values) == 99:
            raise ValueError("99 is not to be told")
        return sum(self.values)


class RemovingTotal(Total):
    """A sum from which values can be taken out."""

    def remove(self, value: int) -> None:
        """Take a value out."""
        self.values.remove(value)


class MergingTotal(Total):
    """A sum that can be merged with another."""

    def merge(self, other: "MergingTotal") -> "MergingTotal":
        """Return the sum of both."""
        merged = MergingTotal()
        merged.values = [*self.values, *other.values]
        return merged


TOTALS = """
.functor total(x: number): number
.decl pay(who: symbol, x: number) .input pay
.decl sums(who: symbol, s: number)
sums(who, s) :- pay(who, _), s = @@total x : { pay(who, x) }.
.decl large(who: symbol)
large(who) :- sums(who, s), s > 9.
"""


@pytest.mark.parametrize("strategy", each_strategy())
@pytest.mark.parametrize("total", [Total, RemovingTotal, MergingTotal])
def test_an_aggregate_of_the_user_fails_and_goes_on(total: type[Total], strategy: Strategy) -> None:
    """Whether `add` or `result` fails, the groups are as they were before the epoch."""
    run = Maintained(build(TOTALS), functions={"total": total})
    run.start({"pay": [("a", 1), ("a", 2), ("b", 5)]})
    before = seen(run)
    for bad in ([("a", 7), ("a", 13)], [("b", 94)], [("a", 3), ("b", 13)], [("c", 99)]):
        with pytest.raises(TidelogError, match=r"bad luck|not to be told"):
            run.change({"pay": bad}, {"pay": [("a", 2)]}, strategy=strategy)

        assert seen(run) == before

    for inserts, deletes in [([("b", 6), ("a", 8)], [("a", 2)]), ([("c", 1)], [("b", 5), ("a", 1)])]:
        run.change({"pay": inserts}, {"pay": deletes}, strategy=strategy)

        run.check()


class StubbornTotal(RemovingTotal):
    """A sum from which 7 cannot be taken out, told by an exception that is not a failure elsewhere."""

    def remove(self, value: int) -> None:
        """Take a value out."""
        if value == 7:
            raise NoValueError
        super().remove(value)


def test_a_group_that_cannot_go_back_does_not_keep_the_others_from_it() -> None:
    """Whatever ends the undoing of one aggregate, the epoch is undone and the aggregate evaluated again."""
    text = f"""{DECLARED}{TOTALS}
    .functor other(x: number): number
    .decl rest(who: symbol, s: number)
    rest(who, s) :- pay(who, _), s = @@other x : {{ pay(who, x) }}.
    .decl top(s: number)
    top(@trip(s)) :- sums(_, s), rest(_, s).
    """
    trip = Trip()
    functions = {"trip": trip, "total": RemovingTotal, "other": StubbornTotal}
    run = Maintained(build(text), functions).start({"pay": [("a", 1), ("a", 2), ("b", 5)]})
    before = seen(run)

    assert attempt(trip, 0, lambda: run.change({"pay": [("a", 7)]}))

    assert seen(run) == before
    run.change({"pay": [("a", 4), ("b", 6)]}, {"pay": [("a", 2)]})
    run.check()


# --- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", each_strategy())
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_an_epoch_may_take_as_many_iterations_as_an_evaluation(limit: int, strategy: Strategy) -> None:
    """What is refused from nothing is refused from the epoch before, and nothing else is."""
    text = ".decl e(x: number, y: number) .input e .decl p(x: number, y: number)"
    program = build(f"{text} p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).")
    limited = Settings(jobs=1, iteration_limit=limit)
    for length in range(1, limit + 3):
        edges = [(x, x + 1) for x in range(length)]
        is_allowed = True
        try:
            run_program(program, inputs={"e": edges}, settings=limited)
        except TidelogError:
            is_allowed = False
        run = Maintained(program, settings=limited).start({})

        if is_allowed:
            run.change({"e": edges}, strategy=strategy)
            run.check()
        else:
            with pytest.raises(TidelogError, match="no fixpoint within"):
                run.change({"e": edges}, strategy=strategy)


# --- joins of lattices that fail -----------------------------------------------------------------


LATTICE = """
.functor lub(x: number, y: number): number
.lattice number<> { Lub -> @lub(_, _) }
.decl given(x: symbol, v: number) .input given
.decl best(x: symbol, v: number<>)
best(x, v) :- given(x, v).
"""


@pytest.mark.parametrize("strategy", each_strategy())
@pytest.mark.parametrize("failure", [ValueError("no"), NoValueError()])
def test_a_join_that_fails_is_a_diagnostic(failure: Exception, strategy: Strategy) -> None:
    """A least upper bound that raises, or has no value, is told like any functor's failure."""

    def lub(left: int, right: int) -> int:
        if 13 in (left, right):
            raise failure
        return max(left, right)

    run = Maintained(build(LATTICE), functions={"lub": lub}).start({"given": [("a", 1), ("a", 2)]})
    with pytest.raises(TidelogError, match="the functor `lub") as caught:
        run.change({"given": [("a", 13)]}, strategy=strategy)
    assert caught.value.diagnostics[0].code == "functor-failed"
    with pytest.raises(TidelogError, match="the functor `lub"):
        run_program(run.program, inputs={"given": [("a", 1), ("a", 13)]}, functions={"lub": lub})

    run.change({"given": [("a", 5)]}, {"given": [("a", 2)]}, strategy=strategy)

    run.check()
