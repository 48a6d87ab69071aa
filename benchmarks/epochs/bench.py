"""A bootstrapped engine with what it is measured against."""

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from benchmarks.epochs.record import Epoch, EpochKey, Stopwatch, Taken, apply_epoch
from benchmarks.epochs.subject import FactSet, Subject, deletion, insertion
from tidelog.engine.epoch import MaintenanceSettings, Strategy
from tidelog.engine.protocol import SilentObserver
from tidelog.maintain import LocalMaintainedEngine

# Rows of each input relation in a run that only compiles kernels.
_FEW_ROWS: Final = 20


@dataclass(frozen=True, slots=True)
class Baseline:
    """A workload from nothing: its sizes, and what evaluating it takes."""

    workload: str
    input_facts: int
    facts: int
    # Plain evaluation, which keeps no annotations.
    batch: Taken
    # Evaluation that leaves a state ready for changes.
    bootstrap: Taken

    @property
    def derived_facts(self) -> int:
        """Return the facts beyond those given."""
        return max(self.facts - self.input_facts, 1)


@dataclass(frozen=True)
class Bench:
    """One engine that all experiments on a workload share; every experiment leaves it as it was."""

    subject: Subject
    engine: LocalMaintainedEngine
    baseline: Baseline
    seed: int = 1

    def random(self, experiment: str) -> np.random.Generator:
        """Return the random numbers of an experiment, the same whatever else is measured."""
        return np.random.default_rng([self.seed, *experiment.encode()])

    def in_turn(self, strategies: Sequence[Strategy]) -> Iterator[Strategy]:
        """Yield each strategy when it is its turn, after an epoch that makes what it needs.

        What one strategy keeps another lets go (recomputing replaces relations, counting keeps
        more about each fact), so that strategies in alternation would pay for each other.
        """
        for strategy in strategies:
            if strategy is not Strategy.RECOMPUTE:
                facts = self.subject.sample(min(10, self.subject.input_size), self.random("warm"))
                first = Strategy.UPDATE if strategy is Strategy.AUTO else strategy
                for _ in self.there_and_back(facts, first, "warm"):
                    pass
            yield strategy

    def there_and_back(
        self, facts: FactSet, strategy: Strategy, experiment: str, seed: int = 0
    ) -> Iterator[Epoch]:
        """Delete input facts and insert them again; yield both epochs."""
        size = sum(map(len, facts.values()))
        for direction, change in (("delete", deletion(facts)), ("insert", insertion(facts))):
            key = EpochKey(self.subject.name, experiment, size, direction, seed)
            yield apply_epoch(self.engine, change, MaintenanceSettings(strategy), key)


def evaluate_without(subject: Subject, facts: FactSet) -> Taken:
    """Return what evaluating the inputs without these facts takes, from nothing and plainly."""
    left = {}
    for name, rows in subject.inputs.items():
        deleted = facts.get(name)
        if deleted is None:
            left[name] = rows
            continue
        both = np.concatenate([rows, deleted])
        distinct, counts = np.unique(both, axis=0, return_counts=True)
        left[name] = distinct[counts == 1]
    return evaluate_plainly(replace(subject, inputs=left))


def prepare(subject: Subject, seed: int = 1) -> Bench:
    """Return a bench: evaluate plainly, then for maintenance; compiling kernels counts for neither."""
    _compile_kernels(subject)
    batch = evaluate_plainly(subject)
    engine = subject.maintained_engine()
    watch = Stopwatch()
    engine.evaluate(SilentObserver())
    bootstrap = watch.stop()
    facts = sum(engine.size(name) for name in subject.program.relations)
    return Bench(subject, engine, Baseline(subject.name, subject.input_size, facts, batch, bootstrap), seed)


def _compile_kernels(subject: Subject) -> None:
    """Go once through everything with a few facts, so that what is compiled is compiled now."""
    few = replace(subject, inputs={name: rows[:_FEW_ROWS] for name, rows in subject.inputs.items()})
    evaluate_plainly(few)
    engine = few.maintained_engine()
    engine.evaluate(SilentObserver())
    nothing = Taken(0.0, 0.0)
    bench = Bench(few, engine, Baseline(few.name, few.input_size, 0, nothing, nothing))
    for strategy in (Strategy.UPDATE, Strategy.RECOMPUTE):
        for _ in bench.there_and_back(
            few.sample(min(10, few.input_size), bench.random("warm")), strategy, "warm"
        ):
            pass


def evaluate_plainly(subject: Subject) -> Taken:
    """Return what evaluation without annotations takes."""
    engine = subject.plain_engine()
    watch = Stopwatch()
    engine.evaluate(SilentObserver())
    taken = watch.stop()
    del engine
    gc.collect()
    return taken
