"""The ways to follow changes that are compared: every strategy, and some with the switch by the clock."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Way:
    """A strategy, perhaps by the clock; `batch` evaluates the input of every epoch and keeps nothing."""

    name: str
    strategy: str
    by_clock: bool = False


WAYS: Final = (
    Way("auto", "auto"),
    Way("update", "update"),
    Way("elastic-eager", "elastic-eager"),
    Way("elastic-lazy", "elastic-lazy"),
    Way("elastic-eager by clock", "elastic-eager", by_clock=True),
    Way("update by clock", "update", by_clock=True),
    Way("counting", "counting"),
    Way("dred", "dred"),
    Way("dred-counters", "dred-counters"),
    Way("backward-forward", "backward-forward"),
    Way("recompute", "recompute"),
    Way("batch", "batch"),
)
