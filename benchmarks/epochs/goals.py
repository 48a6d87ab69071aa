"""What the numbers must be, and whether they are."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.epochs.record import Epoch
from benchmarks.epochs.results import Results, percentile

# The largest share of a plain evaluation that the median small change may take, by number of facts.
_SMALL: Final = {
    "galen": {10: 1 / 500},
    "cspa100k": {10: 1 / 50},
    "doop": {10: 1 / 200},
    "crdt_linear": {10: 1 / 5, 100: 1 / 2},
    "crdt_jumps": {10: 1 / 5, 100: 1 / 2},
    "crdt": {10: 1 / 5, 100: 1 / 2},
}
_GROWTH_SECONDS: Final = 0.005
_GROWTH_FACTOR: Final = 25
_LARGE_STATE: Final = 5_000_000
_FEW_FACTS: Final = 25


@dataclass(frozen=True, slots=True)
class Verdict:
    """A goal with what was measured for it; both in the same unit, smaller is better."""

    workload: str
    goal: str
    measured: float
    allowed: float

    @property
    def is_met(self) -> bool:
        """Return whether the goal is reached."""
        return self.measured <= self.allowed

    def line(self) -> str:
        """Return the verdict as a line of text."""
        word = "met   " if self.is_met else "MISSED"
        return f"{word} {self.workload:<14} {self.goal}: {self.measured:.5g} (allowed {self.allowed:.5g})"


def judge(results: Results) -> list[Verdict]:
    """Return the verdict on every goal that something was measured for."""
    return [verdict for workload in results.workloads() for verdict in _judge(results, workload)]


def _judge(results: Results, workload: str) -> Iterator[Verdict]:
    baseline = results.baseline(workload)
    batch = baseline.batch.cpu_seconds
    yield Verdict(workload, "bootstrap against batch", baseline.bootstrap.cpu_seconds / batch, 1.15)
    small = results.of(workload, "small", "auto")
    for size, allowed in _SMALL.get(workload, {}).items():
        taken = [epoch.cpu_seconds for epoch in small if epoch.size == size]
        if taken:
            yield Verdict(workload, f"median of {size} facts against batch", median(taken) / batch, allowed)
    yield from _judge_growth(results.of(workload, "growth", "auto"), workload, batch / baseline.derived_facts)
    yield from _judge_one(results.of(workload, "one", "auto"), workload, baseline.facts)
    yield from _judge_sized(results.of(workload, "sized"), workload)
    yield from _judge_elastic(results.of(workload, "elastic"), workload)
    peaks = {each.kind: each.peak_bytes for each in results.footprints if each.workload == workload}
    if len(peaks) == 2:
        yield Verdict(workload, "peak memory against batch", peaks["maintained"] / peaks["plain"], 1.5)


def _judge_growth(epochs: list[Epoch], workload: str, per_fact: float) -> Iterator[Verdict]:
    for size in sorted({epoch.size for epoch in epochs}):
        group = [epoch for epoch in epochs if epoch.size == size]
        shares = [
            epoch.cpu_seconds / (_GROWTH_SECONDS + _GROWTH_FACTOR * per_fact * epoch.impact)
            for epoch in group
        ]
        yield Verdict(workload, f"growth, {size:,} facts, median of the allowed", median(shares), 1.0)


def _judge_one(epochs: list[Epoch], workload: str, facts: int) -> Iterator[Verdict]:
    taken = [epoch.cpu_seconds for epoch in epochs if epoch.impact <= _FEW_FACTS]
    if taken and facts >= _LARGE_STATE:
        yield Verdict(workload, "one fact of little effect, median seconds", median(taken), 0.005)
        yield Verdict(workload, "one fact of little effect, p99 seconds", percentile(taken, 0.99), 0.025)


def _judge_sized(epochs: list[Epoch], workload: str) -> Iterator[Verdict]:
    recompute = {(e.size, e.direction, e.seed): e.cpu_seconds for e in epochs if e.strategy == "recompute"}
    ratios = [
        epoch.cpu_seconds / recompute[epoch.size, epoch.direction, epoch.seed]
        for epoch in epochs
        if epoch.strategy == "auto"
    ]
    if ratios:
        yield Verdict(workload, "any size under auto against recompute, worst", max(ratios), 1.3)


def _judge_elastic(epochs: list[Epoch], workload: str) -> Iterator[Verdict]:
    totals: dict[str, float] = {}
    for epoch in epochs:
        totals[epoch.strategy] = totals.get(epoch.strategy, 0.0) + epoch.cpu_seconds
    if "auto" in totals:
        yield Verdict(workload, "13 epochs under auto against batch", totals["auto"] / totals["batch"], 0.4)
