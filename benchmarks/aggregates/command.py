"""`python -m benchmarks aggregates`: grouped aggregates, ranges and best paths under change.

python -m benchmarks aggregates --data DIR --json aggregates.json
python -m benchmarks aggregates --experiments groups,ranges --facts 1000000
"""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

Row = dict[str, Any]
_EXPERIMENTS: Final = ("groups", "ranges", "graphs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--experiments", default=",".join(_EXPERIMENTS), help="some of groups,ranges,graphs")
    parser.add_argument("--facts", type=int, default=1_000_000, help="facts under an aggregate")
    parser.add_argument("--groups", type=int, default=1_000, help="groups of these facts, or windows")
    parser.add_argument("--edges", type=int, default=1_000_000, help="edges of the random graph")
    parser.add_argument("--data", type=Path, help="folder with bigdatalog_graphs")
    parser.add_argument("--json", type=Path, help="write the measurements here")


def run_aggregates(options: argparse.Namespace) -> int:
    """Measure, print, and keep what was asked for; return the exit status."""
    rows: list[Row] = []
    measure: dict[str, Callable[[], Iterator[Row]]] = {
        "groups": lambda: _groups(options),
        "ranges": lambda: _ranges(options),
        "graphs": lambda: _graphs(options),
    }
    try:
        for name in options.experiments.split(","):
            for row in measure[name]():
                rows.append({"experiment": name, **row})
                print("  ".join(f"{key} {_shown(value)}" for key, value in rows[-1].items()), flush=True)
    finally:
        if options.json is not None:
            options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0


def _groups(options: argparse.Namespace) -> Iterator[Row]:
    from benchmarks.aggregates.groups import measure_groups  # noqa: PLC0415 - the engine is loaded where it is measured

    # The first, small run compiles all kernels.
    list(measure_groups(2_000, 10, epochs=1))
    return measure_groups(options.facts, options.groups)


def _ranges(options: argparse.Namespace) -> Iterator[Row]:
    from benchmarks.aggregates.ranges import measure_ranges  # noqa: PLC0415 - likewise

    list(measure_ranges(2_000, 10, per_epoch=100, epochs=1))
    return measure_ranges(options.facts, options.groups)


def _graphs(options: argparse.Namespace) -> Iterator[Row]:
    from benchmarks.aggregates.graphs import measure_graphs  # noqa: PLC0415 - likewise

    list(measure_graphs(None, 2_000, repeats=1))
    return measure_graphs(options.data, options.edges)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
