"""`python -m benchmarks spark`: the engine on Spark beside the local one and a loop of data frames.

python -m benchmarks spark --data DIR --json out.json
python -m benchmarks spark galen --data DIR --epochs
python -m benchmarks spark --driver-memory
python -m benchmarks spark --recovery --kills 100
python -m benchmarks spark --kills 100
python -m benchmarks spark cspa100k --data DIR --partner-memory
python -m benchmarks spark cspa100k --data DIR --wire
python -m benchmarks spark tc_usroads --data DIR --loop-seconds 0
python -m benchmarks spark cspa100k --data DIR --master 'local-cluster[2,1,4096]'
"""

import argparse
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks.data import default_cache, facts_folder

# Modules that bring numpy and the engine are imported late, as in the other commands.
NAMES: Final = ("csda100k", "cspa100k", "sg_tree9", "tc_g10k", "tc_grid150", "galen")


@dataclass(frozen=True)
class Measured:
    """One workload: wall seconds, each engine in a process of its own; `loop` is -1 if it was not asked for.

    CPU seconds and memory are those of an engine's process, of Java and of its workers together; `load` is
    the machine's load average of the last minute, before and after.
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
    local_peak_bytes: int
    spark_peak_bytes: int
    loop_peak_bytes: int


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
        "--master", help="Spark's master, such as `local-cluster[2,1,4096]`; `local[PARTNERS]` by default"
    )
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
    parser.add_argument(
        "--kills",
        type=int,
        default=0,
        help="with --recovery: executors to kill, 3 by default; alone: kills of every sort in turn",
    )
    parser.add_argument("--hang-seconds", type=float, default=300, help="with --kills: what is hung")
    parser.add_argument("--wire", action="store_true", help="exchanges, messages and bytes between partners")
    parser.add_argument("--partner-memory", action="store_true", help="the memory of each partner")
    parser.add_argument(
        "--rows",
        type=int,
        nargs="*",
        help="rows for --driver-memory, facts for --recovery and --kills, partners for the others",
    )
    parser.add_argument("--json", type=Path, help="keep the measurements here")


def run_spark(options: argparse.Namespace) -> int:
    """Measure, print and keep what was asked for; return 1 if a size was wrong."""
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
    measured, is_complete = [], True
    for each in _measure(options):
        is_complete &= each is not None
        if each is None:
            continue
        measured.append(each)
        print(row(each), flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps([asdict(m) for m in measured], indent=1), "utf-8")
    return 0 if is_complete and all(each.is_exact for each in measured) else 1


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
    if options.kills:
        from benchmarks.spark.kills import run_kills  # noqa: PLC0415 - see above

        return run_kills
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


def _measure(options: argparse.Namespace) -> Iterator[Measured | None]:
    """Yield each workload as it was measured; None if an engine's process did not live to the end."""
    from benchmarks.spark.alone import ENGINES, Alone, Place, measure_alone  # noqa: PLC0415 - see above
    from benchmarks.spark.subject import SUBJECTS  # noqa: PLC0415 - see above

    place = Place(options.partners, options.master, options.loop_seconds)
    for name in options.names or NAMES:
        folder = facts_folder(SUBJECTS[name], options.data, options.cache)
        if folder is None:
            print(f"{name}: skipped: its data set was not found; see benchmarks/README.md")
            continue
        load = os.getloadavg()[0]
        found: dict[str, Alone | None] = {
            engine: measure_alone(engine, name, folder, place)
            for engine in ENGINES
            if engine != "loop" or options.loop_seconds > 0
        }
        lost = [engine for engine, each in found.items() if each is None]
        if lost:
            print(f"{name}: the process of {' and '.join(lost)} was killed", flush=True)
            yield None
            continue
        local, spark, loop = found["local"], found["spark"], found.get("loop")
        assert local is not None
        assert spark is not None
        expected = dict(SUBJECTS[name].expected)
        is_exact = local.sizes == spark.sizes == expected
        is_exact &= loop is None or loop.sizes is None or expected.items() <= loop.sizes.items()
        yield Measured(
            name, spark.where, local.warm, local.cpu, spark.first, spark.warm, spark.cpu,
            -1.0 if loop is None else loop.warm, loop is not None and loop.sizes is not None, is_exact,
            (round(load, 2), round(os.getloadavg()[0], 2)),
            local.peak_bytes, spark.peak_bytes, 0 if loop is None else loop.peak_bytes,
        )  # fmt: skip


def row(each: Measured) -> str:
    """Return a measurement as a line."""
    finished = "" if each.loop_finished else "+ (given up)"
    loop = ""
    if each.loop >= 0:
        held = f"{_gib(each.loop_peak_bytes)} GiB"
        loop = f"; data frames {each.loop:.1f}{finished} s, {each.loop / each.warm:.0f}x, {held}"
    sizes = "exact" if each.is_exact else "WRONG SIZES"
    return (
        f"{each.workload:<12} {each.where:<11} {sizes}; local {each.local:.2f} s (CPU {each.local_cpu:.1f}); "
        f"Spark {each.warm:.2f} s warm (CPU {each.warm_cpu:.1f}), {each.first:.2f} s at first: "
        f"{each.warm / each.local:.2f}x, CPU {each.warm_cpu / each.local_cpu:.2f}x; "
        f"memory {_gib(each.local_peak_bytes)} GiB and {_gib(each.spark_peak_bytes)} GiB{loop}; "
        f"load {each.load[0]} to {each.load[1]}"
    )


def _gib(count: int) -> str:
    return f"{count / 2**30:.2f}"
