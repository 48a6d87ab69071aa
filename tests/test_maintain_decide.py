"""What is decided about a stratum, as a table: a decision depends on nothing but its situation."""

import pytest

from tidelog.engine.epoch import Action, MaintenanceSettings, Strategy
from tidelog.maintain.decide import Decision, Situation, decide, decide_rules, give_up
from tidelog.maintain.rule_change import NO_RULE_CHANGE
from tidelog.maintain.work import Learned

CHEAP = Learned(recompute_work=1_000_000, work_per_row=2.0, is_indexed=True)
COSTLY = Learned(recompute_work=1_000_000, work_per_row=50_000.0, is_indexed=True)
WITHOUT_INDEXES = Learned(recompute_work=1_000_000)
REFUSED = Learned(recompute_work=1_000_000, has_refused=True)


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
        (situation(REFUSED, share=0.5), "auto", Action.UPDATED, Strategy.UPDATE),
        (situation(WITHOUT_INDEXES, share=0.05), "auto", Action.UPDATED, Strategy.UPDATE),
        (situation(WITHOUT_INDEXES, share=0.05, is_recursive=True), "auto", Action.RECOMPUTED,
         Strategy.RECOMPUTE),
        (situation(WITHOUT_INDEXES, share=0.5, expected=1_000.0), "auto", Action.UPDATED, Strategy.UPDATE),
    ],
)  # fmt: skip
def test_decisions(now, strategy, action, chosen):
    """Each situation leads to one action and one strategy, and says why."""
    decision = decide(now, MaintenanceSettings(Strategy(strategy), 0.2))

    assert (decision.action, decision.strategy) == (action, chosen)
    assert decision.reason
    assert decision.is_refused == (now.learned is WITHOUT_INDEXES and action is Action.RECOMPUTED)


@pytest.mark.parametrize(("switch", "budget"), [(0.2, 80_000.0), (1.0, 400_000.0), (0.0, 20_000.0)])
def test_an_update_is_allowed_a_share_of_a_recompute(switch, budget):
    """The budget follows from the switch; some work is always allowed."""
    assert decide(situation(), MaintenanceSettings(Strategy.AUTO, switch)).budget == budget


def test_a_change_of_rules_is_followed_or_not():
    """Rules that cannot be followed are recomputed, and so are all where the user wants that."""
    auto = MaintenanceSettings(Strategy.AUTO, 0.2)

    assert decide_rules(None, CHEAP, auto).action is Action.RECOMPUTED
    assert decide_rules(NO_RULE_CHANGE, CHEAP, MaintenanceSettings(Strategy.RECOMPUTE)).reason == (
        "its rules changed"
    )
    assert decide_rules(NO_RULE_CHANGE, CHEAP, auto).budget == 80_000.0


def test_giving_up_is_a_recompute_that_says_what_was_allowed():
    """The reason names the work that was done and the work that was allowed."""
    decision = give_up(Decision(Action.UPDATED, Strategy.UPDATE, "", 7.0, 100.0), 123)

    assert decision.action is Action.RECOMPUTED
    assert decision.reason == "the update was given up after 123 derivations; 100 are allowed"
