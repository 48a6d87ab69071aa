"""`python -m benchmarks faults`: blame and repair against delta debugging, shaped as Table 6.1 of the thesis.

python -m benchmarks faults doop galen cspa100k crdt_steps --data DIR --json out.json
python -m benchmarks faults --read out.json
"""

import argparse
import gc
import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.data import default_cache, facts_folder
from benchmarks.workload import Workload, workloads_named

if TYPE_CHECKING:
    from benchmarks.faults.measure import Measured

# Modules that bring numpy and the engine are imported late: the other commands start processes
# whose memory they measure, and a process is charged with its parent's until it runs.

NAMES: Final = ("doop", "galen", "cspa100k", "crdt_steps")
_CASES: Final = 11
_WANTED: Final = 100.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    data = os.environ.get("TIDELOG_DATA")
    parser.add_argument("names", nargs="*", default=[], help=f"workloads; {', '.join(NAMES)} by default")
    parser.add_argument(
        "--data", type=Path, default=Path(data) if data else None, help="folder of the data sets"
    )
    parser.add_argument("--cache", type=Path, default=default_cache(), help="folder for unpacked facts")
    parser.add_argument("--cases", type=int, default=_CASES, help="cases of each workload")
    parser.add_argument(
        "--ddmin-seconds", type=float, default=60.0, help="CPU seconds after which delta debugging is cut off"
    )
    parser.add_argument("--evaluation", type=float, help="CPU seconds of an evaluation measured before")
    parser.add_argument(
        "--evaluating", type=int, nargs="*", default=[], metavar="CASE",
        help="cases of which delta debugging is also run with an evaluation for every probe",
    )  # fmt: skip
    parser.add_argument(
        "--evaluating-seconds", type=float, default=120.0, help="CPU seconds after which that is cut off"
    )
    parser.add_argument("--seed", type=int, default=1, help="which random facts are changed")
    parser.add_argument("--json", type=Path, help="keep the measurements here; cases in it are not run again")
    parser.add_argument("--read", type=Path, nargs="+", default=[], help="measurements to take in")


def run_faults(options: argparse.Namespace) -> int:
    """Measure, print and keep what was asked for; return the exit status."""
    from benchmarks.faults.measure import Measured  # noqa: PLC0415 - see above

    measured = [Measured(**each) for path in options.read for each in json.loads(path.read_text("utf-8"))]
    if options.json is not None and options.json.exists():
        measured += [Measured(**each) for each in json.loads(options.json.read_text("utf-8"))]
    for workload in workloads_named(options.names or (() if options.read else NAMES)):
        folder = facts_folder(workload, options.data, options.cache)
        if folder is None:
            print(f"{workload.name}: skipped: its data set was not found; see benchmarks/README.md")
            continue
        for each in _measure(workload, folder, options, {(m.workload, m.number) for m in measured}):
            measured.append(each)
            print(row(each), flush=True)
            if options.json is not None:
                options.json.write_text(json.dumps([m.to_json() for m in measured], indent=1), "utf-8")
    print("\n".join(table(measured)))
    return 0


def _measure(
    workload: Workload, folder: Path, options: argparse.Namespace, done: set[tuple[str, int]]
) -> Iterator["Measured"]:
    from benchmarks.epochs.bench import evaluate_plainly  # noqa: PLC0415 - see above
    from benchmarks.epochs.subject import read_subject  # noqa: PLC0415 - see above
    from benchmarks.faults.cases import draw_epochs  # noqa: PLC0415 - see above
    from benchmarks.faults.measure import How, measure_case  # noqa: PLC0415 - see above
    from tidelog.engine.protocol import SilentObserver  # noqa: PLC0415 - see above

    numbers = [number for number in range(options.cases) if (workload.name, number) not in done]
    if not numbers:
        return
    subject = read_subject(workload, folder, 1)
    evaluation = options.evaluation or evaluate_plainly(subject).cpu_seconds
    engine = subject.maintained_engine()
    engine.evaluate(SilentObserver())
    print(f"{workload.name}: an evaluation takes {evaluation:.2f} CPU s", flush=True)
    for number, epoch in draw_epochs(subject, engine, numbers, options.seed):
        evaluating = options.evaluating_seconds if number + 1 in options.evaluating else 0.0
        how = How(evaluation, options.ddmin_seconds, evaluating)
        yield measure_case(subject, engine, number, epoch, how)
    del engine, subject
    gc.collect()


def table(measured: Sequence["Measured"]) -> Iterator[str]:
    """Yield the table in Markdown, and what it comes to."""
    if not measured:
        return
    yield (
        "| case | faults (unwanted + missing) | facts changed | size | repair | blame | ddmin size |"
        " ddmin, evaluating | ddmin, trial epochs | speedup | over trial epochs |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    yield from map(row, measured)
    evaluating, trials = (
        geometric_mean([getattr(each, name) for each in measured]) for name in ("speedup", "trial_speedup")
    )
    yield ""
    yield f"{len(measured)} cases, speedup over evaluating ddmin: {evaluating:,.0f} (wanted {_WANTED:,.0f})"
    yield f"speedup over ddmin by trial epochs: {trials:,.1f}"
    yield f"slower than evaluating ddmin: {sum(each.speedup < 1 for each in measured)} (wanted 0)"
    yield f"slower than ddmin by trial epochs: {sum(each.trial_speedup < 1 for each in measured)}"
    yield f"larger than ddmin's: {sum(each.size > each.ddmin_size > 0 for each in measured)} (wanted 0)"
    yield f"smaller than ddmin's: {sum(each.size < each.ddmin_size for each in measured)}"
    yield f"proven optimal: {sum(each.is_optimal for each in measured)}"


def row(each: "Measured") -> str:
    """Return one line of the table; a plus says that delta debugging was cut off, a star that it was run."""
    more = "+" if each.is_cut_off else ""
    run = "*" if each.evaluated_size else ""
    return (
        f"| {each.workload} {each.number + 1} | {each.unwanted} + {each.missing} | {each.changed_facts:,}"
        f" | {each.size}{'' if each.is_optimal else '?'} | {each.repair_seconds:.3f} s"
        f" | {each.blame_seconds:.3f} s"
        f" | {each.ddmin_size or '-'} | {each.evaluating_ddmin_seconds:,.1f}{run or more} s"
        f" | {each.ddmin_seconds:.2f}{more} s | {each.speedup:,.0f}{more} | {each.trial_speedup:,.1f}{more} |"
    )


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))
