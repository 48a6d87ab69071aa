"""Peak memory of a maintained state against a plain evaluation, a fresh process for each.

python -m benchmarks.epochs.footprint WORKLOAD FOLDER plain|maintained JOBS
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import FIND_US, measure
from benchmarks.workload import WORKLOADS, Workload

_KINDS = ("plain", "maintained")


@dataclass(frozen=True, slots=True)
class Footprint:
    """Peak bytes and CPU seconds of evaluation of one kind; loading counts for the bytes alone."""

    workload: str
    kind: str
    peak_bytes: int
    cpu_seconds: float


def measure_footprints(
    workload: Workload, folder: Path, jobs: int, timeout_seconds: float
) -> list[Footprint]:
    """Return both kinds; a kind whose process failed is missing, and says why on standard error."""
    found = []
    for kind in _KINDS:
        command = [
            sys.executable,
            "-m",
            "benchmarks.epochs.footprint",
            workload.name,
            str(folder),
            kind,
            str(jobs),
        ]
        taken = measure(command, timeout_seconds=timeout_seconds, environment=FIND_US)
        if taken.status != 0:
            print(f"{workload.name}: {kind} failed: {taken.errors[-2000:]}", file=sys.stderr)
            continue
        seconds = json.loads(taken.output)["cpu_seconds"]
        found.append(Footprint(workload.name, kind, taken.peak_bytes, seconds))
    return found


def _evaluate(name: str, folder: Path, kind: str, jobs: int) -> float:
    """Return the CPU seconds of evaluation; a maintained state also goes through small epochs.

    Those make the indexes that changes need, which belong to the state.
    """
    from benchmarks.epochs.bench import Baseline, Bench  # noqa: PLC0415 - the parent must stay small
    from benchmarks.epochs.record import Stopwatch, Taken  # noqa: PLC0415 - see above
    from benchmarks.epochs.subject import read_subject  # noqa: PLC0415 - see above
    from tidelog.engine.epoch import Strategy  # noqa: PLC0415 - see above
    from tidelog.engine.protocol import SilentObserver  # noqa: PLC0415 - see above

    workload = next(workload for workload in WORKLOADS if workload.name == name)
    subject = read_subject(workload, folder, jobs)
    if kind == "plain":
        plain = subject.plain_engine()
        watch = Stopwatch()
        plain.evaluate(SilentObserver())
        return watch.stop().cpu_seconds
    engine = subject.maintained_engine()
    watch = Stopwatch()
    engine.evaluate(SilentObserver())
    taken = watch.stop()
    nothing = Taken(0.0, 0.0)
    bench = Bench(subject, engine, Baseline(name, subject.input_size, 0, nothing, nothing))
    random = bench.random("footprint")
    for seed in range(3):
        facts = subject.sample(min(10, subject.input_size), random)
        for _ in bench.there_and_back(facts, Strategy.AUTO, "footprint", seed):
            pass
    return taken.cpu_seconds


if __name__ == "__main__":
    print(
        json.dumps({"cpu_seconds": _evaluate(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))})
    )
