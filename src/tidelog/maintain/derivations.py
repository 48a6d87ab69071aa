"""What an engine offers to maintenance: the derivations around given rows."""

from typing import Protocol

from tidelog.plan.maintenance import MaintainedRule, RuleLiteral
from tidelog.storage.kernel import CodeArray, Int64s


class Sink(Protocol):
    """Takes batches of derivations."""

    def __call__(self, batch: CodeArray) -> None:
        """Take one batch; it is only valid during the call."""


class Derivations(Protocol):
    """Enumerates derivations around given rows; what an engine offers to this strategy."""

    @property
    def work(self) -> int:
        """Return how many bindings were enumerated so far, whether they became derivations or not."""

    def forward(self, rule: MaintainedRule, literal: RuleLiteral, numbers: Int64s, sink: Sink) -> None:
        """Push the derivations that use these rows at a literal, absent and present ones alike.

        A batch has the head's columns, then the row number at each literal of the rule (-1 for a
        negated literal without any row).
        """

    def backward(self, rule: MaintainedRule, numbers: Int64s, sink: Sink) -> None:
        """Push the derivations of these head rows: the head's row number, then the literals'."""
