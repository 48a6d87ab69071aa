"""One way to follow changes on one workload, in a process of its own: an epoch per line of JSON, as it ends.

python -m benchmarks.elastic.one WAY PROGRAM FOLDER SIZES SETS SECONDS JOBS
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from benchmarks.elastic.way import WAYS, Way
from benchmarks.epochs.bench import evaluate_plainly, evaluate_without
from benchmarks.epochs.experiments import Plan, thirteen_epochs
from benchmarks.epochs.record import Epoch, EpochKey, Stopwatch, Taken, apply_epoch
from benchmarks.epochs.subject import FactSet, Subject, deletion, insertion, read_program
from tidelog.engine.epoch import MaintenanceSettings, Strategy
from tidelog.engine.protocol import SilentObserver
from tidelog.maintain import LocalMaintainedEngine

# The share of the input that a large change of the 13 epochs has.
_LARGE = 0.1


def run(subject: Subject, way: Way, sizes: list[int], sets: int, seconds: float) -> Iterator[Epoch]:
    """Yield the epochs of growth and the 13 epochs; growth ends after a third of the seconds.

    Every size deletes random input facts and inserts them again, once for every set.
    """
    if way.strategy == "batch":
        yield from _batch(subject)
        return
    engine = subject.maintained_engine()
    watch = Stopwatch()
    engine.evaluate(SilentObserver())
    evaluated = watch.stop()
    settings = MaintenanceSettings(Strategy(way.strategy), by_clock=way.by_clock)
    started, random = time.perf_counter(), np.random.default_rng(1)
    yield _evaluation(subject, evaluated, "first")
    # The first change makes the indexes that changes need, and compiles what it uses.
    for _ in _there_and_back(engine, settings, subject.sample(1, random), EpochKey(subject.name, "", 1, "")):
        pass
    for size in sizes:
        if size > subject.input_size:
            continue
        for seed in range(sets):
            facts = subject.sample(size, random)
            key = EpochKey(subject.name, "growth", size, "", seed)
            yield from _there_and_back(engine, settings, facts, key)
            if time.perf_counter() - started > seconds / 3:
                break
        else:
            continue
        break
    yield _evaluation(subject, evaluated, "elastic")
    for number, (direction, changed) in enumerate(_changes(subject)[1], start=1):
        change = deletion(changed) if direction == "delete" else insertion(changed)
        key = EpochKey(subject.name, "elastic", sum(map(len, changed.values())), direction, number)
        yield apply_epoch(engine, change, settings, key)


def _changes(subject: Subject) -> tuple[FactSet, list[tuple[str, FactSet]]]:
    """Return the large change, and the changes of the 13 epochs: ten facts, fewer of a small input."""
    plan = Plan(large=_LARGE, small=min(10, subject.input_size // 20 + 1))
    return thirteen_epochs(subject, np.random.default_rng(2), plan)


def _there_and_back(
    engine: LocalMaintainedEngine, settings: MaintenanceSettings, facts: FactSet, key: EpochKey
) -> Iterator[Epoch]:
    for direction, change in (("delete", deletion(facts)), ("insert", insertion(facts))):
        yield apply_epoch(engine, change, settings, replace(key, direction=direction))


def _batch(subject: Subject) -> Iterator[Epoch]:
    """Evaluate with all facts and without the large change: small ones make no difference to evaluation."""
    whole = evaluate_plainly(subject)
    yield _evaluation(subject, whole, "first")
    without = evaluate_without(subject, _changes(subject)[0])
    for number in range(13):
        taken = without if 7 <= number <= 11 else whole
        yield _epoch(subject, taken, "elastic", number)


def _evaluation(subject: Subject, taken: Taken, experiment: str) -> Epoch:
    return _epoch(subject, taken, experiment, 0)


def _epoch(subject: Subject, taken: Taken, experiment: str, number: int) -> Epoch:
    size = subject.input_size if not number else 0
    return Epoch(
        subject.name, experiment, "", size, "insert", taken.seconds, taken.cpu_seconds, 0, 0, 1, number
    )


def main() -> None:
    """Run what the arguments name."""
    name, program, folder, sizes, sets, seconds, jobs = sys.argv[1:]
    way = next(each for each in WAYS if each.name == name)
    subject = read_program(Path(program), Path(folder), int(jobs))
    for _ in run(_few(subject), way, [1], 1, 60.0):
        pass
    for epoch in run(subject, way, [int(size) for size in sizes.split(",")], int(sets), float(seconds)):
        print(json.dumps(asdict(epoch)), flush=True)


def _few(subject: Subject) -> Subject:
    """Return the subject with few input facts: going through them compiles what the way needs."""
    inputs = {name: rows[:20] for name, rows in subject.inputs.items()}
    return Subject(subject.name, subject.program, subject.codec, inputs, subject.jobs)


if __name__ == "__main__":
    main()
