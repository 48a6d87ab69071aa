"""What an engine takes and returns when facts change."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from types import MappingProxyType
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.engine.numbering import Numbering, RuleNumbers
from tidelog.engine.protocol import Codes, Engine, Observer
from tidelog.program.nodes import Program


class Strategy(Enum):
    """How strata are advanced to the new epoch."""

    AUTO = "auto"
    UPDATE = "update"
    COUNTING = "counting"
    DRED = "dred"
    DRED_COUNTERS = "dred-counters"
    BACKWARD_FORWARD = "backward-forward"
    TRACE = "trace"
    ELASTIC_LAZY = "elastic-lazy"
    ELASTIC_EAGER = "elastic-eager"
    RECOMPUTE = "recompute"


class Action(Enum):
    """What was done to one stratum."""

    SKIPPED = "skipped"
    EXTENDED = "extended"
    UPDATED = "updated"
    RECOMPUTED = "recomputed"


@dataclass(frozen=True)
class RelationChange:
    """Input facts to insert and to delete, one array of codes per column; each fact at most once.

    The length of the first array is the number of facts, here and in `is_input` and `EpochResult`. A
    relation without columns therefore has one array here: `[0]` for its fact, `[]` for none.
    """

    inserted: Sequence[Codes]
    deleted: Sequence[Codes]


def reverse(changes: Mapping[str, RelationChange]) -> dict[str, RelationChange]:
    """Return the changes that take changes back."""
    return {name: RelationChange(change.deleted, change.inserted) for name, change in changes.items()}


NO_CHANGES: Final[Mapping[str, RelationChange]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class StratumReport:
    """What an epoch did to a stratum, and why, in words.

    Work is counted in derivations enumerated, so that it is the same on every machine. `budget` is the work
    that an update was allowed to do.
    """

    relations: tuple[str, ...]
    action: Action
    strategy: Strategy
    reason: str
    predicted_work: int
    work: int
    seconds: float
    budget: float = float("inf")


@dataclass(frozen=True)
class EpochResult:
    """The exact difference of every relation that changed; facts as in `RelationChange`."""

    inserted: Mapping[str, Sequence[Codes]]
    deleted: Mapping[str, Sequence[Codes]]
    strata: tuple[StratumReport, ...]


@dataclass(frozen=True)
class MaintenanceSettings:
    """What a user may choose about an epoch.

    `switch` is the share of a stratum's recompute that an update may cost before it is given up for
    a recompute. With `by_clock` it is the share of the time of an evaluation that the update of all strata
    may take.
    """

    strategy: Strategy = Strategy.AUTO
    switch: float = 0.2
    by_clock: bool = False


@dataclass(frozen=True)
class RelationState:
    """Everything known about one relation: facts with their annotations.

    `levels` is the iteration in which a fact first holds, `counts` the number of derivations in
    that iteration, 0 if they were not counted yet; `is_input` says which facts are input facts (those have
    level 0, count 1).
    """

    columns: Sequence[Codes]
    levels: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    is_input: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class EngineState:
    """All relations with annotations, and the work each stratum took to compute from scratch.

    `numbers` are those that `autoinc()` gave, by rule.
    """

    relations: Mapping[str, RelationState]
    stratum_work: Sequence[int] = field(default_factory=tuple)
    numbers: Mapping[str, RuleNumbers] = field(default_factory=dict)


class MaintainedEngine(Engine, Protocol):
    """An engine whose state follows changes of its input facts.

    `apply` either updates every relation to the new epoch, or raises and leaves everything unchanged.
    """

    @property
    def numbering(self) -> Numbering:
        """Return the numbers that `autoinc()` gave."""

    def is_input(self, relation: str, columns: Sequence[Codes]) -> npt.NDArray[np.bool_]:
        """Say of each fact whether it is an input fact now."""

    def apply(
        self, changes: Mapping[str, RelationChange], settings: MaintenanceSettings, observer: Observer
    ) -> EpochResult:
        """Advance the state to the next epoch.

        Inserted facts must not be input facts yet, deleted facts must be, and no fact may be in both.
        """

    def change_rules(
        self,
        program: Program,
        settings: MaintenanceSettings,
        observer: Observer,
        changes: Mapping[str, RelationChange] = NO_CHANGES,
    ) -> EpochResult:
        """Continue with another program whose input relations keep their facts, except for the changes.

        New relations start empty; relations that the program no longer has are dropped. Changes are as for
        `apply`, for relations of the new program. Only the two end states count: an error never comes from
        a state between them.
        """

    def export_state(self) -> EngineState:
        """Return all that another process needs to continue from here."""

    def import_state(self, state: EngineState) -> None:
        """Load an exported state, in place of `insert` and `evaluate`."""
