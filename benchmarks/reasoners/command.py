"""`python -m benchmarks reasoners`: ways to materialize a program and follow its changes, side by side.

python -m benchmarks reasoners --small
python -m benchmarks reasoners --subjects grid,LUBM --index hash,btree --data DIR --json out.json
python -m benchmarks reasoners --read out.json other.json --results benchmarks/RESULTS.md
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Collection, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from benchmarks.cells import read_cells
from benchmarks.data import default_cache, published_folder
from benchmarks.machine import describe_machine
from benchmarks.measure import FIND_US, measure
from benchmarks.reasoners.cell import Cell, draw, section, table
from benchmarks.reasoners.table import INDEX_KINDS, REASONERS, Reasoner, Subject, subjects
from benchmarks.section import write_section

_TITLE: Final = "Reasoners side by side"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    data = os.environ.get("TIDELOG_DATA")
    parser.add_argument("--small", action="store_true", help="sizes for a busy machine")
    parser.add_argument(
        "--data", type=Path, default=Path(data) if data else None, help="folder of the data sets"
    )
    parser.add_argument("--cache", type=Path, default=default_cache(), help="folder for generated facts")
    parser.add_argument("--subjects", default="", help="only these, by name or by words of it: grid,galen")
    parser.add_argument(
        "--reasoners", default="", help="only these, by name or by words of it: auto,substitution"
    )
    parser.add_argument(
        "--index", type=_kinds, default=INDEX_KINDS, help=f"index structures: some of {','.join(INDEX_KINDS)}"
    )
    parser.add_argument("--sizes", default="1,10,100", help="facts deleted and inserted at once")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="threads, where there are several"
    )
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a reasoner is stopped")
    parser.add_argument("--json", type=Path, help="write the measurements here")
    parser.add_argument("--read", type=Path, nargs="+", default=[], help="measurements to take in")
    parser.add_argument("--results", type=Path, help="write tables into this page, and pictures beside it")


def run_reasoners(options: argparse.Namespace) -> int:
    """Measure, print a table for each subject, and keep what was asked for; return the exit status."""
    machine, cells = read_cells(options.read, Cell)
    chosen = [] if options.read else subjects(is_small=options.small)
    if chosen:
        machine = describe_machine()
    for subject in chosen:
        if not is_named(subject.name, options.subjects, {each.name for each in chosen}):
            continue
        facts = _facts(subject, options)
        if facts is None:
            print(f"\n{subject.name}: skipped, its data set was not found; see benchmarks/README.md")
            continue
        found = list(_cells(subject, facts, options))
        cells += found
        print(f"\n{table(found)}" if found else f"\n{subject.name}: no reasoner was chosen", flush=True)
        if options.json is not None:
            report = {"machine": machine, "cells": [asdict(cell) for cell in cells]}
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(report), encoding="utf-8")
    if options.results is not None:
        draw(cells, options.results.parent / "pictures")
        write_section(options.results, _TITLE, section(machine, cells, "pictures/"))
    return 1 if any(cell.reason.startswith("failed") for cell in cells) else 0


def _facts(subject: Subject, options: argparse.Namespace) -> Path | None:
    if subject.write is None:
        return published_folder(subject.name, options.data, options.cache)
    folder: Path = options.cache / "reasoners" / subject.name.replace(" ", "_")
    if not folder.is_dir():
        unfinished = folder.with_name(f"{folder.name}.part")
        unfinished.mkdir(parents=True, exist_ok=True)
        # In its own process: a command's peak memory is at least that of the process that starts it.
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            pool.submit(subject.write, unfinished).result()
        unfinished.rename(folder)
    return folder


def _cells(subject: Subject, facts: Path, options: argparse.Namespace) -> Iterator[Cell]:
    sizes: dict[str, int] | None = None
    for reasoner in _chosen(options):
        arguments = [reasoner.name, str(subject.path), str(facts), subject.changed, options.sizes]
        command = [sys.executable, "-m", "benchmarks.reasoners.one", *arguments, str(options.jobs)]
        done = measure(command, timeout_seconds=options.limit, environment=FIND_US)
        # A line is whole once it has ended: the process may have been stopped in the middle of one.
        lines = [line for line in done.output.splitlines(keepends=True) if line.endswith("\n")]
        reply = json.loads(lines[-1]) if lines else {"taken": {}, "found": {}}
        sizes = sizes or reply["found"] or None
        reason = reasoner.no_changes
        if done.is_timeout:
            reason = f"over {options.limit:g} s"
        elif done.status:
            reason = f"failed: {(done.errors.strip().splitlines() or ['no message'])[-1]}"
        elif sizes and any(sizes.get(name, size) != size for name, size in reply["found"].items()):
            reason = "failed: it has other sizes than the first"
        yield Cell(subject.name, reasoner.name, reply["taken"], done.peak_bytes, reason)


def _chosen(options: argparse.Namespace) -> list[Reasoner]:
    """Return the reasoners that were asked for: those without an index structure, and those with these."""
    found = [each for each in REASONERS if not each.index or each.index in options.index]
    names = {each.name for each in found}
    return [each for each in found if is_named(each.name, options.reasoners, names)]


def is_named(name: str, words: str, names: Collection[str]) -> bool:
    """Say whether a name is asked for: by itself, or by whole words of it that are no name themselves.

    >>> names = ["DRed", "substitution with DRed"]
    >>> [name for name in names if is_named(name, "DRed", names)]
    ['DRed']
    >>> [name for name in names if is_named(name, "with DRed", names)]
    ['substitution with DRed']
    """
    return not words or any(
        word == name or (word not in names and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", name))
        for word in words.split(",")
    )


def _kinds(text: str) -> tuple[str, ...]:
    for kind in text.split(","):
        if kind not in INDEX_KINDS:
            raise argparse.ArgumentTypeError(
                f"no index structure is called {kind}; there are {', '.join(INDEX_KINDS)}"
            )
    return tuple(text.split(","))
