"""`python -m benchmarks epochs`: measure what changes cost.

python -m benchmarks epochs cspa100k --data DIR --json out.json --pictures FOLDER
python -m benchmarks epochs galen --experiments small,elastic --sets 5 --data DIR
python -m benchmarks epochs --read out.json other.json --pictures FOLDER
"""

import argparse
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.data import default_cache, facts_folder
from benchmarks.workload import Workload, workloads_named

if TYPE_CHECKING:
    from benchmarks.epochs.record import Epoch
    from benchmarks.epochs.results import Results

# Modules that bring numpy and the engine are imported late: the other commands start processes
# whose memory they measure, and a process is charged with its parent's until it runs.

_EXPERIMENTS: Final = ("small", "one", "growth", "sized", "elastic", "memory")
_STRATEGIES: Final = (
    "auto", "update", "counting", "dred", "dred-counters", "backward-forward", "elastic-lazy",
    "elastic-eager", "recompute",
)  # fmt: skip
_DEFAULT: Final = ("small", "growth", "elastic")
# How many facts the small changes of a workload have; the others change ten.
_SIZES: Final = {"crdt": (10, 40, 100), "crdt_linear": (10, 40, 100), "crdt_jumps": (10, 40, 100)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    data = os.environ.get("TIDELOG_DATA")
    parser.add_argument("names", nargs="*", help="workloads; see `python -m benchmarks list`")
    parser.add_argument(
        "--data", type=Path, default=Path(data) if data else None, help="folder of the data sets"
    )
    parser.add_argument(
        "--cache", type=Path, default=default_cache(), help="folder for unpacked and generated facts"
    )
    parser.add_argument(
        "--experiments", type=_experiments, default=_DEFAULT, help=f"some of {','.join(_EXPERIMENTS)}"
    )
    parser.add_argument(
        "--strategies", type=_strategies, default=("auto",), help="several as auto,dred; or all"
    )
    parser.add_argument("--sets", type=int, default=20, help="random sets of facts for each size")
    parser.add_argument(
        "--sizes", type=_numbers, default=(), help="facts changed at once; several as 1,10,100"
    )
    parser.add_argument("--large", type=float, default=0.1, help="share of the input in a large change")
    parser.add_argument("--jobs", type=int, default=1, help="threads for evaluation from nothing")
    parser.add_argument("--seed", type=int, default=1, help="which random facts are changed")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for a measurement of memory")
    parser.add_argument("--json", type=Path, help="write the measurements here")
    parser.add_argument("--read", type=Path, nargs="+", default=[], help="measurements to take in")
    parser.add_argument("--pictures", type=Path, help="draw growth.png and elastic.png into this folder")


def run_epochs(options: argparse.Namespace) -> int:
    """Measure, print, and keep what was asked for; return the exit status."""
    from benchmarks.epochs.goals import judge  # noqa: PLC0415 - see above
    from benchmarks.epochs.results import read_results, write_results  # noqa: PLC0415 - see above

    results = read_results(options.read)
    subjects = list(_found(options))
    try:
        if "memory" in options.experiments:
            # Before anything else, while this process is small.
            for workload, folder in subjects:
                _measure_memory(workload, folder, options, results)
        for workload, folder in subjects:
            _measure(workload, folder, options, results)
    finally:
        # What was measured before Ctrl-C is worth keeping.
        if options.json is not None:
            write_results(results, options.json)
    for verdict in judge(results):
        print(verdict.line())
    if options.pictures is not None:
        from benchmarks.epochs.pictures import draw_pictures  # noqa: PLC0415 - matplotlib only for pictures

        for path in draw_pictures(results, options.pictures):
            print(path)
    return 0


def _found(options: argparse.Namespace) -> Iterator[tuple[Workload, Path]]:
    for workload in workloads_named(options.names):
        folder = facts_folder(workload, options.data, options.cache)
        if folder is None:
            print(f"{workload.name}: skipped: its data set was not found; see benchmarks/README.md")
        else:
            yield workload, folder


def _measure_memory(
    workload: Workload, folder: Path, options: argparse.Namespace, results: "Results"
) -> None:
    from benchmarks.epochs.footprint import measure_footprints  # noqa: PLC0415 - see above

    for footprint in measure_footprints(workload, folder, options.jobs, options.timeout):
        mebibytes = footprint.peak_bytes / 2**20
        print(f"{workload.name:<14} memory   {footprint.kind:<12} {mebibytes:,.0f} MiB", flush=True)
        results.footprints.append(footprint)


def _measure(workload: Workload, folder: Path, options: argparse.Namespace, results: "Results") -> None:
    from benchmarks.epochs.bench import prepare  # noqa: PLC0415 - see above
    from benchmarks.epochs.experiments import EXPERIMENTS, Plan  # noqa: PLC0415 - see above
    from benchmarks.epochs.results import baseline_line, epoch_lines  # noqa: PLC0415 - see above
    from benchmarks.epochs.subject import read_subject  # noqa: PLC0415 - see above
    from tidelog.engine.epoch import Strategy  # noqa: PLC0415 - see above

    experiments = [name for name in options.experiments if name in EXPERIMENTS]
    strategies = tuple(Strategy(name) for name in options.strategies)
    bench = prepare(read_subject(workload, folder, options.jobs), options.seed)
    results.baselines.append(bench.baseline)
    print(baseline_line(bench.baseline), flush=True)
    for name in experiments:
        sizes = options.sizes or (_SIZES.get(workload.name, ()) if name == "small" else ())
        plan = Plan(options.sets, sizes, strategies, large=options.large)
        measured: list[Epoch] = []
        try:
            measured.extend(EXPERIMENTS[name](bench, plan))
        finally:
            results.epochs += measured
            print("\n".join(epoch_lines(measured, bench.baseline)), flush=True)
    del bench
    gc.collect()


def _experiments(text: str) -> tuple[str, ...]:
    names = _EXPERIMENTS if text == "all" else tuple(text.split(","))
    for name in names:
        if name not in _EXPERIMENTS:
            raise argparse.ArgumentTypeError(
                f"no experiment is called {name}; there are {', '.join(_EXPERIMENTS)}"
            )
    return names


def _strategies(text: str) -> tuple[str, ...]:
    names = _STRATEGIES if text == "all" else tuple(text.split(","))
    for name in names:
        if name not in _STRATEGIES:
            raise argparse.ArgumentTypeError(
                f"no strategy is called {name}; there are {', '.join(_STRATEGIES)}"
            )
    return names


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))
