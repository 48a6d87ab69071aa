"""What following a trace costs, against how much of the trace a change alters."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from benchmarks.joins.graphs import Arcs
from tidelog.engine.epoch import MaintenanceSettings, RelationChange, Strategy
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.maintain import LocalMaintainedEngine
from tidelog.plan.flatten import flatten_rule
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
    """One change of so many facts: what it altered and took, in steps and in CPU seconds.

    `edits` is what the engine altered in its trace, `distance` how much the traces of two joins from
    nothing differ, before the change and after it.
    """

    strategy: str
    facts: int
    edits: int
    steps: int
    seconds: float
    distance: int = 0


def follow(arcs: Arcs, sizes: list[int], strategies: list[str], seed: int = 1) -> Iterator[Epoch]:
    """Take arcs away and put them back, then vertices of `open`, so many at a time."""
    for strategy in strategies:
        random = np.random.default_rng(seed)
        run = _Run(arcs, np.unique(random.choice(np.unique(arcs), (len(arcs), 2)), axis=0))
        run.apply("e", arcs[:1], is_insert=False, strategy=strategy)
        run.apply("e", arcs[:1], is_insert=True, strategy=strategy)
        moves = run.moves()
        for size in sizes:
            for _ in range(_ROUNDS if size < 1_000 else 1):
                chosen = arcs[random.choice(len(arcs), size, replace=False)]
                deletion = run.apply("e", chosen, is_insert=False, strategy=strategy)
                # Putting the arcs back undoes exactly these moves.
                distance = _distance(moves, run.moves())
                yield replace(deletion, distance=distance)
                yield replace(run.apply("e", chosen, is_insert=True, strategy=strategy), distance=distance)


def switch(visits: int, strategies: list[str], rounds: int = 20, seed: int = 1) -> Iterator[Epoch]:
    """Take a place out of `open` and put it back, again and again.

    There are few places with very many visitors each, and few pairs of visitors that count.
    """
    random = np.random.default_rng(seed)
    visitors = visits // 4
    arcs = np.unique(
        np.column_stack([random.integers(100, visitors, visits), random.integers(0, 8, visits)]), axis=0
    )
    far = np.unique(random.integers(100, visitors, (1_000, 2)), axis=0)
    for strategy in strategies:
        run = _Run(arcs, far)
        for round_ in range(rounds):
            for is_insert in (False, True):
                place = np.array([[round_ % 8]])
                yield run.apply("open", place, is_insert=is_insert, strategy=strategy)


class _Run:
    """An engine with the graph in it."""

    def __init__(self, arcs: Arcs, far: Arcs) -> None:
        program = build_program(parse(Source("meet.dl", PROGRAM)))[0]
        self._rule = flatten_rule(program.rules[0], program)
        self._engine = LocalMaintainedEngine(program, Codec(program.types), Settings(jobs=1), {})
        for name, rows in (("e", arcs), ("far", far), ("open", np.unique(arcs[:, 1]).reshape(-1, 1))):
            self._engine.insert(name, _columns(rows))
        self._engine.evaluate(SilentObserver())

    def moves(self) -> list[Arcs]:
        """Return all that a join of the facts as they are now does: the intervals it would record."""
        traces = self._engine.derivations.traces([self._rule])
        traces.record()
        return traces.records()

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
        found = re.search(r"([\d,]+) edits of the trace in ([\d,]+) steps", report.reason)
        edits, steps = (int(text.replace(",", "")) for text in found.groups()) if found else (0, report.work)
        return Epoch(report.strategy.value, len(rows), edits, steps, seconds)


def _columns(rows: Arcs) -> list[Arcs]:
    return [np.ascontiguousarray(rows[:, column]) for column in range(rows.shape[1])]


def _distance(before: list[Arcs], after: list[Arcs]) -> int:
    """Return the number of moves that only one of two traces has."""
    total = 0
    for old, new in zip(before, after, strict=True):
        both = np.sort(np.concatenate([_hashes(old), _hashes(new)]))
        is_pair = both[1:] == both[:-1]
        total += len(both) - 2 * int(np.count_nonzero(is_pair))
    return total


def _hashes(rows: Arcs) -> npt.NDArray[np.uint64]:
    """Return a number for each row that tells it from all others, as far as 64 bits can."""
    found = np.zeros(len(rows), np.uint64)
    for column in range(rows.shape[1]):
        found = (found ^ rows[:, column].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return found


def slope(x: list[float], y: list[float]) -> float:
    """Return the exponent with which y grows with x, 0 if there are too few points to tell."""
    keep = [(a, b) for a, b in zip(x, y, strict=True) if a > 0 and b > 0]
    if len({a for a, _ in keep}) < 2:
        return 0.0
    exponents = np.polyfit(np.log([a for a, _ in keep]), np.log([b for _, b in keep]), 1)
    return float(exponents[0])
