"""The strategy `trace`: rules are followed by the trace of their leapfrog joins.

A recorded join knows which changes it is sensitive to, so an epoch joins again only where the join would
now take other steps: the cost follows the difference of the two joins, not the number of combinations that
a changed fact could take part in. It applies to rules that read earlier strata only.
Their derivations, lost and gained, then enter the sweeps of `maintain.sweeps` like all others, so that
counts are exact; negated atoms and recursive rules are followed as by `update`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.leapfrog_traces import LocalTraces
from tidelog.maintain.row_delta import RowDelta
from tidelog.plan.flatten import FlatRule
from tidelog.plan.leapfrog_trace import reason_against_trace
from tidelog.program.nodes import Program, Stratum
from tidelog.program.suggest import counted

# What a step of a trace costs relative to a binding of an update, and recording relative to a recompute.
_STEP_COST = 3.0
_RECORD_COST = 4.0
# Updates that are expected to cost less than this take less time than looking up the trace.
WORTH_A_TRACE = 5_000


@dataclass
class TraceKeeper:
    """The traces of one stratum from epoch to epoch, and why some of its rules have none."""

    stratum: Stratum
    rules: Sequence[FlatRule]
    program: Program
    traces: LocalTraces | None = None
    is_pending: bool = False
    note: str = ""
    reasons: dict[str, str] = field(default_factory=dict)
    traced: list[FlatRule] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._recording = 0
        self._steps_per_row = 0.0
        self._spent = 0.0
        self._patience = 1
        for rule in self.rules:
            if not rule.literals:
                continue
            reason = reason_against_trace(rule, self.stratum.relations, self.program)
            if reason is None:
                self.traced.append(rule)
            else:
                self.reasons[" ".join(rule.span.text.split())] = reason

    def applies(self) -> bool:
        """Say whether any rule can be followed by its trace."""
        return bool(self.traced)

    def explain(self) -> str:
        """Return which rules use a trace, and why others do not."""
        if not self.traced:
            why = "; ".join(f"`{rule}`: {reason}" for rule, reason in self.reasons.items())
            return f"no trace to follow ({why}), so it is updated"
        if not self.reasons:
            return "all rules go by trace"
        why = "; ".join(f"`{rule}`: {reason}" for rule, reason in self.reasons.items())
        return f"{len(self.traced)} of {len(self.traced) + len(self.reasons)} rules go by trace, not {why}"

    def advise(self, rows: int, predicted: float, recompute_work: int) -> str | None:
        """Return why `auto` should use the trace, or None if it should not.

        `predicted` is what an update is expected to cost. A trace is recorded once updates have cost
        as much as recording would; afterwards the way that was measured to be cheaper is taken.
        """
        if self.reasons or not self.traced or predicted < WORTH_A_TRACE:
            return None
        if self.traces is not None and self.traces.is_current():
            steps = rows * self._steps_per_row
            if _STEP_COST * steps < predicted:
                expected = counted(round(steps), "step")
                return f"by trace, predicted to take {expected} against {predicted:,.0f} of an update"
            return None
        self._spent += predicted
        if recompute_work and self._spent > self._patience * _RECORD_COST * recompute_work:
            spent, self._spent = self._spent, 0.0
            return f"by trace, since updates have taken {spent:,.0f}, more than recording one"
        return None

    def learn(self, rows: int, work: int) -> None:
        """Remember what following the trace cost, without recording it."""
        self._steps_per_row = max(work - self._recording, 1) / max(rows, 1)

    def follow(
        self, make: Callable[[Sequence[FlatRule]], LocalTraces], earlier: Mapping[str, RowDelta]
    ) -> tuple[LocalTraces, int]:
        """Follow a change, recording the old epoch first if it has no trace; return the steps made."""
        self.note, self._recording = "", 0
        if self.traces is None or not self.traces.is_current():
            self.traces = make(self.traced)
            self.traces.record()
            self._recording = self.traces.work
            self.note = f"a trace of {self.traces.size:,} intervals was recorded; "
        before = self.traces.work
        self.is_pending = True
        self.traces.follow(
            {name: np.concatenate([change.deleted, change.inserted]) for name, change in earlier.items()}
        )
        steps = self.traces.work - before
        self.note += f"{counted(self.traces.edits, 'edit')} of the trace in {counted(steps, 'step')}"
        return self.traces, steps + self._recording

    def commit(self) -> None:
        """Keep the trace of the new epoch, if the change was followed."""
        if self.is_pending and self.traces is not None:
            self.traces.commit()
        self.is_pending = False

    def undo(self) -> None:
        """Restore the trace of the old epoch."""
        if self.is_pending and self.traces is not None:
            self.traces.forget()
        self.is_pending = False

    def drop(self) -> None:
        """Drop the trace: the stratum was advanced in another way."""
        if self.traces is not None:
            self._patience *= 4
        self.traces = None
        self.is_pending = False
