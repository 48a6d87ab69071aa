"""`python -m benchmarks reasoners`: ways to materialize a program and follow its changes, side by side.

python -m benchmarks reasoners --small
python -m benchmarks reasoners --data DIR --json out.json --pictures FOLDER
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.data import default_cache, published_folder
from benchmarks.machine import describe_machine
from benchmarks.measure import FIND_US, measure
from benchmarks.reasoners.table import REASONERS, Subject, subjects


@dataclass(frozen=True, slots=True)
class Cell:
    """One reasoner on one subject: seconds of the processor by what was done, or why there are none."""

    subject: str
    reasoner: str
    seconds: dict[str, float]
    peak_bytes: int = 0
    reason: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    data = os.environ.get("TIDELOG_DATA")
    parser.add_argument("--small", action="store_true", help="sizes for a busy machine")
    parser.add_argument(
        "--data", type=Path, default=Path(data) if data else None, help="folder of the data sets"
    )
    parser.add_argument("--cache", type=Path, default=default_cache(), help="folder for generated facts")
    parser.add_argument("--sizes", default="1,10,100", help="facts deleted and inserted at once")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="threads, where there are several"
    )
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a reasoner is stopped")
    parser.add_argument("--json", type=Path, help="write the measurements here")
    parser.add_argument("--pictures", type=Path, help="draw what was measured into this folder")


def run_reasoners(options: argparse.Namespace) -> int:
    """Measure, print a table for each subject, and keep what was asked for; return the exit status."""
    cells: list[Cell] = []
    described = describe_machine()
    print("; ".join(f"{key}: {value}" for key, value in described.items() if not isinstance(value, dict)))
    for subject in subjects(is_small=options.small):
        facts = _facts(subject, options)
        if facts is None:
            print(f"\n{subject.name}: skipped, its data set was not found; see benchmarks/README.md")
            continue
        found = list(_cells(subject, facts, options))
        cells += found
        print(f"\n{table(found)}", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(cell) for cell in cells], indent=1), encoding="utf-8")
    if options.pictures is not None:
        from benchmarks.reasoners.picture import draw  # noqa: PLC0415 - matplotlib only for pictures

        draw(cells, options.pictures)
    return 1 if any(cell.reason.startswith("failed") for cell in cells) else 0


def _facts(subject: Subject, options: argparse.Namespace) -> Path | None:
    if subject.write is None:
        return published_folder(subject.name, options.data, options.cache)
    folder: Path = options.cache / "reasoners" / subject.name.replace(" ", "_")
    if not folder.is_dir():
        folder.mkdir(parents=True)
        subject.write(folder)
    return folder


def _cells(subject: Subject, facts: Path, options: argparse.Namespace) -> Iterator[Cell]:
    sizes: dict[str, dict[str, int]] = {}
    for number, reasoner in enumerate(REASONERS):
        arguments = [
            str(number),
            str(subject.path),
            str(facts),
            subject.changed,
            options.sizes,
            str(options.jobs),
        ]
        command = [sys.executable, "-m", "benchmarks.reasoners.one", *arguments]
        done = measure(command, timeout_seconds=options.limit, environment=FIND_US)
        if done.is_timeout:
            yield Cell(subject.name, reasoner.name, {}, reason=f"over {options.limit:g} s")
        elif done.status:
            message = (done.errors.strip().splitlines() or ["no message"])[-1]
            yield Cell(subject.name, reasoner.name, {}, reason=f"failed: {message}")
        else:
            reply = json.loads(done.output.splitlines()[-1])
            sizes[reasoner.name] = reply["found"]
            first = next(iter(sizes.values()))
            is_same = all(first[name] == size for name, size in reply["found"].items() if name in first)
            reason = reasoner.no_changes if is_same else "failed: it has other sizes than the first"
            yield Cell(subject.name, reasoner.name, reply["taken"], done.peak_bytes, reason)


def table(cells: Sequence[Cell]) -> str:
    """Return a Markdown table of the cells of one subject.

    COST is the seconds of evaluation as a multiple of the best reasoner with one thread.
    """
    threads = {each.name for each in REASONERS if each.is_parallel}
    single = [
        cell.seconds["evaluate"]
        for cell in cells
        if cell.reasoner not in threads and "evaluate" in cell.seconds
    ]
    columns = list(dict.fromkeys(name for cell in cells for name in cell.seconds if name != "evaluate"))
    lines = [
        f"| {cells[0].subject} | evaluate | COST | {' | '.join([*columns, 'MiB'])} |",
        "|" + "---|" * (len(columns) + 4),
    ]
    for cell in cells:
        if not cell.seconds:
            lines.append(f"| {cell.reasoner} | " + " | ".join([cell.reason] * (len(columns) + 3)) + " |")
            continue
        seconds = cell.seconds["evaluate"]
        shown = [f"{cell.seconds[name]:.4f}" if name in cell.seconds else cell.reason for name in columns]
        peak = f"{cell.peak_bytes / 2**20:.0f}"
        cost = f"{seconds / min(single):.2f}"
        lines.append(f"| {cell.reasoner} | {seconds:.3f} | {cost} | {' | '.join([*shown, peak])} |")
    return "\n".join(lines)
