"""Grouped aggregates: how many changes a second in bulk epochs, and small epochs beside a recompute."""

from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np

from benchmarks.aggregates.engines import Engine, chosen, none
from tidelog.engine.epoch import Strategy
from tidelog.values.codes import floats_to_codes

PROGRAM = """
.decl pay(d: number, n: number, w: {type})
.input pay
.decl dept(d: number)
.input dept
.decl total(d: number, s: {result})
total(d, s) :- dept(d), s = {aggregate} : {{ pay(d, _, w) }}.
"""
AGGREGATES = {
    "count": ("number", "number", "count"),
    "sum": ("number", "number", "sum w"),
    "sum of floats": ("float", "float", "sum w"),
    "mean": ("number", "float", "mean w"),
    "min": ("number", "number", "min w"),
    "max": ("number", "number", "max w"),
}


def measure_groups(facts: int, groups: int, epochs: int = 5) -> Iterator[dict[str, Any]]:
    """Yield, for each aggregate, changes per CPU second and what a small epoch takes.

    A bulk epoch deletes half of the facts and inserts as many others: every fact is one change.
    """
    for name in AGGREGATES:
        yield {"aggregate": name, "facts": facts, "groups": groups, **_one(name, facts, groups, epochs)}


def _one(name: str, facts: int, groups: int, epochs: int) -> dict[str, Any]:
    kind, result, aggregate = AGGREGATES[name]
    random = np.random.default_rng(7)
    values = random.integers(0, 1_000_000, facts)
    if kind == "float":
        values = floats_to_codes(values / 7.0)
    pay = [random.integers(0, groups, facts), np.arange(facts), values]
    engine = Engine(PROGRAM.format(type=kind, result=result, aggregate=aggregate))
    batch = engine.start({"pay": pay, "dept": [np.arange(groups)]})
    old = chosen(pay, np.arange(facts // 2))
    new = [old[0], old[1] + facts, old[2]]
    bulk = []
    for _ in range(epochs):
        bulk.append(engine.change("pay", new, old))
        old, new = new, old
    small, whole = [], []
    for _ in range(20):
        rows = random.choice(np.arange(facts // 2, facts), 10, replace=False)
        some = chosen(pay, rows)
        small.append(engine.change("pay", none(pay), some))
        small.append(engine.change("pay", some, none(pay)))
    for _ in range(3):
        whole.append(engine.change("pay", none(pay), some, Strategy.RECOMPUTE))
        engine.change("pay", some, none(pay))
    return {
        "evaluate_s": batch,
        "bulk_changes_per_s": int(facts / median(bulk)),
        "bulk_us_per_change": 1e6 * median(bulk) / facts,
        "ten_changes_ms": 1e3 * median(small),
        "recompute_over_ten": median(whole) / median(small),
    }
