"""A picture: steps and seconds of following a trace against its edit distance."""

from pathlib import Path
from typing import Any

Row = dict[str, Any]


def draw(rows: list[Row], folder: Path) -> Path | None:
    """Write `trace.png`, if traces were measured; return the file."""
    import matplotlib as mpl  # noqa: PLC0415 - slow to import, and only pictures need it

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the choice of backend

    epochs = [row for row in rows if row["experiment"] == "trace" and row.get("distance", 0)]
    if not epochs:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    distances = [row["distance"] for row in epochs]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    for axes, what in ((left, "steps"), (right, "seconds")):
        measured = [row[what] for row in epochs]
        axes.loglog(distances, measured, "o", color="#0072b2", markersize=4, label=what)
        middle = sorted(range(len(epochs)), key=lambda place: distances[place])[len(epochs) // 2]
        scale = measured[middle] / distances[middle]
        ends = [min(distances), max(distances)]
        axes.loglog(ends, [scale * end for end in ends], "--", color="#999999", label="slope 1")
        axes.set_xlabel("trace edit distance")
        axes.set_ylabel(what)
        axes.legend()
        axes.grid(visible=True, which="major", alpha=0.3)
    figure.tight_layout()
    path = folder / "trace.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path
