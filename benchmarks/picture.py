"""Runs as a picture: CPU seconds and peak memory, a group of bars per workload."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.runner import Run

# One colour per engine in every picture, apart from each other also for colour-blind eyes.
_COLOURS: Final = {
    "tidelog": "#0072b2",
    "tidelog-reference": "#56b4e9",
    "duckdb": "#e69f00",
    "nemo": "#009e73",
    "clingo": "#cc79a7",
    "logica": "#999999",
}


def draw(runs: Sequence[Run], path: Path) -> None:
    """Write the picture of the runs that went well; the scale is logarithmic."""
    import matplotlib as mpl  # noqa: PLC0415 - slow to import, and only pictures need it

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the choice of backend

    good = [run for run in runs if run.is_good]
    workloads = list(dict.fromkeys(run.workload for run in good))
    bars = list(dict.fromkeys((run.engine, run.jobs) for run in good))
    figure, panels = plt.subplots(2, 1, figsize=(max(6.0, 1.6 * len(workloads)), 7), layout="constrained")
    measures = (
        ("CPU seconds", {_key(run): run.cpu_seconds for run in good}),
        ("peak memory, MiB", {_key(run): run.peak_bytes / 2**20 for run in good}),
    )
    width = 0.8 / max(1, len(bars))
    for panel, (title, heights) in zip(panels, measures, strict=True):
        for place, (engine, jobs) in enumerate(bars):
            here = [i for i, workload in enumerate(workloads) if (workload, engine, jobs) in heights]
            panel.bar(
                [i + (place - (len(bars) - 1) / 2) * width for i in here],
                [heights[workloads[i], engine, jobs] for i in here],
                width,
                label=f"{engine}, {jobs} {'thread' if jobs == 1 else 'threads'}",
                color=_COLOURS.get(engine, "#000000"),
                alpha=1.0 if jobs == 1 else 0.6,
            )
        panel.set_yscale("log")
        panel.set_ylabel(title)
        panel.set_xticks(range(len(workloads)), workloads, rotation=20, ha="right")
        panel.grid(axis="y", alpha=0.3)
    panels[0].legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _key(run: Run) -> tuple[str, str, int]:
    return run.workload, run.engine, run.jobs
