"""Pictures: runtime against the size of a change, the 13 epochs, and memory, for each workload."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.charts import Panel, Points, draw_bars, draw_lines
from benchmarks.elastic.cell import Cell


def draw(cells: Sequence[Cell], folder: Path) -> None:
    """Write `elastic_growth.svg`, `elastic_epochs.svg` and `elastic_memory.svg` into a folder."""
    workloads = list(dict.fromkeys(cell.workload for cell in cells))
    of = {name: [cell for cell in cells if cell.workload == name] for name in workloads}
    rows = [
        [
            Panel(f"{name}, {direction}", "input facts changed", _growth(of[name], direction))
            for name in workloads
        ]
        for direction in ("delete", "insert")
    ]
    draw_lines("CPU time of a change by its size", rows, folder / "elastic_growth.svg")
    epochs = [Panel(name, "epoch", _epochs(of[name]), is_log=False) for name in workloads]
    draw_lines("CPU time of the 13 epochs", [epochs], folder / "elastic_epochs.svg")
    memory = {name: {cell.way: cell.peak_bytes / 2**20 for cell in of[name]} for name in workloads}
    draw_bars("Peak memory by strategy", "MiB at most", memory, folder / "elastic_memory.svg")


def _growth(cells: Sequence[Cell], direction: str) -> dict[str, Points]:
    """Return the medians by size; evaluation without state is the same at every size."""
    sizes = sorted({size for cell in cells for size in cell.growth(direction)})
    lines: dict[str, Points] = {}
    for cell in cells:
        by_size = cell.growth(direction)
        if by_size:
            lines[cell.way] = [(size, median(by_size[size])) for size in sorted(by_size)]
        elif cell.way == "batch" and cell.evaluation is not None:
            lines[cell.way] = [(size, cell.evaluation) for size in sizes]
    return lines


def _epochs(cells: Sequence[Cell]) -> dict[str, Points]:
    return {cell.way: list(enumerate(cell.thirteen())) for cell in cells if cell.thirteen()}
