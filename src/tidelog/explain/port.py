"""What explanations know of a session and of its engine."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from tidelog.engine.epoch import EpochResult, MaintainedEngine, MaintenanceSettings, RelationChange, reverse
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.explain.proofs.source import FactSource
from tidelog.program.nodes import Program
from tidelog.program.text import ProgramText
from tidelog.values import Codec, Value
from tidelog.views import Snapshot
from tidelog.views.history import History

if TYPE_CHECKING:
    # Whoever explains facts of another engine need not load the local one.
    from tidelog.maintain import LocalMaintainedEngine

_SETTINGS = MaintenanceSettings()


class EnginePort(Protocol):
    """What an engine offers to explanations: facts, trial epochs, derivations."""

    def facts(self, program: Program, codec: Codec, before: FactSource | None) -> FactSource:
        """Return the facts of the present epoch; `before` is what was returned in the last one, if any."""

    def heights(self, facts: FactSource) -> FactSource:
        """Return facts of the port with heights for levels, where the engine counts them."""

    def trial(self, changes: Mapping[str, RelationChange]) -> AbstractContextManager[EpochResult]:
        """Take the engine through a trial epoch: give what changes would do, and undo them."""

    def trial_rules(
        self, after: Program, before: Program, changes: Mapping[str, RelationChange]
    ) -> EpochResult:
        """Return what the program `after` with changed facts would do; the engine stays with `before`."""

    @property
    def derivations(self) -> "LocalMaintainedEngine | None":
        """Return the engine if it enumerates derivations; None if another must be made for that."""


class ExplainedEngine(Protocol):
    """An engine at work, as explanations see it."""

    @property
    def codec(self) -> Codec:
        """Return the values that the engine knows."""

    @property
    def engine(self) -> MaintainedEngine:
        """Return the engine."""

    @property
    def settings(self) -> Settings:
        """Return what the user chose about runs."""

    @property
    def port(self) -> EnginePort:
        """Return what the engine offers to explanations."""

    @property
    def counts_heights(self) -> bool:
        """Say whether the iterations of the engine can be heights of proofs."""

    def passes(self, program: Program) -> Program:
        """Return a program as the engine runs it."""


class ExplainedProgram(Protocol):
    """A checked program with its text, its functions and the relations that were given facts."""

    @property
    def program(self) -> Program:
        """Return the program."""

    @property
    def text(self) -> ProgramText:
        """Return the program as it was written."""

    @property
    def functions(self) -> Mapping[str, Callable[..., Value]]:
        """Return the Python functions that it uses."""

    @property
    def inputs(self) -> Sequence[str]:
        """Return the relations that have input facts though no directive may say so."""


class Explained(Protocol):
    """A session as explanations see it: its present epoch, and those before.

    Whoever asks holds `lock`.
    """

    @property
    def lock(self) -> AbstractContextManager[object]:
        """Return the lock that keeps the session in its epoch."""

    @property
    def snapshot(self) -> Snapshot:
        """Return what is known in the present epoch; raise if the session is closed."""

    @property
    def epoch(self) -> int:
        """Return the number of the present epoch."""

    @property
    def prepared(self) -> ExplainedProgram:
        """Return the program of the present epoch."""

    @property
    def handle(self) -> ExplainedEngine:
        """Return the engine at work."""

    @property
    def history(self) -> History:
        """Return the deltas of the last epochs."""


@contextmanager
def in_epoch(engine: MaintainedEngine, changes: Mapping[str, RelationChange]) -> Iterator[EpochResult]:
    """Take an engine to another epoch while the `with` block lasts, and back again whatever happens."""
    mark = engine.numbering.mark()
    result = engine.apply(changes, _SETTINGS, SilentObserver())
    try:
        yield result
    finally:
        engine.apply(reverse(changes), _SETTINGS, SilentObserver())
        engine.numbering.rewind(mark)
