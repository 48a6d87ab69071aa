"""`python -m benchmarks elastic`: runtime by size of change, 13 epochs and memory, for all strategies.

python -m benchmarks elastic --small
python -m benchmarks elastic cspa100k doop --data DIR --json out.json
python -m benchmarks elastic --read out.json other.json --results benchmarks/RESULTS.md
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from benchmarks.cells import read_cells
from benchmarks.data import default_cache, facts_folder
from benchmarks.elastic.cell import Cell, section
from benchmarks.elastic.way import WAYS, Way
from benchmarks.machine import describe_machine
from benchmarks.measure import FIND_US, measure
from benchmarks.section import write_section
from benchmarks.workload import Workload, workloads_named

# The trace of collaborative editing is taken without pairs over deleted elements: with them it has 150
# million facts.
_DEFAULT: Final = ("galen", "crdt_steps", "doop", "cspa100k")
_TITLE: Final = "Elastic incrementalization, strategy by strategy"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    data = os.environ.get("TIDELOG_DATA")
    parser.add_argument("names", nargs="*", help=f"workloads; by default {', '.join(_DEFAULT)}")
    parser.add_argument(
        "--small", action="store_true", help="the closure of a small grid, which needs no data"
    )
    parser.add_argument(
        "--data", type=Path, default=Path(data) if data else None, help="folder of the data sets"
    )
    parser.add_argument(
        "--cache", type=Path, default=default_cache(), help="folder for unpacked and generated facts"
    )
    names = ", ".join(way.name for way in WAYS)
    parser.add_argument("--strategies", type=_ways, default=WAYS, help=f"some of: {names}")
    parser.add_argument("--sizes", default="1,10,100,1000", help="facts deleted and inserted at once")
    parser.add_argument("--sets", type=int, default=3, help="random sets of facts for each size")
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a strategy is stopped")
    parser.add_argument("--json", type=Path, help="write the measurements here")
    parser.add_argument("--read", type=Path, nargs="+", default=[], help="measurements to take in")
    parser.add_argument("--results", type=Path, help="write tables into this page, and pictures beside it")


def run_elastic(options: argparse.Namespace) -> int:
    """Measure, print a table for each workload, and keep what was asked for; return the exit status."""
    machine, cells = read_cells(options.read, Cell)
    workloads = _chosen(options)
    if workloads:
        machine = describe_machine()
    for workload in workloads:
        folder = facts_folder(workload, options.data, options.cache)
        if folder is None:
            print(f"{workload.name}: skipped: its data set was not found; see benchmarks/README.md")
            continue
        for cell in _measured(workload, folder, options):
            cells = [each for each in cells if (each.workload, each.way) != (cell.workload, cell.way)] + [
                cell
            ]
            print(cell.line(), flush=True)
            if options.json is not None:
                report = {"machine": machine, "cells": [asdict(each) for each in cells]}
                options.json.parent.mkdir(parents=True, exist_ok=True)
                options.json.write_text(json.dumps(report), encoding="utf-8")
    text = section(machine, cells, "pictures/" if options.results else "")
    print(f"\n{text}")
    if options.results is not None:
        from benchmarks.elastic.picture import draw  # noqa: PLC0415 - the runner stays small

        draw(cells, options.results.parent / "pictures")
        write_section(options.results, _TITLE, text)
    return 1 if any(cell.reason.startswith("failed") for cell in cells) else 0


def _measured(workload: Workload, folder: Path, options: argparse.Namespace) -> Iterator[Cell]:
    for way in options.strategies:
        arguments = [way.name, str(workload.path), str(folder), options.sizes, str(options.sets)]
        arguments += [str(options.limit), str(options.jobs)]
        command = [sys.executable, "-m", "benchmarks.elastic.one", *arguments]
        done = measure(command, timeout_seconds=options.limit, environment=FIND_US)
        reason = ""
        if done.is_timeout:
            reason = f"over {options.limit:g} s"
        elif done.status:
            reason = f"failed: {(done.errors.strip().splitlines() or ['no message'])[-1]}"
        # A line is whole once it has ended: the process may have been stopped in the middle of one.
        epochs = [json.loads(line) for line in done.output.splitlines(keepends=True) if line.endswith("\n")]
        yield Cell(workload.name, way.name, epochs, done.peak_bytes, reason)


def _chosen(options: argparse.Namespace) -> Sequence[Workload]:
    names = options.names or (() if options.read else _DEFAULT)
    if options.small:
        names = ("tc_grid10",)
    return workloads_named(names)


def _ways(text: str) -> tuple[Way, ...]:
    by_name = {way.name: way for way in WAYS}
    for name in text.split(","):
        if name not in by_name:
            raise argparse.ArgumentTypeError(f"no strategy is called {name}; there are {', '.join(by_name)}")
    return tuple(by_name[name] for name in text.split(","))
