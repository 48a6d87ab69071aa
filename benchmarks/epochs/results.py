"""All that was measured about epochs: kept as JSON, and told in lines for people."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from benchmarks.epochs.bench import Baseline
from benchmarks.epochs.footprint import Footprint
from benchmarks.epochs.record import Epoch, Taken
from benchmarks.machine import describe_machine

# A ratio from here on reads better as 1/n.
_WORTH_A_FRACTION: Final = 2


@dataclass
class Results:
    """Measurements of one command."""

    baselines: list[Baseline] = field(default_factory=list)
    epochs: list[Epoch] = field(default_factory=list)
    footprints: list[Footprint] = field(default_factory=list)

    def baseline(self, workload: str) -> Baseline:
        """Return what a workload takes from nothing."""
        return next(baseline for baseline in self.baselines if baseline.workload == workload)

    def workloads(self) -> list[str]:
        """Return the workloads in the order they were measured."""
        return [baseline.workload for baseline in self.baselines]

    def of(self, workload: str, experiment: str, strategy: str | None = None) -> list[Epoch]:
        """Return the epochs of one experiment."""
        return [
            epoch
            for epoch in self.epochs
            if epoch.workload == workload
            and epoch.experiment == experiment
            and (strategy is None or epoch.strategy == strategy)
        ]


def write_results(results: Results, path: Path) -> None:
    """Write the measurements with the machine they were taken on."""
    report = {"machine": describe_machine(), **asdict(results)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def read_results(paths: Iterable[Path]) -> Results:
    """Return the measurements of several files as one."""
    results = Results()
    for path in paths:
        report = json.loads(path.read_text(encoding="utf-8"))
        for entry in report["baselines"]:
            taken = {name: Taken(**entry[name]) for name in ("batch", "bootstrap")}
            results.baselines.append(Baseline(**{**entry, **taken}))
        results.epochs += [Epoch(**entry) for entry in report["epochs"]]
        results.footprints += [Footprint(**entry) for entry in report["footprints"]]
    return results


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that a share of the values does not exceed."""
    return float(np.quantile(np.array(values), share, method="inverted_cdf"))


def baseline_line(baseline: Baseline) -> str:
    """Return what a workload takes from nothing as a line of text."""
    batch, boot = baseline.batch, baseline.bootstrap
    return (
        f"{baseline.workload:<14} {baseline.input_facts:>12,} input facts, {baseline.facts:>12,} facts; "
        f"batch {batch.cpu_seconds:.2f} cpu s, bootstrap {boot.cpu_seconds:.2f} cpu s "
        f"({boot.cpu_seconds / max(batch.cpu_seconds, 1e-9):.2f}x)"
    )


def epoch_lines(epochs: Sequence[Epoch], baseline: Baseline) -> list[str]:
    """Return one line for every strategy and size: median and 99th percentile.

    cspa100k       small  auto  10 facts: median 9.9 ms (cpu), p99 26.2 ms, 1/204 of batch; impact 1,830, ...
    """
    groups: dict[tuple[str, str, int], list[Epoch]] = {}
    for epoch in epochs:
        groups.setdefault((epoch.experiment, epoch.strategy, epoch.size), []).append(epoch)
    lines = []
    for (experiment, strategy, size), group in groups.items():
        cpu = [epoch.cpu_seconds for epoch in group]
        wall = median(epoch.seconds for epoch in group)
        ratio = baseline.batch.cpu_seconds / max(median(cpu), 1e-9)
        share = f"1/{ratio:,.0f}" if ratio >= _WORTH_A_FRACTION else f"{1 / ratio:.2f}"
        lines.append(
            f"{baseline.workload:<14} {experiment:<8} {strategy:<17} {size:>9,} facts: "
            f"median {1e3 * median(cpu):,.1f} ms (wall {1e3 * wall:,.1f}), "
            f"p99 {1e3 * percentile(cpu, 0.99):,.1f} ms, {share} of batch; "
            f"impact {median(epoch.impact for epoch in group):,.0f}, "
            f"work {median(epoch.work for epoch in group):,.0f}, "
            f"recomputed {sum(epoch.recomputed for epoch in group)}"
        )
    return lines
