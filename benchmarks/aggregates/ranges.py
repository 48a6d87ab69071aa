"""Aggregates over ranges in rules: microseconds for a new window, and for a changed fact."""

from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np

from benchmarks.aggregates.engines import Columns, Engine, chosen, none

PROGRAM = """
.decl reading(t: number, v: number)
.input reading
.decl window(lo: number, hi: number)
.input window
.decl total(lo: number, hi: number, s: number)
total(lo, hi, s) :- window(lo, hi), s = {aggregate} : {{ reading(t, v), lo <= t, t < hi }}.
"""
AGGREGATES = {"count": "count", "sum": "sum v", "max": "max v"}


def measure_ranges(
    facts: int, windows: int, per_epoch: int = 1_000, epochs: int = 7
) -> Iterator[dict[str, Any]]:
    """Yield, for each aggregate, CPU microseconds of a question and of a change.

    A question is a new window over any range. A change is a fact inserted or deleted: it is in one of the
    narrow windows, which together cover all facts once.
    """
    for name, aggregate in AGGREGATES.items():
        measured = _one(aggregate, facts, windows, (per_epoch, epochs))
        yield {"aggregate": name, "facts": facts, "windows": windows, **measured}


def _one(aggregate: str, facts: int, windows: int, sizes: tuple[int, int]) -> dict[str, Any]:
    per_epoch, epochs = sizes
    random = np.random.default_rng(7)
    reading = [random.permutation(facts), random.integers(0, 1_000_000, facts)]
    ends = np.linspace(0, facts, windows + 1).astype(np.int64)
    engine = Engine(PROGRAM.format(aggregate=aggregate))
    begun = engine.start({"reading": reading, "window": [ends[:-1], ends[1:]]})
    changes, single, questions = [], [], []
    for _ in range(epochs):
        some = chosen(reading, random.choice(facts, per_epoch, replace=False))
        one = [column[:1] for column in some]
        changes += _deleted_and_inserted(engine, "reading", some)
        single += _deleted_and_inserted(engine, "reading", one)
    for _ in range(epochs):
        asked = np.sort(random.integers(0, facts, (2, per_epoch)), axis=0)
        opened = list(np.unique(asked, axis=1))
        questions.append(engine.change("window", opened, none(opened)) / opened[0].size)
        engine.change("window", none(opened), opened)
    return {
        "evaluate_s": begun,
        "question_us": 1e6 * median(questions),
        "change_us": 1e6 * median(changes) / per_epoch,
        "change_alone_us": 1e6 * median(single),
    }


def _deleted_and_inserted(engine: Engine, relation: str, facts: Columns) -> list[float]:
    """Delete facts and insert them again; return the seconds of both epochs."""
    return [
        engine.change(relation, none(facts), facts),
        engine.change(relation, facts, none(facts)),
    ]
