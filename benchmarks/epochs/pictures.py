"""Pictures: runtime against the size of a change, and the workload of 13 epochs."""

from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.epochs.results import Results

# One colour per strategy in every picture, apart from each other also for colour-blind eyes.
_COLOURS: Final = {
    "auto": "#0072b2",
    "update": "#56b4e9",
    "counting": "#009e73",
    "dred": "#e69f00",
    "dred-counters": "#f0e442",
    "backward-forward": "#cc79a7",
    "recompute": "#d55e00",
    "batch": "#999999",
}


def draw_pictures(results: Results, folder: Path) -> list[Path]:
    """Write `growth.png` and `elastic.png` as far as there is something to draw; return the files."""
    import matplotlib as mpl  # noqa: PLC0415 - slow to import, and only pictures need it

    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    growth = [name for name in results.workloads() if results.of(name, "growth")]
    elastic = [name for name in results.workloads() if results.of(name, "elastic")]
    drawn = []
    if growth:
        drawn.append(_draw(growth, results, _draw_growth, folder / "growth.png", rows=2))
    if elastic:
        drawn.append(_draw(elastic, results, _draw_elastic, folder / "elastic.png", rows=1))
    return drawn


def _draw(workloads: list[str], results: Results, draw: Any, path: Path, rows: int) -> Path:
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the choice of backend

    shape = (5.0 * len(workloads), 3.6 * rows)
    figure, panels = plt.subplots(rows, len(workloads), figsize=shape, layout="constrained", squeeze=False)
    for column, workload in enumerate(workloads):
        draw(panels[:, column], results, workload)
    panels[0][0].legend(fontsize="small")
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def _draw_growth(panels: Any, results: Results, workload: str) -> None:
    """Draw the deletions above the insertions: median CPU seconds, with the fastest and the slowest."""
    batch = results.baseline(workload).batch.cpu_seconds
    epochs = results.of(workload, "growth")
    for panel, direction in zip(panels, ("delete", "insert"), strict=True):
        for strategy in dict.fromkeys(epoch.strategy for epoch in epochs):
            by_size: dict[int, list[float]] = {}
            for epoch in epochs:
                if epoch.strategy == strategy and epoch.direction == direction:
                    by_size.setdefault(epoch.size, []).append(epoch.cpu_seconds)
            sizes = sorted(by_size)
            colour = _COLOURS.get(strategy, "#000000")
            panel.plot(sizes, [median(by_size[s]) for s in sizes], marker="o", label=strategy, color=colour)
            lowest, highest = [min(by_size[s]) for s in sizes], [max(by_size[s]) for s in sizes]
            panel.fill_between(sizes, lowest, highest, alpha=0.12, color=colour)
        panel.axhline(batch, color=_COLOURS["batch"], linestyle="--", label="batch")
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_title(f"{workload}, {direction}")
        panel.set_xlabel("input facts changed")
        panel.set_ylabel("CPU seconds")
        panel.grid(alpha=0.3)


def _draw_elastic(panels: Any, results: Results, workload: str) -> None:
    """Draw the CPU seconds of each of the 13 epochs; the legend tells the totals."""
    panel = panels[0]
    epochs = results.of(workload, "elastic")
    for strategy in dict.fromkeys(epoch.strategy for epoch in epochs):
        own = sorted((epoch for epoch in epochs if epoch.strategy == strategy), key=lambda epoch: epoch.seed)
        total = sum(epoch.cpu_seconds for epoch in own)
        panel.plot(
            [epoch.seed for epoch in own],
            [max(epoch.cpu_seconds, 1e-4) for epoch in own],
            marker="o",
            label=f"{strategy}, {total:.1f} s",
            color=_COLOURS.get(strategy, "#000000"),
        )
    panel.set_yscale("log")
    panel.set_title(workload)
    panel.set_xlabel("epoch")
    panel.set_ylabel("CPU seconds")
    panel.grid(alpha=0.3)
    panel.legend(fontsize="small")
