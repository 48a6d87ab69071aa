"""What following a trace costs, against how much of the trace a change alters."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.joins.graphs import Arcs
from tidelog.engine.epoch import MaintenanceSettings, RelationChange, Strategy
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.maintain import MaintainedEngine
from tidelog.program import build_program
from tidelog.source import Source
from tidelog.syntax import parse
from tidelog.values import Codec

# A fact of `open` takes part in few of the bindings that the two other atoms of its vertex have.
PROGRAM = """
.decl e(x: number, y: number)
.decl far(x: number, y: number)
.decl open(z: number)
.input e, far, open
.decl meet(x: number, y: number)
meet(x, y) :- far(x, y), e(x, z), e(y, z), open(z).
"""
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Epoch:
    """One change of so many facts: what it altered and took, in steps and in CPU seconds."""

    strategy: str
    facts: int
    edits: int
    steps: int
    seconds: float


def follow(arcs: Arcs, sizes: list[int], strategies: list[str], seed: int = 1) -> Iterator[Epoch]:
    """Take arcs away and put them back, then vertices of `open`, so many at a time."""
    for strategy in strategies:
        random = np.random.default_rng(seed)
        run = _Run(arcs, random)
        run.apply("e", arcs[:1], is_insert=False, strategy=strategy)
        run.apply("e", arcs[:1], is_insert=True, strategy=strategy)
        for size in sizes:
            for _ in range(_ROUNDS if size < 10_000 else 1):
                chosen = arcs[random.choice(len(arcs), size, replace=False)]
                for is_insert in (False, True):
                    yield run.apply("e", chosen, is_insert=is_insert, strategy=strategy)


def switch(arcs: Arcs, strategies: list[str], rounds: int = 20, seed: int = 1) -> Iterator[Epoch]:
    """Take a vertex out of `open` and put it back, again and again."""
    for strategy in strategies:
        random = np.random.default_rng(seed)
        run = _Run(arcs, random)
        vertices = np.unique(arcs[:, 1])
        for _ in range(rounds):
            chosen = random.choice(vertices, 1).reshape(1, 1)
            for is_insert in (False, True):
                yield run.apply("open", chosen, is_insert=is_insert, strategy=strategy)


class _Run:
    """An engine with the graph in it."""

    def __init__(self, arcs: Arcs, random: np.random.Generator) -> None:
        program = build_program(parse(Source("meet.dl", PROGRAM)))[0]
        self._engine = MaintainedEngine(program, Codec(program.types), Settings(jobs=1), {})
        vertices = np.unique(arcs)
        far = np.unique(random.choice(vertices, (len(arcs), 2)), axis=0)
        for name, rows in (("e", arcs), ("far", far), ("open", np.unique(arcs[:, 1]).reshape(-1, 1))):
            self._engine.insert(name, _columns(rows))
        self._engine.evaluate(SilentObserver())

    def apply(self, name: str, rows: Arcs, *, is_insert: bool, strategy: str) -> Epoch:
        nothing = [np.empty(0, np.int64)] * rows.shape[1]
        columns = _columns(rows)
        change = RelationChange(columns, nothing) if is_insert else RelationChange(nothing, columns)
        settings = MaintenanceSettings(Strategy(strategy))
        apply = partial(self._engine.apply, {name: change}, settings, SilentObserver())
        start = time.process_time()
        result = apply()
        seconds = time.process_time() - start
        report = next(report for report in result.strata if "meet" in report.relations)
        said = re.search(r"([\d,]+) edits of the trace in ([\d,]+) steps", report.reason)
        edits, steps = (int(text.replace(",", "")) for text in said.groups()) if said else (0, report.work)
        return Epoch(report.strategy.value, len(rows), edits, steps, seconds)


def _columns(rows: Arcs) -> list[Arcs]:
    return [np.ascontiguousarray(rows[:, column]) for column in range(rows.shape[1])]


def slope(x: list[float], y: list[float]) -> float:
    """Return the exponent with which y grows with x."""
    keep = [(a, b) for a, b in zip(x, y, strict=True) if a > 0 and b > 0]
    exponents = np.polyfit(np.log([a for a, _ in keep]), np.log([b for _, b in keep]), 1)
    return float(exponents[0])
