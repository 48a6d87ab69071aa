"""The switch by the clock: whenever the time is over, the epoch is that of a recompute, and says so."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import STRATEGIES, Maintained, difference, examples
from support.epochs_programs import SPECIAL, tangled_epochs, tangled_programs
from support.programs import build
from tidelog import TidelogError
from tidelog.engine.epoch import Strategy
from tidelog.maintain import epoch as epochs
from tidelog.maintain.clock import Deadline, OutOfTime, deadline_after
from tidelog.maintain.learned import Learned

PROGRAM = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
EDGES = {"edge": [(1, 2), (2, 3), (3, 4)]}


@dataclass
class CountedTime:
    """A stopwatch on which every look takes a second."""

    seen: int = 0

    @property
    def seconds(self) -> float:
        """Return how often it was looked at."""
        self.seen += 1
        return float(self.seen)


@settings(max_examples=examples(30))
@given(data=st.data(), strategy=st.sampled_from(STRATEGIES), looks=st.integers(0, 12))
def test_an_update_can_be_given_up_at_any_time(data: st.DataObject, strategy: Strategy, looks: int):
    """Wherever in an epoch the time is over, facts, levels and the delta are as from nothing."""
    program = data.draw(tangled_programs(special=data.draw(st.sampled_from([(), SPECIAL]))))
    run = Maintained(build(program.text)).start(program.inputs)
    before = run.check()

    for epoch in data.draw(tangled_epochs(program)):
        with pytest.MonkeyPatch.context() as patch:
            limited = Deadline(float(looks), 0.2, 5.0 * looks, watch=CountedTime())  # type: ignore[arg-type]
            patch.setattr(epochs, "deadline_after", lambda *_, limited=limited: limited)
            found = run.change(epoch.inserts, epoch.deletes, strategy=strategy, by_clock=True)
        after = run.check()

        assert found == difference(before, after)
        before = after


@pytest.mark.parametrize("strategy", ["auto", "update", "elastic-eager", "elastic-lazy", "counting", "dred"])
def test_an_update_without_time_is_a_recompute_and_says_why(strategy: str):
    """With no share of the time every epoch is recomputed; the reason names the limit."""
    db = tidelog.open(PROGRAM, facts=EDGES, strategy=strategy, switch="clock", max_update_share=0)

    delta = db.apply("-edge(2, 3).")

    assert delta["path"].deleted == {(2, 3), (1, 3), (2, 4), (1, 4)}
    assert "path: recomputed (recompute)" in delta.explain_strategy()
    assert "the update was given up after" in delta.explain_strategy()
    assert "the clock allows 0.000 s, 0 of the" in delta.explain_strategy()


def test_an_update_with_time_enough_is_an_update_and_names_the_limit():
    """With much time the epoch is updated; the reason names what was allowed."""
    db = tidelog.open(PROGRAM, facts=EDGES, switch="clock", max_update_share=1e9)

    told = db.apply("-edge(2, 3).").explain_strategy()

    assert "path: updated (update)" in told
    assert "the clock allows" in told


def test_without_a_measured_evaluation_there_is_no_limit():
    """A stratum whose evaluation was not measured, as after opening a store, sets no limit."""
    deadline = deadline_after(0.0, [Learned(1_000)])

    deadline.check()

    assert str(deadline) == "the clock sets no limit before an evaluation was measured"


def test_the_limit_is_a_share_of_the_last_evaluation_of_all_strata():
    """Strata add up, and a recompute takes the place of the evaluation."""
    learned = [Learned.from_evaluation(30_000, 2.0), Learned.from_evaluation(30_000, 3.0)]
    learned[1].learn_recompute(0, 40_000, 8.0)

    deadline = deadline_after(0.5, learned)

    assert deadline.allowed == 5.0
    with pytest.raises(OutOfTime):
        Deadline(0.0, 0.5, 10.0).check()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"switch": "time"}, "bad-argument"),
        ({"switch": "clock", "engine": "reference"}, "no-effect"),
    ],
)
def test_a_switch_that_is_unknown_or_has_no_effect_is_a_mistake(options: dict[str, str], code: str):
    """Another word than `work` or `clock`, or an engine that always starts over, is a diagnostic."""
    with pytest.raises(TidelogError) as caught:
        tidelog.open(PROGRAM, **options)

    assert [each.code for each in caught.value.diagnostics] == [code]
