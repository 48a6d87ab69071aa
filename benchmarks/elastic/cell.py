"""What one strategy took on one workload, and all of it as Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

_EPOCHS: Final = 13


@dataclass(frozen=True, slots=True)
class Cell:
    """One strategy on one workload: its epochs as far as it came, and why no further if it was stopped."""

    workload: str
    way: str
    epochs: Sequence[Mapping[str, Any]]
    peak_bytes: int
    reason: str = ""

    @property
    def evaluation(self) -> float | None:
        """Return the CPU seconds of the first evaluation."""
        first = [each["cpu_seconds"] for each in self.epochs if each["experiment"] == "first"]
        return first[0] if first else None

    def growth(self, direction: str) -> dict[int, list[float]]:
        """Return the CPU seconds of changes by their size."""
        found: dict[int, list[float]] = {}
        for each in self.epochs:
            if each["experiment"] == "growth" and each["direction"] == direction:
                found.setdefault(each["size"], []).append(each["cpu_seconds"])
        return found

    def thirteen(self) -> list[float]:
        """Return the CPU seconds of the 13 epochs, as far as they went."""
        return [each["cpu_seconds"] for each in self.epochs if each["experiment"] == "elastic"]

    def line(self) -> str:
        """Return what was measured as a line for a terminal."""
        first = self.evaluation
        took = "no evaluation" if first is None else f"evaluation {first:.2f} cpu s"
        epochs = self.thirteen()
        return (
            f"{self.workload:<12} {self.way:<24} {took}, {len(epochs)} of {_EPOCHS} epochs in "
            f"{sum(epochs):.2f} cpu s, {self.peak_bytes / 2**20:,.0f} MiB {self.reason}"
        )


def section(machine: Mapping[str, Any], cells: Sequence[Cell], pictures: str) -> str:
    """Return the section of the page: where it was measured, a table for each workload, the pictures."""
    parts = []
    if machine:
        parts.append(
            f"Measured {machine['date']} on {machine['cores']} cores of {machine['processor']}, load "
            f"{machine['load'][0]}. CPU seconds of the evaluation, medians of random changes that delete so "
            "many input facts and insert them again, and the sum of the 13 epochs: the evaluation, 6 small "
            "changes, a tenth of the input deleted, 4 small changes, the tenth inserted. Then the peak "
            "memory of the process. A strategy that was stopped has the reason in place of a number."
        )
    parts += [_table([cell for cell in cells if cell.workload == name]) for name in _workloads(cells)]
    if pictures:
        names = ("growth", "epochs", "memory")
        parts.append("\n\n".join(f"![{name}]({pictures}elastic_{name}.svg)" for name in names))
    return "\n\n".join(parts)


def _workloads(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.workload for cell in cells))


def _table(cells: Sequence[Cell]) -> str:
    sizes = sorted({size for cell in cells for size in cell.growth("delete")})
    columns = [f"{direction} {size:,}" for size in sizes for direction in ("delete", "insert")]
    lines = [
        f"| {cells[0].workload} | evaluation | {' | '.join([*columns, '13 epochs', 'MiB'])} |",
        "|---|" + "---:|" * (len(columns) + 3),
    ]
    for cell in cells:
        first, thirteen = cell.evaluation, cell.thirteen()
        shown = [_missing(cell) if first is None else f"{first:.2f}"]
        for size in sizes:
            for direction in ("delete", "insert"):
                taken = cell.growth(direction).get(size)
                shown.append(f"{median(taken):.4f}" if taken else _missing(cell))
        is_whole = len(thirteen) == _EPOCHS
        shown.append(f"{sum(thirteen):.2f}" if is_whole else f"{_missing(cell)}, in epoch {len(thirteen)}")
        shown.append(f"{cell.peak_bytes / 2**20:.0f}")
        lines.append(f"| {cell.way} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _missing(cell: Cell) -> str:
    """Return why a cell of the table has no number."""
    usual = "keeps no state" if cell.way == "batch" else "left out: a third of the time was over"
    return cell.reason or usual
