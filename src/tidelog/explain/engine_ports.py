"""The ports of the engines: how explanations read each of them."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from tidelog.engine.epoch import EpochResult, MaintainedEngine, MaintenanceSettings, RelationChange, reverse
from tidelog.engine.protocol import SilentObserver
from tidelog.engine.reference.restart import RestartingEngine
from tidelog.explain.port import in_epoch
from tidelog.explain.proofs.engine_facts import EngineFacts
from tidelog.explain.proofs.source import FactSource
from tidelog.program.nodes import Program
from tidelog.values import Codec

if TYPE_CHECKING:
    # Imported where they are used: each engine brings what the others do not need.
    from tidelog.maintain import LocalMaintainedEngine
    from tidelog.maintain.spark import SparkMaintainedEngine


class SteppingPort:
    """The port of an engine whose trial epochs are applied and taken back; it offers no derivations.

    `read` gives the facts of the present epoch, taken over anew in each.
    """

    derivations = None

    def __init__(self, engine: MaintainedEngine, read: Callable[[Program, Codec], FactSource]) -> None:
        self._engine = engine
        self._read = read

    def facts(self, program: Program, codec: Codec, before: FactSource | None) -> FactSource:  # noqa: ARG002 - as above
        """Return the facts of the present epoch."""
        return self._read(program, codec)

    def heights(self, facts: FactSource) -> FactSource:
        """Return the facts as they are: iterations are not counted across strata."""
        return facts

    def trial(self, changes: Mapping[str, RelationChange]) -> AbstractContextManager[EpochResult]:
        """Take the engine through a trial epoch."""
        return in_epoch(self._engine, changes)

    def trial_rules(
        self, after: Program, before: Program, changes: Mapping[str, RelationChange]
    ) -> EpochResult:
        """Go on with another program, and back again."""
        engine, settings, observer = self._engine, MaintenanceSettings(), SilentObserver()
        mark = engine.numbering.mark()
        result = engine.change_rules(after, settings, observer, changes)
        turned = reverse({name: changes[name] for name in changes if name in before.relations})
        engine.change_rules(before, settings, observer, turned)
        engine.numbering.rewind(mark)
        return result


def reference_port(engine: RestartingEngine) -> SteppingPort:
    """Return the port of the reference engine."""
    return SteppingPort(engine, lambda program, codec: EngineFacts(program, codec, engine))


def spark_port(engine: "SparkMaintainedEngine") -> SteppingPort:
    """Return the port of the engine on Spark."""
    from tidelog.explain.proofs.spark import SharedFacts  # noqa: PLC0415 - see above

    return SteppingPort(engine, lambda program, codec: SharedFacts(program, codec, engine))


class LocalPort:
    """The port of the local engine."""

    def __init__(self, engine: "LocalMaintainedEngine") -> None:
        self.derivations = engine

    def facts(self, program: Program, codec: Codec, before: FactSource | None) -> FactSource:
        """Return the facts of the present epoch; indexes follow the relations from epoch to epoch."""
        from tidelog.explain.proofs.local import LocalFacts  # noqa: PLC0415 - see above

        if isinstance(before, LocalFacts):
            before.start_epoch()
            return before
        return LocalFacts(program, codec, self.derivations)

    def heights(self, facts: FactSource) -> FactSource:
        """Return facts of this port with heights for levels."""
        from tidelog.explain.proofs.local import LocalFacts  # noqa: PLC0415 - see above

        assert isinstance(facts, LocalFacts), "they were returned by `facts`"
        return facts.with_heights()

    def trial(self, changes: Mapping[str, RelationChange]) -> AbstractContextManager[EpochResult]:
        """Take the engine through a trial epoch."""
        return self.derivations.trial(changes, MaintenanceSettings())

    def trial_rules(
        self,
        after: Program,
        before: Program,  # noqa: ARG002 - the engine still has it
        changes: Mapping[str, RelationChange],
    ) -> EpochResult:
        """Return what another program would do."""
        return self.derivations.trial_rules(after, MaintenanceSettings(), changes)
