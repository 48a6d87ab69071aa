"""`python -m benchmarks threads`: two threads against one, and the share in which only one can run.

python -m benchmarks threads galen cspa100k tc_grid150 --jobs 2 --cores 32 --repeat 3 --data DIR

What more cores than there are would give is computed from the CPU seconds of as many threads on those there
are: each piece of work takes what it took, and whoever is done takes the next.
"""

import argparse
import json
import os
import statistics
import sys
from pathlib import Path
from typing import Any, Final

from benchmarks.data import default_cache, facts_folder, first_lines
from benchmarks.measure import FIND_US, measure
from benchmarks.workload import WORKLOADS, Workload

_NAMES: Final = ("galen", "cspa100k", "tc_grid150")
Row = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    data = os.environ.get("TIDELOG_DATA")
    parser.add_argument("names", nargs="*", help=f"workloads; without names {', '.join(_NAMES)}")
    parser.add_argument("--data", type=Path, default=Path(data) if data else None, help="the data sets")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="for unpacked facts")
    parser.add_argument("--jobs", type=int, default=2, help="threads that are compared with one")
    parser.add_argument("--cores", type=int, default=32, help="cores to plan for")
    parser.add_argument("--repeat", type=int, default=3, help="pairs that are measured; medians count")
    parser.add_argument("--json", type=Path, help="write the measurements here")


def run_threads(options: argparse.Namespace) -> int:
    """Measure and print; return the exit status."""
    rows: list[Row] = []
    by_name = {workload.name: workload for workload in WORKLOADS}
    if unknown := [name for name in options.names if name not in by_name]:
        print(f"error: no workload is called {', '.join(unknown)}; see `python -m benchmarks list`")
        return 2
    for name in options.names or _NAMES:
        facts = facts_folder(by_name[name], options.data, options.cache)
        if facts is None:
            print(f"{name:<12}  skipped: its data set was not found; see benchmarks/README.md")
            continue
        rows.append(_measured(by_name[name], facts, options))
        print(_line(rows[-1]), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0


def _measured(workload: Workload, facts: Path, options: argparse.Namespace) -> Row:
    """Return the medians of alternating evaluations, with one thread and with several."""
    for jobs in (1, options.jobs, options.cores):
        # Kernels are compiled before they are measured.
        _clocks(workload, first_lines(facts, options.cache, workload), jobs)
    one, several = [], []
    for _ in range(options.repeat):
        one.append(_clocks(workload, facts, 1))
        several.append(_clocks(workload, facts, options.jobs))
    row: Row = {"workload": workload.name, "jobs": options.jobs, "cores": options.cores}
    row["wall_one"] = statistics.median(clocks["wall_seconds"] for clocks in one)
    row["cpu_one"] = statistics.median(clocks["calling"] for clocks in one)
    row["wall"] = statistics.median(clocks["wall_seconds"] for clocks in several)
    row["threads"] = _medians(several, options.jobs)
    row["loading_one"], row["loading"] = _loading(one), _loading(several)
    row["planned"] = _medians([_clocks(workload, facts, options.cores)], options.cores)
    return row


def _medians(clocks: list[Row], threads: int) -> Row:
    """Return the parts of CPU seconds, the share in which one thread runs, and how many are busy by that."""
    parts = ("calling", "alone", "together", "interpreter", "uneven", "uneven_divided")
    row = {part: statistics.median(each[part] for each in clocks) for part in parts}
    row["total"] = row["calling"] + row["alone"] + row["together"]
    row["serial_share"] = (row["calling"] + row["alone"] + row["uneven"]) / row["total"]
    best = row["calling"] + row["alone"] + row["together"] / threads
    row["busy"] = row["total"] / (best + row["uneven"])
    row["busy_divided"] = row["total"] / (best + row["uneven_divided"])
    return row


def _loading(clocks: list[Row]) -> Row:
    """Return the medians of loading, and the share of it that only the calling thread can do."""
    parts = ("calling", "together", "wall_seconds")
    row = {part: statistics.median(each["loading"][part] for each in clocks) for part in parts}
    row["total"] = row["calling"] + row["together"]
    row["serial_share"] = row["calling"] / row["total"]
    return row


def _clocks(workload: Workload, facts: Path, jobs: int) -> Row:
    command = [sys.executable, "-m", "benchmarks.threads.clocks", str(workload.path), str(facts), str(jobs)]
    taken = measure(command, timeout_seconds=3600, environment=FIND_US)
    if taken.status:
        raise SystemExit(taken.errors)
    clocks: Row = json.loads(taken.output.strip().splitlines()[-1])
    return clocks


def _line(row: Row) -> str:
    speed, several, planned = row["wall_one"] / row["wall"], row["threads"], row["planned"]
    return (
        f"{row['workload']:<12} 1 thread {row['wall_one']:.2f} s ({row['cpu_one']:.2f} CPU),"
        f" {row['jobs']} threads {row['wall']:.2f} s ({several['total']:.2f} CPU): {speed:.2f} times;"
        f" {_of(several)}\n{'':<12} {row['cores']} cores: {_of(planned)}\n{'':<12} {_loaded(row)}"
    )


def _loaded(row: Row) -> str:
    """Say how long loading takes, and for how much of it only one thread can run."""
    one, several = row["loading_one"], row["loading"]
    return (
        f"loading: 1 thread {one['wall_seconds']:.2f} s ({one['total']:.2f} CPU),"
        f" {row['jobs']} threads {several['wall_seconds']:.2f} s ({several['total']:.2f} CPU), of which only"
        f" the calling one can do {several['serial_share']:.1%}"
    )


def _of(part: Row) -> str:
    """Say how long only one thread can run, and what follows from it."""
    parts = ", ".join(f"{name} {part[name]:.2f}" for name in ("calling", "alone", "uneven"))
    return (
        f"only one can run for {part['serial_share']:.1%} of {part['total']:.2f} CPU s ({parts}),"
        f" {part['busy']:.2f} are busy on average"
        f" ({part['busy_divided']:.2f} if pieces were divided beforehand)"
    )
