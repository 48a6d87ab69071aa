"""What an engine offers to maintenance: the derivations around given rows."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from tidelog.plan.flatten import FlatRule, RuleLiteral
from tidelog.plan.operators import Operator
from tidelog.program.nodes import Constant, RuleId
from tidelog.storage.kernel import CodeArray, Int64s


class Sink(Protocol):
    """Takes batches of derivations."""

    def __call__(self, batch: CodeArray) -> None:
        """Take one batch; it is only valid during the call."""


class Traces(Protocol):
    """The recorded joins of some rules; see `maintain.trace`."""

    @property
    def rules(self) -> frozenset[RuleId]:
        """Return the rules that have a trace."""

    @property
    def size(self) -> int:
        """Return the number of intervals that all traces keep."""

    @property
    def work(self) -> int:
        """Return the steps made so far."""

    @property
    def edits(self) -> int:
        """Return how many intervals and bindings of the traces the last change altered."""

    def is_current(self) -> bool:
        """Say whether the traces can be followed further."""

    def record(self) -> None:
        """Join the old epoch from nothing and keep what the joins depend on."""

    def follow(self, changed: Mapping[str, Int64s]) -> None:
        """Find how the bindings of each rule change, given the rows that did."""

    def push_lost(self, rule: FlatRule, sink: Sink) -> None:
        """Push the derivations whose atoms were facts in the old epoch and no longer are."""

    def push_gained(self, rule: FlatRule, sink: Sink) -> None:
        """Push the derivations whose atoms are facts in the new epoch and were not before."""

    def commit(self) -> None:
        """Let the traces be those of the new epoch."""

    def forget(self) -> None:
        """Stay with the traces of the old epoch."""


class Derivations(Protocol):
    """Enumerates derivations around given rows; what an engine offers to this strategy."""

    @property
    def work(self) -> int:
        """Return how many bindings were enumerated so far, whether they became derivations or not."""

    def watched(self, check: Callable[[], None]) -> AbstractContextManager[None]:
        """Call `check` for every batch of bindings, also of those that become no derivation; it may raise."""

    def forward(self, rule: FlatRule, literal: RuleLiteral, numbers: Int64s, sink: Sink) -> None:
        """Push the derivations that use these rows at a literal, absent and present ones alike.

        A batch has the head's columns, then the row number at each literal of the rule (-1 for a
        negated literal without any row).
        """

    def backward(self, rule: FlatRule, numbers: Int64s, sink: Sink) -> None:
        """Push the derivations of these head rows: the head's row number, then the literals'."""

    def backward_from(self, rule: FlatRule, rows: CodeArray, tags: Int64s, sink: Sink) -> None:
        """Push the derivations of heads given by their content: the head's tag, then the literals' rows."""

    def variants(self, rule: FlatRule, literal: RuleLiteral | None) -> Sequence[tuple[Operator, ...]]:
        """Return chains from rows of a literal (or of the head), the one expected to be best first.

        They differ in the atom that is joined first and push the same derivations.
        """

    def traces(self, rules: Sequence[FlatRule]) -> Traces:
        """Return the traces of rules, not recorded yet."""

    def encode(self, constant: Constant) -> int:
        """Return the code of a constant; raise if the state's codes are too narrow for it."""
