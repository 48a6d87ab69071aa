"""What is decided about a stratum, as a table: a decision depends on nothing but its situation."""

import pytest

from tidelog.engine.epoch import Action, MaintenanceSettings, Strategy
from tidelog.maintain.decide import Decision, Situation, decide, decide_rules, give_up
from tidelog.maintain.learned import Learned
from tidelog.maintain.prices import Budget
from tidelog.maintain.rule_change import NO_RULE_CHANGE


def learned(work: int | None = None, **other: object) -> Learned:
    """Return what is known of a stratum, with an update of ten rows that took this work."""
    known = Learned(1_000_000, **other)
    if work is not None:
        for is_growing in (False, True):
            known.learn(10, work, is_growing=is_growing)
    return known


CHEAP = learned(20)
COSTLY = learned(500_000)
TRIED_AGAIN = learned(500_000)
TRIED_AGAIN.refusals = TRIED_AGAIN.patience
WITHOUT_INDEXES = learned()


def situation(learned: Learned = CHEAP, **other: object) -> Situation:
    """Return a situation in which ten changed facts reach a stratum."""
    return Situation(**{"rows": 10, "share": 0.001, "expected": 1_000_000.0, "learned": learned, **other})


@pytest.mark.parametrize(
    ("now", "strategy", "action", "chosen"),
    [
        (situation(rows=0), "auto", Action.SKIPPED, Strategy.AUTO),
        (situation(rows=0, obstacle="a law"), "dred", Action.SKIPPED, Strategy.DRED),
        (situation(obstacle="a law"), "update", Action.RECOMPUTED, Strategy.RECOMPUTE),
        (situation(has_rules=False), "recompute", Action.UPDATED, Strategy.UPDATE),
        (situation(), "recompute", Action.RECOMPUTED, Strategy.RECOMPUTE),
        (situation(), "update", Action.UPDATED, Strategy.UPDATE),
        (situation(COSTLY), "counting", Action.UPDATED, Strategy.COUNTING),
        (situation(is_growing=True), "dred", Action.EXTENDED, Strategy.DRED),
        (situation(), "auto", Action.UPDATED, Strategy.UPDATE),
        (situation(is_growing=True), "auto", Action.EXTENDED, Strategy.UPDATE),
        (situation(COSTLY), "auto", Action.RECOMPUTED, Strategy.RECOMPUTE),
        (situation(WITHOUT_INDEXES, share=0.5), "auto", Action.RECOMPUTED, Strategy.RECOMPUTE),
        (situation(TRIED_AGAIN), "auto", Action.UPDATED, Strategy.UPDATE),
        (situation(WITHOUT_INDEXES, share=0.015), "auto", Action.UPDATED, Strategy.UPDATE),
        (situation(WITHOUT_INDEXES, share=0.015, is_recursive=True), "auto", Action.RECOMPUTED,
         Strategy.RECOMPUTE),
        (situation(WITHOUT_INDEXES, share=0.5, expected=1_000.0), "auto", Action.RECOMPUTED,
         Strategy.RECOMPUTE),
        (situation(Learned(1_000), share=0.5, expected=1_000.0), "auto", Action.UPDATED, Strategy.UPDATE),
    ],
)  # fmt: skip
def test_decisions(now, strategy, action, chosen):
    """Each situation leads to one action and one strategy, and says why."""
    decision = decide(now, MaintenanceSettings(Strategy(strategy), 0.2))

    assert (decision.action, decision.strategy) == (action, chosen)
    assert decision.reason
    is_by_cost = now.obstacle is None and strategy == "auto"
    assert decision.is_refused == (is_by_cost and action is Action.RECOMPUTED)


@pytest.mark.parametrize(("switch", "work"), [(0.2, 80_000.0), (1.0, 400_000.0), (0.0, 20_000.0)])
def test_an_update_is_allowed_a_share_of_a_recompute(switch, work):
    """The budget follows from the switch; some work is always allowed."""
    assert decide(situation(), MaintenanceSettings(Strategy.AUTO, switch)).budget == Budget(work)


def test_reasons_tell_what_was_learned():
    """Where prices are known, a recompute is explained by the time that both ways were expected to take."""
    known = Learned.from_evaluation(1_000_000, seconds=2.0)
    known.learn(10, 100_000)
    known.learn(10, 100_000, seconds=0.4)

    decision = decide(situation(known, rows=50), MaintenanceSettings(Strategy.AUTO, 0.2))

    assert decision.reason == (
        "50 changed facts reach it, predicted to take 500,000 derivations (2.000 s), more than the 100,000 "
        "allowed beside the 1,000,000 derivations (2.000 s) of a recompute"
    )


def test_reasons_tell_that_indexes_are_missing():
    """A change that would be followed with indexes is recomputed without them."""
    ready, unready = (
        decide(situation(Learned(1_000_000, is_indexed=has), share=0.06), MaintenanceSettings())
        for has in (True, False)
    )

    assert ready.reason == "10 changed facts reach it"
    assert unready.reason == (
        "10 changed facts reach it, predicted to take 60,000 derivations, more than the 20,000 allowed, with "
        "indexes still to be made, beside the 1,000,000 derivations of a recompute"
    )


def test_a_change_of_rules_is_followed_or_not():
    """Rules that cannot be followed are recomputed, and so are all where the user wants that."""
    auto = MaintenanceSettings(Strategy.AUTO, 0.2)

    assert decide_rules(None, CHEAP, auto).action is Action.RECOMPUTED
    assert decide_rules(NO_RULE_CHANGE, CHEAP, MaintenanceSettings(Strategy.RECOMPUTE)).reason == (
        "its rules changed"
    )
    assert decide_rules(NO_RULE_CHANGE, CHEAP, auto).budget == Budget(80_000.0)


def test_giving_up_is_a_recompute_that_says_what_was_allowed():
    """The reason names the work that was done and the work that was allowed."""
    by_work = give_up(Decision(Action.UPDATED, Strategy.UPDATE, "", 7.0, Budget(100.0)), 123)
    by_time = give_up(Decision(Action.UPDATED, Strategy.UPDATE, "", 7.0, Budget(100.0, 0.5)), 123, 0.6)

    assert by_work.action is by_time.action is Action.RECOMPUTED
    assert by_work.reason == "the update was given up after 123 derivations; 100 are allowed"
    assert by_time.reason == "the update was given up after 123 derivations in 0.600 s; 0.500 s are allowed"
