"""Pictures of what reasoners took: evaluation and memory, and growth with the size of changes."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

from benchmarks.reasoners.command import Cell

mpl.use("Agg")

from matplotlib import pyplot as plt


def draw(cells: Sequence[Cell], folder: Path) -> None:
    """Draw `reasoners.png`, a row for each subject, into a folder."""
    subjects = list(dict.fromkeys(cell.subject for cell in cells))
    if not subjects:
        return
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(len(subjects), 3, figsize=(16, 4.2 * len(subjects)), squeeze=False)
    for row, subject in zip(axes, subjects, strict=True):
        chosen = [cell for cell in cells if cell.subject == subject and cell.seconds]
        names = [cell.reasoner for cell in chosen]
        row[0].barh(names, [cell.seconds["evaluate"] for cell in chosen])
        row[0].set(xscale="log", xlabel="seconds to evaluate", title=subject)
        row[1].barh(names, [cell.peak_bytes / 2**20 for cell in chosen])
        row[1].set(xlabel="MiB at most")
        for cell in chosen:
            sizes = [name.split() for name in cell.seconds if name != "evaluate"]
            for direction, style in (("delete", "-"), ("insert", ":")):
                mine = sorted(int(size) for each, size in sizes if each == direction)
                if mine:
                    times = [cell.seconds[f"{direction} {size}"] for size in mine]
                    row[2].plot(mine, times, style, marker=".", label=f"{cell.reasoner}, {direction}")
        row[2].set(xscale="log", yscale="log", xlabel="facts changed", ylabel="seconds")
        row[2].legend(fontsize=5, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    figure.savefig(folder / "reasoners.png", dpi=80)
    plt.close(figure)
