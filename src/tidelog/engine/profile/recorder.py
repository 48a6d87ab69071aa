"""What a run writes its profile to."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tidelog.engine.profile.gather import chain_profile
from tidelog.engine.profile.iterations import IterationRecords
from tidelog.engine.profile.record import IndexProfile, IterationProfile, RuleProfile, StratumProfile, Tally
from tidelog.plan.measured import MeasuredPlan, Measurements
from tidelog.plan.operators import RulePlan
from tidelog.program.nodes import Program, RuleId

# Memory is asked for at most once in so many seconds: short iterations cost less than the question.
_SECONDS_PER_SAMPLE: Final = 0.005
_PAGES: Final = Path("/proc/self/statm")

# What tells delta rules apart: the rule, and the atom that reads the delta.
RuleName = tuple[RuleId, int | None]


class ProfileRecorder:
    """Collects the strata of one evaluation; `measurements` has their plans."""

    def __init__(self) -> None:
        self.measurements = Measurements()
        self.strata: dict[int, StratumProfile] = {}
        self.begun = time.perf_counter()
        # Whether strata are recorded; those that an epoch evaluates again are not.
        self.is_open = True
        self._sampled = 0.0
        self._memory_bytes = 0

    def begin(self, number: int, relations: Sequence[str], *, is_recursive: bool) -> "StratumRecorder":
        """Return what takes a stratum; one that is evaluated again takes the place of the first try."""
        self.strata[number] = StratumProfile(number, list(relations), is_recursive)
        return StratumRecorder(self, self.strata[number])

    def memory_bytes(self, now: float) -> int:
        """Return about how much memory the process holds, 0 where nobody tells."""
        if now - self._sampled >= _SECONDS_PER_SAMPLE:
            self._sampled = now
            self._memory_bytes = _resident_bytes()
        return self._memory_bytes


class StratumRecorder:
    """Collects the rules and iterations of one stratum."""

    def __init__(self, run: ProfileRecorder, profile: StratumProfile) -> None:
        self.profile = profile
        self._run = run
        self._records = IterationRecords()
        self._numbers: dict[RuleName, int] = {}
        self._tallies: dict[int, Tally] = {}
        self._planning_seconds = self._index_seconds = 0.0

    def number_of(self, plan: RulePlan) -> int:
        """Return the number of a delta rule among those of the stratum."""
        name = plan.rule, plan.delta_atom
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._numbers)
            self.profile.rules.append(_rule_profile(plan))
        return number

    def rule_ran(self, number: int, tally: Tally) -> None:
        """Add what a rule did in the present iteration."""
        known = self._tallies.get(number)
        if known is None:
            self._tallies[number] = tally
        else:
            known.add(tally)

    def planned(self, seconds: float) -> None:
        """Add the time that planning took."""
        self._planning_seconds += seconds

    def indexed(self, seconds: float) -> None:
        """Add the time that building indexes took."""
        self._index_seconds += seconds

    def iterated(self, first: int, iterations: int, begun: float, new_facts: int) -> None:
        """Take one iteration, or several that were run at once, with all that was noted since the last."""
        now = time.perf_counter()
        for number, tally in self._tallies.items():
            self.profile.rules[number].total.add(tally)
        self._records.add(
            IterationProfile(
                first,
                iterations,
                begun - self._run.begun,
                now - begun,
                new_facts,
                self._index_seconds,
                self._planning_seconds,
                self._run.memory_bytes(now),
                self._tallies,
            )
        )
        self.profile.iterations = first + iterations - 1
        self.profile.planning_seconds += self._planning_seconds
        self.profile.index_seconds += self._index_seconds
        self._planning_seconds = self._index_seconds = 0.0
        self._tallies = {}

    def finish(self, plans: Sequence[MeasuredPlan], program: Program, indexes: list[IndexProfile]) -> None:
        """Take over what the operators of all plans took; the stratum may have been stopped on its way."""
        self.profile.records = self._records.records
        self.profile.indexes = indexes
        for measured in plans:
            chain = chain_profile(measured, program)
            if chain is not None:
                rule = self.profile.rules[self.number_of(measured.plan)]
                rule.chains.append(chain)
        for rule in self.profile.rules:
            _share_new_facts(rule)


def _share_new_facts(rule: RuleProfile) -> None:
    """Say how many facts the insertions of a rule's chains added, by their candidates."""
    inserts = [chain.operators[-1] for chain in rule.chains]
    candidates = sum(insert.rows_in for insert in inserts)
    for insert in inserts:
        share = round(rule.total.new_facts * insert.rows_in / candidates) if candidates else 0
        # Facts of iterations that ran row by row have passed no operator.
        insert.rows_out = min(share, insert.rows_in)


def _rule_profile(plan: RulePlan) -> RuleProfile:
    span = plan.span
    text = " ".join(span.text.split())
    # The span of a rule covers its `.plan`.
    before, _, _ = text.rpartition(" .plan ")
    text = before or text
    delta = None if plan.delta_atom is None else plan.delta_atom + 1
    return RuleProfile(int(plan.rule), plan.relation, text, span.source.name, span.line, delta)


def _resident_bytes() -> int:
    """Return the memory that the process holds now, as Linux tells it."""
    try:
        return int(_PAGES.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
