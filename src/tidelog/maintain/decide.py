"""What to do about a stratum: a function of the changes that reach it and of what past epochs have cost.

    skipped      nothing it reads changed
    extended     only insertions through positive atoms: derivation continues where it stopped
    updated      levels and counts are maintained
    recomputed   evaluated from scratch and compared

A stratum is recomputed when its rules cannot be followed, when the change is predicted to cost more than
the allowed share of a recompute, or when an update turns out to cost more. What they cost is learned, stratum
by stratum (`maintain.learned`).
"""

from dataclasses import replace
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import Action, MaintenanceSettings, Strategy, StratumReport
from tidelog.maintain.learned import Learned
from tidelog.maintain.prices import Budget, Price
from tidelog.maintain.rule_change import NO_RULE_CHANGE, RuleChange

UNTOUCHED: Final = "nothing it reads changed"
NO_RULES_REASON: Final = "it has no rules"
ASKED_FOR: Final = "recomputing was asked for"
NO_LIMIT: Final = Budget()


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done to a stratum and why; an update is given up once its `budget` is spent.

    `is_refused` says that an update was expected to cost too much.
    """

    action: Action
    strategy: Strategy
    reason: str
    predicted: float = 0.0
    budget: Budget = NO_LIMIT
    rules: RuleChange = NO_RULE_CHANGE
    is_refused: bool = False

    @property
    def is_update(self) -> bool:
        """Say whether changes are followed, derivation by derivation or as a whole."""
        return self.action in {Action.EXTENDED, Action.UPDATED}

    @property
    def is_growing(self) -> bool:
        """Say whether the change can only add facts."""
        return self.action is Action.EXTENDED

    def report(self, relations: tuple[str, ...], work: int, seconds: float) -> StratumReport:
        """Return what was done to a stratum of these relations, and why."""
        done = self.action, self.strategy, self.reason, int(self.predicted)
        return StratumReport(relations, *done, work, seconds, self.budget.work)


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
        return recompute(ASKED_FOR)
    update = describe_update(now.rows, settings.strategy, is_growing=now.is_growing)
    if settings.by_clock or settings.strategy is not Strategy.AUTO:
        return update
    return _decide_by_cost(now, settings.switch, update)


def describe_update(rows: int, strategy: Strategy, *, is_growing: bool) -> Decision:
    """Return the decision to follow a change, in words that say how and who asked for it."""
    action, reason = update_reason(rows, strategy, is_growing=is_growing)
    return Decision(action, Strategy.UPDATE if strategy is Strategy.AUTO else strategy, reason)


def update_reason(rows: int, strategy: Strategy, *, is_growing: bool) -> tuple[Action, str]:
    """Return what following a change is called, and why it is done."""
    action = Action.EXTENDED if is_growing else Action.UPDATED
    how = "only insertions through positive atoms" if is_growing else reaching(rows)
    return action, how if strategy is Strategy.AUTO else f"{how}; {strategy.value} was asked for"


def reaching(rows: int) -> str:
    """Return how many changed facts reach a stratum, in words."""
    return "1 changed fact reaches it" if rows == 1 else f"{rows:,} changed facts reach it"


def update_without_rules() -> Decision:
    """Return the decision about a stratum that has only input facts."""
    return Decision(Action.UPDATED, Strategy.UPDATE, NO_RULES_REASON)


def recompute(reason: str, predicted: float = 0.0) -> Decision:
    """Return the decision to evaluate a stratum from scratch."""
    return Decision(Action.RECOMPUTED, Strategy.RECOMPUTE, reason, predicted)


def decide_rules(rules: RuleChange | None, learned: Learned, settings: MaintenanceSettings) -> Decision:
    """Return what to do about a stratum whose rules changed; None means that they cannot be followed."""
    if rules is None or settings.strategy is Strategy.RECOMPUTE:
        return recompute("its rules changed")
    budget = NO_LIMIT
    if settings.strategy is Strategy.AUTO and not settings.by_clock:
        budget = learned.budget(settings.switch, learned.recompute_work)
    return Decision(Action.UPDATED, Strategy.UPDATE, str(rules), budget=budget, rules=rules)


def give_up(decision: Decision, spent: int, seconds: float = 0.0) -> Decision:
    """Return the decision to recompute after an update that did too much."""
    budget = decision.budget
    if seconds and budget.seconds:
        spoken = f"{spent:,} derivations in {seconds:.3f} s; {budget.seconds:.3f} s are allowed"
    else:
        spoken = f"{spent:,} derivations; {budget.work:,.0f} are allowed"
    abandoned = recompute(f"the update was given up after {spoken}", decision.predicted)
    return replace(abandoned, budget=budget)


def _decide_by_cost(now: Situation, switch: float, update: Decision) -> Decision:
    """Return an update under a budget, or a recompute if that is predicted to cost less."""
    learned = now.learned
    predicted = learned.predict(now.rows, now.share, is_growing=now.is_growing, is_recursive=now.is_recursive)
    budget = learned.budget(switch, now.expected)
    acceptable = learned.acceptable(budget, now.expected)
    if predicted <= acceptable or learned.has_waited(now.rows, is_growing=now.is_growing):
        return replace(update, predicted=predicted, budget=budget)
    unready = "" if acceptable == budget.work else ", with indexes still to be made,"
    against = (
        f"predicted to take {_spoken(predicted, learned.update_price)}, "
        f"more than the {acceptable:,.0f} allowed{unready} "
        f"beside the {_spoken(now.expected, learned.recompute_price)} of a recompute"
    )
    return replace(recompute(f"{update.reason}, {against}", predicted), budget=budget, is_refused=True)


def _spoken(work: float, price: Price) -> str:
    """Return work in words, with the time it takes where that is known."""
    time = f" ({work * price.per_unit:.3f} s)" if price.is_known else ""
    return f"{work:,.0f} derivations{time}"
