"""Sweeps in which the derivations of some rules over earlier strata come from the traces of their joins."""

from collections.abc import Iterable
from dataclasses import field

from tidelog.dataclass import dataclass
from tidelog.engine.local.leapfrog_traces import LocalTraces
from tidelog.maintain.judge import ChangedLiteral
from tidelog.maintain.sweeps import Sweeps


@dataclass
class TracedSweeps(Sweeps):
    """One epoch of one stratum, some of whose rules have a trace; see `maintain.trace`."""

    traces: LocalTraces = field(kw_only=True)

    def push_changed(self, *, lost: bool) -> None:
        """Push what is lost or gained, also by the traces."""
        super().push_changed(lost=lost)
        push = self.traces.push_lost if lost else self.traces.push_gained
        for rule in self.rules:
            if rule.id in self.traces.rules:
                push(rule, self.changing(rule, 0, lost=lost))

    def changed_literals(self, *, lost: bool) -> Iterable[ChangedLiteral]:
        """Yield changed literals; of traced rules only negated ones, since the trace joins the others."""
        for rule, place, rows in super().changed_literals(lost=lost):
            if rule.id not in self.traces.rules or rule.literals[place].is_negated:
                yield rule, place, rows
