"""Epochs of resident partners against evaluating everything again."""

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np

from benchmarks.data import facts_folder
from benchmarks.spark.subject import SUBJECTS, Subject, session
from tidelog.engine.epoch import Action, MaintenanceSettings, RelationChange
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.engine.spark.options import SparkOptions
from tidelog.maintain.spark import SparkMaintainedEngine


def run_epochs(options: argparse.Namespace) -> int:
    """Print what epochs of ten deleted and then inserted facts take; return the exit status."""
    found = []
    with session(2 * options.partners, options.master) as spark:
        for name in options.names or ("galen",):
            folder = facts_folder(SUBJECTS[name], options.data, options.cache)
            if folder is None:
                print(f"{name}: skipped: its data set was not found; see benchmarks/README.md")
                continue
            each = _measure(Subject.read(name, folder), SparkOptions(spark, options.partners, resident=True))
            found.append({"workload": name, **each})
            print(json.dumps(found[-1]), flush=True)
    if options.json is not None:
        Path(options.json).write_text(json.dumps(found, indent=1), "utf-8")
    return 0


def _measure(subject: Subject, options: SparkOptions, epochs: int = 6, facts: int = 10) -> dict[str, object]:
    engine = SparkMaintainedEngine(subject.program, subject.codec, Settings(jobs=1), {}, options)
    for name, columns in subject.facts:
        engine.insert(name, columns)
    begun = time.perf_counter()
    engine.evaluate(SilentObserver())
    first = time.perf_counter() - begun
    sizes = {name: engine.size(name) for name in subject.workload.expected}
    assert sizes == dict(subject.workload.expected), sizes
    draw = np.random.default_rng(1)
    seconds, changed, recomputed = [], [], []
    for _ in range(epochs):
        name, columns = subject.facts[int(draw.integers(len(subject.facts)))]
        numbers = draw.choice(len(columns[0]), facts, replace=False)
        some = [column[numbers] for column in columns]
        nothing = [column[:0] for column in some]
        for change in (RelationChange(nothing, some), RelationChange(some, nothing)):
            begun = time.perf_counter()
            result = engine.apply({name: change}, MaintenanceSettings(), SilentObserver())
            seconds.append(time.perf_counter() - begun)
            moved = (*result.inserted.values(), *result.deleted.values())
            changed.append(sum(len(part[0]) for part in moved))
            recomputed.append(any(each.action is Action.RECOMPUTED for each in result.strata))
    begun = time.perf_counter()
    engine.evaluate(SilentObserver())
    again = time.perf_counter() - begun
    assert {name: engine.size(name) for name in sizes} == sizes
    engine.close()
    # The first epoch plans, and builds the indexes that epochs look things up in.
    usual = statistics.median(seconds[1:])
    return {
        "first evaluation": round(first, 2), "evaluation again": round(again, 2),
        "first epoch": round(seconds[0], 3), "epochs": [round(each, 3) for each in seconds[1:]],
        "changed facts": changed, "recomputed": sum(recomputed),
        "median epoch": round(usual, 4), "ratio": round(again / usual, 1),
    }  # fmt: skip
