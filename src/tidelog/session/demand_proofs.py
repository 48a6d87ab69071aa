"""Proofs of facts that a question derived."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from tidelog.engine.epoch import EpochResult, MaintainedEngine, RelationChange
from tidelog.explain.proofs.service import ProofService
from tidelog.explain.proofs.source import FactSource, Level
from tidelog.program.nodes import Program
from tidelog.session.demand import DemandEngine
from tidelog.session.engines import EngineHandle
from tidelog.session.epochs import Epochs
from tidelog.session.prepare import Prepared
from tidelog.values import Codec, Fact, Value
from tidelog.views import Snapshot
from tidelog.views.history import History

if TYPE_CHECKING:
    from tidelog.explain.port import EnginePort
    from tidelog.maintain import LocalMaintainedEngine


def demand_proofs(epochs: Epochs, asked: DemandEngine, provenance: object) -> ProofService:
    """Return what explains the facts that a question derived."""
    return ProofService(_AskedEpoch(epochs, asked), provenance)


class _AskedEpoch:
    """The present epoch of a session with the facts of a question; see `explain.port.Explained`."""

    def __init__(self, epochs: Epochs, asked: DemandEngine) -> None:
        self._epochs = epochs
        present = epochs.handle
        eager = present.port

        def port(engine: MaintainedEngine) -> "EnginePort":
            return _DividedPort(frozenset(asked.made.own), present.kind.port(engine), eager)

        kind = replace(present.kind, port=port)
        self.handle = EngineHandle(kind, present.codec, asked.engine, present.settings, present.observer)

    @property
    def lock(self) -> AbstractContextManager[object]:
        return self._epochs.lock

    @property
    def snapshot(self) -> Snapshot:
        return self._epochs.snapshot

    @property
    def epoch(self) -> int:
        return self._epochs.epoch

    @property
    def prepared(self) -> Prepared:
        return self._epochs.prepared

    @property
    def history(self) -> History:
        return self._epochs.history


class _DividedPort:
    """The port of two engines: some relations are in one, all others in the other."""

    def __init__(self, own: Collection[str], port: "EnginePort", eager: "EnginePort") -> None:
        self._own = own
        self._port = port
        self._eager = eager

    def facts(self, program: Program, codec: Codec, before: FactSource | None) -> FactSource:  # noqa: ARG002 - made anew
        return _DividedFacts(
            self._own, self._port.facts(program, codec, None), self._eager.facts(program, codec, None)
        )

    def heights(self, facts: FactSource) -> FactSource:
        return facts

    def trial(self, changes: Mapping[str, RelationChange]) -> AbstractContextManager[EpochResult]:
        return self._port.trial(changes)

    def trial_rules(
        self, after: Program, before: Program, changes: Mapping[str, RelationChange]
    ) -> EpochResult:
        return self._port.trial_rules(after, before, changes)

    @property
    def derivations(self) -> "LocalMaintainedEngine | None":
        return None


class _DividedFacts:
    """Facts of two sources; see `FactSource`. Levels are of one program, so they compare."""

    def __init__(self, own: Collection[str], source: FactSource, eager: FactSource) -> None:
        self._own = own
        self._source = source
        self._eager = eager

    def contains(self, relation: str, fact: Fact) -> bool:
        return self._of(relation).contains(relation, fact)

    def matches(self, relation: str, bound: Mapping[int, Value]) -> Iterator[Fact]:
        return self._of(relation).matches(relation, bound)

    def count(self, relation: str, bound: Mapping[int, Value]) -> int:
        return self._of(relation).count(relation, bound)

    def level(self, relation: str, fact: Fact) -> Level | None:
        return self._of(relation).level(relation, fact)

    def is_input(self, relation: str, fact: Fact) -> bool:
        return self._of(relation).is_input(relation, fact)

    def input_facts(self, relation: str) -> Iterator[Fact]:
        return self._of(relation).input_facts(relation)

    def _of(self, relation: str) -> FactSource:
        return self._source if relation in self._own else self._eager
