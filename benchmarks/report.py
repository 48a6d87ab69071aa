"""Runs as JSON, as a table for people, and read back."""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from benchmarks.machine import describe_machine
from benchmarks.runner import Run


def write_json(runs: Sequence[Run], path: Path) -> None:
    """Write the runs with the machine they were taken on."""
    report = {"machine": describe_machine(), "runs": [asdict(run) for run in runs]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def read_json(path: Path) -> list[Run]:
    """Return the runs of a report."""
    known = {field.name for field in fields(Run)}
    report = json.loads(path.read_text(encoding="utf-8"))
    return [Run(**{key: value for key, value in run.items() if key in known}) for run in report["runs"]]


def line(run: Run) -> str:
    """Return one run as a line of text.

    tc_grid50         tidelog      jobs 1    1.21 cpu s    1.20 s     214 MiB  exact
    """
    return (
        f"{run.workload:<16}  {run.engine:<10}  jobs {run.jobs}  {run.cpu_seconds:8.2f} cpu s  "
        f"{run.wall_seconds:8.2f} s  {run.peak_bytes / 2**20:7.0f} MiB  {run.verdict}"
    )


def results_page(path: Path) -> str:
    """Return a report as the page RESULTS.md: the machine and the date above the numbers."""
    machine = json.loads(path.read_text(encoding="utf-8"))["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    return f"""# Results

Measured {machine["date"]} on {machine["cores"]} cores of {machine["processor"]} with
{machine["memory_bytes"] / 2**30:.0f} GiB ({machine["system"]}, load {machine["load"][0]} at the end),
Python {machine["python"]}, {packages}.

CPU seconds are user and system time of all threads. A run includes start-up and reading the facts, and
excludes compiling. `exact` says that every size is the one an independent program found.
[README.md](README.md) says how to repeat it.

{markdown(read_json(path))}
"""


def markdown(runs: Sequence[Run]) -> str:
    """Return the runs as a table, one row per run, with the peers' ratio to Tidelog."""
    rows = [
        "| workload | engine | jobs | CPU s | wall s | peak MiB | CPU against Tidelog | sizes |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]
    ours = {
        (run.workload, run.jobs): run.cpu_seconds for run in runs if run.engine == "tidelog" and run.is_good
    }
    for run in runs:
        base = ours.get((run.workload, run.jobs))
        ratio = f"{run.cpu_seconds / base:.1f}x" if base and run.is_good and run.engine != "tidelog" else ""
        rows.append(
            f"| {run.workload} | {run.engine} | {run.jobs} | {run.cpu_seconds:.2f} | {run.wall_seconds:.2f} "
            f"| {run.peak_bytes / 2**20:.0f} | {ratio} | {run.verdict} |"
        )
    return "\n".join(rows)
