"""`python -m benchmarks spark`: the engine on Spark beside the local one and a loop of data frames.

python -m benchmarks spark --data DIR --json out.json
python -m benchmarks spark galen --data DIR --epochs
python -m benchmarks spark --driver-memory
python -m benchmarks spark --recovery --kills 100
python -m benchmarks spark cspa100k --data DIR --partner-memory
python -m benchmarks spark cspa100k --data DIR --wire
python -m benchmarks spark tc_usroads --data DIR --loop-seconds 0
"""

import argparse
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.data import default_cache, facts_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Modules that bring numpy and the engine are imported late, as in the other commands.
NAMES: Final = ("csda100k", "cspa100k", "sg_tree9", "tc_g10k", "tc_grid150", "galen")


@dataclass(frozen=True)
class Measured:
    """One workload: wall seconds side by side in one process; `loop` is -1 where it was not asked for.

    CPU seconds are those of this process, of Java and of its workers together; `load` is the machine's
    load average of the last minute, before and after.
    """

    workload: str
    where: str
    local: float
    local_cpu: float
    first: float
    warm: float
    warm_cpu: float
    loop: float
    loop_finished: bool
    is_exact: bool
    load: tuple[float, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    data = os.environ.get("TIDELOG_DATA")
    parser.add_argument("names", nargs="*", default=[], help=f"workloads; {', '.join(NAMES)} by default")
    parser.add_argument(
        "--data", type=Path, default=Path(data) if data else None, help="folder of the data sets"
    )
    parser.add_argument("--cache", type=Path, default=default_cache(), help="folder for unpacked facts")
    parser.add_argument("--partners", type=int, default=2, help="workers, and threads of the local engine")
    parser.add_argument(
        "--loop-seconds", type=float, default=60, help="give the data frames up after this; 0: skip"
    )
    parser.add_argument(
        "--cpu", action="store_true", help="CPU seconds of partners in threads, without Spark"
    )
    parser.add_argument("--epochs", action="store_true", help="measure epochs of resident partners instead")
    parser.add_argument(
        "--driver-memory",
        action="store_true",
        help="the driver's memory while rows and texts go through Spark",
    )
    parser.add_argument(
        "--files", action="store_true", help="with --driver-memory: from files to files, by the command line"
    )
    parser.add_argument("--recovery", action="store_true", help="executors killed in epochs")
    parser.add_argument("--kills", type=int, default=3, help="executors that --recovery kills")
    parser.add_argument("--wire", action="store_true", help="exchanges, messages and bytes between partners")
    parser.add_argument("--partner-memory", action="store_true", help="the memory of each partner")
    parser.add_argument(
        "--rows",
        type=int,
        nargs="*",
        help="rows for --driver-memory, facts for --recovery, partners for --partner-memory and --wire",
    )
    parser.add_argument("--json", type=Path, help="keep the measurements here")


def run_spark(options: argparse.Namespace) -> int:
    """Measure, print and keep what was asked for; return 1 if a size was wrong."""
    from benchmarks.spark.subject import session  # noqa: PLC0415 - see above

    other = _other_measurement(options)
    if other is not None:
        return other(options)
    if options.epochs and options.cpu:
        return _run_epochs_cpu(options)
    if options.epochs:
        from benchmarks.spark.epochs import run_epochs  # noqa: PLC0415 - see above

        return run_epochs(options)
    if options.cpu:
        return _run_cpu(options)
    measured = []
    with session(options.partners) as spark:
        for each in _measure(spark, options):
            measured.append(each)
            print(row(each), flush=True)
            if options.json is not None:
                options.json.write_text(json.dumps([asdict(m) for m in measured], indent=1), "utf-8")
    return 0 if all(each.is_exact for each in measured) else 1


def _other_measurement(options: argparse.Namespace) -> Callable[[argparse.Namespace], int] | None:
    """Return what measures something else than evaluations and epochs, if that was asked for."""
    if options.driver_memory:
        from benchmarks.spark.driver_memory import run_driver_memory  # noqa: PLC0415 - see above

        return run_driver_memory
    if options.partner_memory:
        from benchmarks.spark.partner_memory import run_partner_memory  # noqa: PLC0415 - see above

        return run_partner_memory
    if options.recovery:
        from benchmarks.spark.recovery import run_recovery  # noqa: PLC0415 - see above

        return run_recovery
    if options.wire:
        from benchmarks.spark.wire import run_wire  # noqa: PLC0415 - see above

        return run_wire
    return None


def _run_cpu(options: argparse.Namespace) -> int:
    """Print the CPU seconds of partners beside those of one thread of the local engine."""
    from benchmarks.spark.subject import SUBJECTS, Subject  # noqa: PLC0415 - see above
    from benchmarks.spark.threads import local_cpu, partners_cpu  # noqa: PLC0415 - see above

    is_exact = True
    for name in options.names or NAMES:
        folder = facts_folder(SUBJECTS[name], options.data, options.cache)
        if folder is None:
            print(f"{name}: skipped: its data set was not found; see benchmarks/README.md")
            continue
        subject = Subject.read(name, folder)
        local = min(local_cpu(subject) for _ in range(2))
        seconds, sizes = min(partners_cpu(subject, options.partners) for _ in range(2))
        is_exact &= sizes == dict(SUBJECTS[name].expected)
        each = ", ".join(f"{one:.2f}" for one in seconds)
        verdict = "exact" if sizes == dict(SUBJECTS[name].expected) else "WRONG SIZES"
        print(
            f"{name:<12} {verdict}; local {local:.2f} CPU s; {options.partners} partners {each} CPU s, "
            f"the slowest {max(seconds) / local:.2f}x",
            flush=True,
        )
    return 0 if is_exact else 1


def _run_epochs_cpu(options: argparse.Namespace) -> int:
    """Print the CPU seconds of epochs beside those of an evaluation, partners in threads."""
    import statistics  # noqa: PLC0415 - only here

    from benchmarks.spark.subject import SUBJECTS, Subject  # noqa: PLC0415 - see above
    from benchmarks.spark.threads import epochs_cpu  # noqa: PLC0415 - see above

    for name in options.names or ("cspa100k",):
        folder = facts_folder(SUBJECTS[name], options.data, options.cache)
        if folder is None:
            print(f"{name}: skipped: its data set was not found; see benchmarks/README.md")
            continue
        first, epochs = epochs_cpu(Subject.read(name, folder), options.partners)
        usual = statistics.median(epochs)
        each = ", ".join(f"{one * 1000:.0f}" for one in epochs)
        print(
            f"{name}: evaluation {first:.2f} CPU s of the slowest of {options.partners} partners; epochs "
            f"of ten facts {each} ms, median {usual * 1000:.0f} ms: 1/{first / usual:.0f}",
            flush=True,
        )
    return 0


def _measure(spark: "SparkSession", options: argparse.Namespace) -> Iterator[Measured]:
    from benchmarks.spark.cpu import CpuMeter  # noqa: PLC0415 - see above
    from benchmarks.spark.subject import SUBJECTS, Subject  # noqa: PLC0415 - see above

    for name in options.names or NAMES:
        folder = facts_folder(SUBJECTS[name], options.data, options.cache)
        if folder is None:
            print(f"{name}: skipped: its data set was not found; see benchmarks/README.md")
            continue
        subject = Subject.read(name, folder)
        load = os.getloadavg()[0]
        # Each engine once to compile and to start workers, then once more.
        subject.local(options.partners)
        first, _, _ = subject.spark(spark, options.partners)
        with CpuMeter() as local_cpu:
            local, sizes = subject.local(options.partners)
        with CpuMeter() as warm_cpu:
            warm, found, where = subject.spark(spark, options.partners)
        expected = SUBJECTS[name].expected
        loop, loop_sizes = -1.0, None
        if options.loop_seconds > 0:
            loop, loop_sizes = subject.loop(spark, options.loop_seconds)
        is_exact = dict(sizes) == dict(found) == dict(expected)
        is_exact &= loop_sizes is None or dict(expected).items() <= dict(loop_sizes).items()
        yield Measured(
            name, where, local, local_cpu.seconds, first, warm, warm_cpu.seconds,
            loop, loop_sizes is not None, is_exact,
            (round(load, 2), round(os.getloadavg()[0], 2)),
        )  # fmt: skip


def row(each: Measured) -> str:
    """Return a measurement as a line."""
    finished = "" if each.loop_finished else "+ (given up)"
    loop = "" if each.loop < 0 else f"; data frames {each.loop:.1f}{finished} s, {each.loop / each.warm:.0f}x"
    sizes = "exact" if each.is_exact else "WRONG SIZES"
    return (
        f"{each.workload:<12} {each.where:<11} {sizes}; local {each.local:.2f} s (CPU {each.local_cpu:.1f}); "
        f"Spark {each.warm:.2f} s warm (CPU {each.warm_cpu:.1f}), {each.first:.2f} s at first: "
        f"{each.warm / each.local:.2f}x, CPU {each.warm_cpu / each.local_cpu:.2f}x{loop}; "
        f"load {each.load[0]} to {each.load[1]}"
    )
