"""The experiments: each yields the epochs it measured and leaves the state as it found it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.epochs.bench import Bench, evaluate_without
from benchmarks.epochs.record import Epoch, EpochKey, apply_epoch
from benchmarks.epochs.subject import FactSet, Subject, deletion, insertion
from tidelog.engine.epoch import MaintenanceSettings, Strategy

# A strategy that took this many times a plain evaluation is not tried on larger changes.
_GIVE_UP_FACTOR: Final = 3.0
# Shares of the input that changes of any size have.
_SHARES: Final = (1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 0.6)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of an experiment is run."""

    sets: int = 20
    sizes: tuple[int, ...] = ()
    strategies: tuple[Strategy, ...] = (Strategy.AUTO,)
    small: int = 10
    # The share of the input that a large change deletes.
    large: float = 0.1


def small(bench: Bench, plan: Plan) -> Iterator[Epoch]:
    """Delete a few random input facts and insert them back, once for every set and size."""
    for strategy in bench.in_turn(plan.strategies):
        random = bench.random("small")
        for size in plan.sizes or (plan.small,):
            for seed in range(plan.sets):
                facts = bench.subject.sample(min(size, bench.subject.input_size), random)
                yield from bench.there_and_back(facts, strategy, "small", seed)


def one(bench: Bench, plan: Plan) -> Iterator[Epoch]:
    """Change one input fact at a time, ten times as many as there are sets."""
    for strategy in bench.in_turn(plan.strategies):
        random = bench.random("one")
        for seed in range(10 * plan.sets):
            yield from bench.there_and_back(bench.subject.sample(1, random), strategy, "one", seed)


def growth(bench: Bench, plan: Plan) -> Iterator[Epoch]:
    """Change 1, 10, 100, ... input facts up to the large share, under every strategy.

    The larger the change the fewer the sets: the time follows the change, and so does what
    chance can do to it.
    """
    limit = _GIVE_UP_FACTOR * bench.baseline.batch.cpu_seconds
    sizes = plan.sizes or growth_sizes(bench.subject.input_size, plan.large)
    for strategy in bench.in_turn(plan.strategies):
        random = bench.random("growth")
        for place, size in enumerate(sizes):
            # Recomputing takes about the same every time.
            sets = 1 if strategy is Strategy.RECOMPUTE else max(2, plan.sets // (place + 1))
            slowest = 0.0
            for seed in range(sets):
                facts = bench.subject.sample(size, random)
                for epoch in bench.there_and_back(facts, strategy, "growth", seed):
                    slowest = max(slowest, epoch.cpu_seconds)
                    yield epoch
            if slowest > limit and strategy is not Strategy.AUTO:
                break


def growth_sizes(inputs: int, share: float) -> tuple[int, ...]:
    """Return powers of ten up to a share of the input, and that share itself.

    growth_sizes(200_000, 0.1) == (1, 10, 100, 1_000, 10_000, 20_000)
    """
    largest = max(int(inputs * share), 1)
    powers = [10**power for power in range(12) if 10**power < largest]
    return (*powers, largest)


def sized(bench: Bench, plan: Plan) -> Iterator[Epoch]:
    """Change any number of facts, by recomputing first and then under `auto`."""
    inputs = bench.subject.input_size
    sizes = plan.sizes or tuple(max(1, int(inputs * share)) for share in _SHARES)
    for strategy in bench.in_turn((Strategy.RECOMPUTE, Strategy.AUTO)):
        random = bench.random("sized")
        for seed, size in enumerate(sizes):
            yield from bench.there_and_back(bench.subject.sample(size, random), strategy, "sized", seed)


def elastic(bench: Bench, plan: Plan) -> Iterator[Epoch]:
    """Run the 13 epochs: the first evaluation, 6 small changes, a large one, 4 small, a large one.

    Small changes delete and insert in turn; the large ones delete a share of the input and insert
    it again. `batch` evaluates every epoch's inputs from nothing: twice in fact, with all facts and
    without the large share, since the few facts of a small change make no difference.
    """
    large, changes = thirteen_epochs(bench.subject, bench.random("elastic"), plan)
    inputs = bench.subject.input_size
    without = evaluate_without(bench.subject, large)
    for strategy in bench.in_turn(plan.strategies):
        first = bench.baseline.bootstrap
        base = Epoch(
            bench.subject.name, "elastic", strategy.value, inputs, "insert", first.seconds, first.cpu_seconds,
            bench.baseline.derived_facts, 0, 1, 0,
        )  # fmt: skip
        yield base
        for number, (direction, facts) in enumerate(changes, start=1):
            change = deletion(facts) if direction == "delete" else insertion(facts)
            size = sum(map(len, facts.values()))
            key = EpochKey(bench.subject.name, "elastic", size, direction, number)
            yield apply_epoch(bench.engine, change, MaintenanceSettings(strategy), key)
    for number in range(13):
        taken = without if 7 <= number <= 11 else bench.baseline.batch
        yield Epoch(
            bench.subject.name,
            "elastic",
            "batch",
            0,
            "insert",
            taken.seconds,
            taken.cpu_seconds,
            0,
            0,
            1,
            number,
        )


def thirteen_epochs(
    subject: Subject, random: np.random.Generator, plan: Plan
) -> tuple[FactSet, list[tuple[str, FactSet]]]:
    """Return the facts of the large change, and the twelve changes after the evaluation in their order."""
    large = subject.sample(max(1, int(subject.input_size * plan.large)), random)
    small_sets = [_outside(subject, large, plan.small, random) for _ in range(5)]
    changes: list[tuple[str, FactSet]] = []
    for facts in small_sets[:3]:
        changes += [("delete", facts), ("insert", facts)]
    changes.append(("delete", large))
    for facts in small_sets[3:]:
        changes += [("delete", facts), ("insert", facts)]
    changes.append(("insert", large))
    return large, changes


def _outside(subject: Subject, large: FactSet, size: int, random: np.random.Generator) -> FactSet:
    """Return random input facts that are not in the large share, so that both can be deleted."""
    taken = {(name, *row) for name, rows in large.items() for row in rows.tolist()}
    while True:
        facts = subject.sample(min(4 * size, subject.input_size), random)
        left = [
            (name, row) for name, rows in facts.items() for row in rows.tolist() if (name, *row) not in taken
        ]
        if len(left) >= min(size, subject.input_size - len(taken)):
            return _by_relation([left[place] for place in random.permutation(len(left))[:size]])


def _by_relation(facts: Sequence[tuple[str, list[int]]]) -> FactSet:
    found: dict[str, list[list[int]]] = {}
    for name, row in facts:
        found.setdefault(name, []).append(row)
    return {name: np.array(rows, np.int64) for name, rows in found.items()}


Experiment = Callable[[Bench, Plan], Iterator[Epoch]]
EXPERIMENTS: Final[Mapping[str, Experiment]] = {
    "small": small,
    "one": one,
    "growth": growth,
    "sized": sized,
    "elastic": elastic,
}
