"""Sweeps in which the derivations of some rules over earlier strata come from the traces of their joins."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tidelog.engine.local.leapfrog_traces import LocalTraces
from tidelog.maintain.sweeps import Sweeps
from tidelog.plan.flatten import FlatRule
from tidelog.storage.kernel import Int64s


@dataclass
class TracedSweeps(Sweeps):
    """One epoch of one stratum, some of whose rules have a trace; see `maintain.trace`."""

    traces: LocalTraces = field(kw_only=True)

    def push_lost(self) -> None:
        """Push what is lost, also by the traces."""
        super().push_lost()
        for rule in self._traced():
            self.traces.push_lost(rule, self.losing(rule, 0))

    def push_gained(self) -> None:
        """Push what is gained, also by the traces."""
        super().push_gained()
        for rule in self._traced():
            self.traces.push_gained(rule, self.offering_new(rule, 0))

    def changed_literals(
        self, rules: Iterable[FlatRule], *, lost: bool
    ) -> Iterable[tuple[FlatRule, int, Int64s]]:
        """Yield changed literals; of traced rules only negated ones, since the trace joins the others."""
        for rule, place, rows in super().changed_literals(rules, lost=lost):
            if rule.id not in self.traces.rules or rule.literals[place].is_negated:
                yield rule, place, rows

    def _traced(self) -> list[FlatRule]:
        return [rule for rule in self.rules if rule.id in self.traces.rules]
