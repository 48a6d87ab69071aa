"""What to do about a stratum: a function of the changes that reach it and of what past epochs have cost.

    skipped      nothing it reads changed
    extended     only insertions through positive atoms: derivation continues where it stopped
    updated      levels and counts are maintained
    recomputed   evaluated from scratch and compared

A stratum is recomputed when its rules cannot be followed, when the change is predicted to cost more than
the allowed share of a recompute, or when an update turns out to cost more.
"""

from dataclasses import dataclass, replace
from typing import Final

from tidelog.engine.epoch import Action, MaintenanceSettings, Strategy, StratumReport
from tidelog.maintain.rule_change import NO_RULE_CHANGE, RuleChange
from tidelog.maintain.work import Learned, update_budget

UNTOUCHED: Final = "nothing it reads changed"


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done to a stratum and why; an update is given up once its work exceeds `budget`.

    `is_refused` says that a change was too large for a stratum without indexes.
    """

    action: Action
    strategy: Strategy
    reason: str
    predicted: float = 0.0
    budget: float = float("inf")
    rules: RuleChange = NO_RULE_CHANGE
    is_refused: bool = False

    @property
    def is_update(self) -> bool:
        """Say whether changes are followed, derivation by derivation or as a whole."""
        return self.action in {Action.EXTENDED, Action.UPDATED}

    def report(self, relations: tuple[str, ...], work: int, seconds: float) -> StratumReport:
        """Return what was done to a stratum of these relations, and why."""
        predicted = int(self.predicted)
        return StratumReport(relations, self.action, self.strategy, self.reason, predicted, work, seconds)


@dataclass(frozen=True, slots=True)
class Situation:
    """What a decision depends on.

    `rows` changed facts reach the stratum, a `share` of all it reads; `obstacle` says why it cannot be
    followed, if it cannot. `expected` is the work of a recompute after this change.
    """

    rows: int
    share: float
    expected: float
    learned: Learned
    obstacle: str | None = None
    has_rules: bool = True
    is_recursive: bool = False
    is_growing: bool = False


def decide(now: Situation, settings: MaintenanceSettings) -> Decision:
    """Return what to do about a stratum whose rules are the same as before."""
    if not now.rows:
        return Decision(Action.SKIPPED, settings.strategy, UNTOUCHED)
    if now.obstacle is not None:
        return recompute(now.obstacle)
    if not now.has_rules:
        return update_without_rules()
    if settings.strategy is Strategy.RECOMPUTE:
        return recompute("recomputing was asked for")
    update = describe_update(now.rows, settings.strategy, is_growing=now.is_growing)
    return update if settings.strategy is not Strategy.AUTO else _decide_by_cost(now, settings.switch, update)


def describe_update(rows: int, strategy: Strategy, *, is_growing: bool) -> Decision:
    """Return the decision to follow a change, in words that say how and who asked for it."""
    action = Action.EXTENDED if is_growing else Action.UPDATED
    how = "only insertions through positive atoms" if is_growing else f"{rows:,} changed facts reach it"
    if strategy is Strategy.AUTO:
        return Decision(action, Strategy.UPDATE, how)
    return Decision(action, strategy, f"{how}; {strategy.value} was asked for")


def update_without_rules() -> Decision:
    """Return the decision about a stratum that has only input facts."""
    return Decision(Action.UPDATED, Strategy.UPDATE, "it has no rules")


def recompute(reason: str, predicted: float = 0.0) -> Decision:
    """Return the decision to evaluate a stratum from scratch."""
    return Decision(Action.RECOMPUTED, Strategy.RECOMPUTE, reason, predicted)


def decide_rules(rules: RuleChange | None, learned: Learned, settings: MaintenanceSettings) -> Decision:
    """Return what to do about a stratum whose rules changed; None means that they cannot be followed."""
    if rules is None or settings.strategy is Strategy.RECOMPUTE:
        return recompute("its rules changed")
    is_auto = settings.strategy is Strategy.AUTO
    budget = update_budget(settings.switch, learned.recompute_work) if is_auto else float("inf")
    return Decision(Action.UPDATED, Strategy.UPDATE, str(rules), budget=budget, rules=rules)


def give_up(decision: Decision, spent: int) -> Decision:
    """Return the decision to recompute after an update that did too much."""
    reason = f"the update was given up after {spent:,} derivations; {decision.budget:,.0f} are allowed"
    return recompute(reason, decision.predicted)


def _decide_by_cost(now: Situation, switch: float, update: Decision) -> Decision:
    """Return an update under a budget, or a recompute if that is predicted to cost less."""
    predicted = now.rows * now.learned.work_per_row
    budget = update_budget(switch, now.expected)
    if now.learned.refuses_indexes(now.share, now.expected, is_recursive=now.is_recursive):
        against = "so many that indexes to follow them would cost more than they save"
        return replace(recompute(f"{update.reason}, {against}", predicted), is_refused=True)
    if predicted > budget:
        against = (
            f"predicted to take {predicted:,.0f} derivations, "
            f"more than the {budget:,.0f} allowed beside the {now.expected:,.0f} of a recompute"
        )
        return recompute(f"{update.reason}, {against}", predicted)
    return replace(update, predicted=predicted, budget=budget)
