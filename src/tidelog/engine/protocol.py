"""What every engine offers, and what it reports while it works."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.values import Value

Codes = npt.NDArray[np.int64]
Columns = Sequence[Codes]
UserFunctions = Mapping[str, Callable[..., Value]]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user may choose about a run."""

    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    memory_limit_bytes: int | None = None
    iteration_limit: int | None = None
    # Whether evaluation counts the derivations of every iteration, as epochs by `counting` need them.
    counts_iterations: bool = False


@dataclass(frozen=True, slots=True)
class StratumStatistics:
    """What one stratum took.

    `bindings` is how many its joins yielded and `scanned` how many facts its rules began with, where they
    were counted.
    """

    relations: tuple[str, ...]
    is_recursive: bool
    iterations: int
    facts: int
    derivations: int
    seconds: float
    bindings: int = 0
    scanned: int = 0


@dataclass(frozen=True, slots=True)
class RunStatistics:
    """What a run took, stratum by stratum."""

    strata: tuple[StratumStatistics, ...]
    seconds: float


class Observer(Protocol):
    """Receives what a run reports; called from the thread that runs it."""

    def stratum_started(self, stratum: int, strata: int, relations: Sequence[str]) -> None:
        """Handle the start of a stratum, counted from 0, of `strata`."""

    def iteration_finished(self, stratum: int, iteration: int, new_facts: int, total_facts: int) -> None:
        """Handle the end of an iteration that found `new_facts`; the state has `total_facts`."""

    def stratum_finished(self, stratum: int, statistics: StratumStatistics) -> None:
        """Handle the fixpoint of a stratum."""


class SilentObserver:
    """An observer that does nothing."""

    def stratum_started(self, stratum: int, strata: int, relations: Sequence[str]) -> None:
        """Do nothing."""

    def iteration_finished(self, stratum: int, iteration: int, new_facts: int, total_facts: int) -> None:
        """Do nothing."""

    def stratum_finished(self, stratum: int, statistics: StratumStatistics) -> None:
        """Do nothing."""


class FactReader(Protocol):
    """Reads the facts of one epoch in codes; their order is not specified, a relation is a set."""

    def size(self, relation: str) -> int:
        """Return the number of facts."""

    def facts(self, relation: str) -> list[Codes]:
        """Return all facts as one array of codes per column."""

    def match(self, relation: str, pattern: Sequence[int | None]) -> list[Codes]:
        """Return the facts that agree with the pattern's codes; None agrees with all."""


class Engine(FactReader, Protocol):
    """Runs one program over facts in columns of codes.

    `insert` adds input facts before `evaluate`
    (duplicates are fine). After `evaluate`, `facts` and `match` read every relation.
    """

    def insert(self, relation: str, columns: Columns) -> None:
        """Insert input facts, one array of codes per column, all of one length."""

    def evaluate(self, observer: Observer) -> RunStatistics:
        """Evaluate every derived relation to its fixpoint."""
