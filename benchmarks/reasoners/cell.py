"""What reasoners took on subjects: tables, and pictures beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.charts import Panel, Points, draw_bars, draw_lines
from benchmarks.reasoners.table import REASONERS


@dataclass(frozen=True, slots=True)
class Cell:
    """One reasoner on one subject: seconds by what was done, and why some are missing.

    `evaluate` and the changes are seconds of the processor, `wall` is what evaluation took on the clock.
    """

    subject: str
    reasoner: str
    seconds: Mapping[str, float]
    peak_bytes: int = 0
    reason: str = ""


def section(machine: Mapping[str, Any], cells: Sequence[Cell], pictures: str) -> str:
    """Return the section of the page: where it was measured, a table for each subject, the pictures."""
    parts = []
    if machine:
        parts.append(
            f"Measured {machine['date']} on {machine['cores']} cores of {machine['processor']}, load "
            f"{machine['load'][0]}. CPU seconds to read and evaluate, the same on the clock, COST (that "
            "as a multiple of the best reasoner with one thread: less than 1 outperforms it), CPU seconds to "
            "delete and to insert again so many facts, and the peak memory of the process. A cell without a "
            "number has the reason."
        )
    subjects = dict.fromkeys(cell.subject for cell in cells)
    parts += [table([cell for cell in cells if cell.subject == name]) for name in subjects]
    if pictures:
        names = ("changes", "evaluation", "memory")
        parts.append("\n\n".join(f"![{name}]({pictures}reasoners_{name}.svg)" for name in names))
    return "\n\n".join(parts)


def table(cells: Sequence[Cell]) -> str:
    """Return a Markdown table of the cells of one subject.

    COST is the wall seconds of evaluation as a multiple of the best reasoner with one thread.
    """
    threads = {each.name for each in REASONERS if each.is_parallel}
    single = [cell.seconds["wall"] for cell in cells if cell.reasoner not in threads and cell.seconds]
    columns = list(dict.fromkeys(name for cell in cells for name in cell.seconds))
    changes = [name for name in columns if name not in {"evaluate", "wall"}]
    lines = [
        f"| {cells[0].subject} | CPU s | wall s | COST | {' | '.join([*changes, 'MiB'])} |",
        "|---|" + "---:|" * (len(changes) + 4),
    ]
    for cell in cells:
        shown = [cell.reason] * 3
        if cell.seconds:
            wall = cell.seconds["wall"]
            cost = f"{wall / min(single):.2f}" if single else "no single thread finished"
            shown = [f"{cell.seconds['evaluate']:.3f}", f"{wall:.3f}", cost]
        shown += [f"{cell.seconds[name]:.4f}" if name in cell.seconds else cell.reason for name in changes]
        shown.append(f"{cell.peak_bytes / 2**20:.0f}" if cell.peak_bytes else cell.reason)
        lines.append(f"| {cell.reasoner} | {' | '.join(shown)} |")
    return "\n".join(lines)


def draw(cells: Sequence[Cell], folder: Path) -> None:
    """Write `reasoners_changes.svg`, `reasoners_evaluation.svg` and `reasoners_memory.svg` into a folder."""
    subjects = list(dict.fromkeys(cell.subject for cell in cells))
    of = {name: [cell for cell in cells if cell.subject == name] for name in subjects}
    rows = [
        [
            Panel(f"{name}, {direction}", "facts changed", _changes(of[name], direction))
            for direction in ("delete", "insert")
        ]
        for name in subjects
    ]
    draw_lines("CPU time of changes by their size", rows, folder / "reasoners_changes.svg")
    walls = {
        name: {cell.reasoner: cell.seconds["wall"] for cell in of[name] if cell.seconds} for name in subjects
    }
    draw_bars("Evaluation by reasoner", "seconds on the clock", walls, folder / "reasoners_evaluation.svg")
    memory = {name: {cell.reasoner: cell.peak_bytes / 2**20 for cell in of[name]} for name in subjects}
    draw_bars("Peak memory by reasoner", "MiB at most", memory, folder / "reasoners_memory.svg")


def _changes(cells: Sequence[Cell], direction: str) -> dict[str, Points]:
    lines: dict[str, Points] = {}
    for cell in cells:
        sizes = sorted(int(name.split()[1]) for name in cell.seconds if name.startswith(direction))
        if sizes:
            lines[cell.reasoner] = [(size, cell.seconds[f"{direction} {size}"]) for size in sizes]
    return lines
