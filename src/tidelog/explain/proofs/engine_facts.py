"""The facts of any engine, taken over relation by relation when they are asked for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from tidelog.engine.protocol import Codes
from tidelog.explain.proofs.source import Level, PlainFacts
from tidelog.program.nodes import Program
from tidelog.values import Codec, Fact, Value
from tidelog.values.functors import canonical_value


class ReadableEngine(Protocol):
    """What is read of an engine."""

    def size(self, relation: str) -> int:
        """Return the number of facts."""

    def facts(self, relation: str) -> list[Codes]:
        """Return all facts as one array of codes per column."""

    def input_facts(self, relation: str) -> Sequence[Codes]:
        """Return the input facts of a relation; one of zeros for each if it has no columns."""


class EngineFacts:
    """Facts of an engine that has no indexes to offer; see `FactSource`.

    A relation is decoded whole when it is first asked for; for engines of small states. Levels are
    not known.
    """

    def __init__(self, program: Program, codec: Codec, engine: ReadableEngine) -> None:
        self._program = program
        self._codec = codec
        self._engine = engine
        self._loaded: dict[str, PlainFacts] = {}

    def contains(self, relation: str, fact: Fact) -> bool:
        """Say whether the fact holds."""
        return self._load(relation).contains(relation, fact)

    def matches(self, relation: str, bound: Mapping[int, Value]) -> Iterator[Fact]:
        """Yield the facts with these values in these columns."""
        return self._load(relation).matches(relation, bound)

    def count(self, relation: str, bound: Mapping[int, Value]) -> int:
        """Return the number of matching facts."""
        return self._load(relation).count(relation, bound)

    def level(self, relation: str, fact: Fact) -> Level | None:  # noqa: ARG002 - nothing is known
        """Return None: such an engine remembers no iterations."""
        return None

    def is_input(self, relation: str, fact: Fact) -> bool:
        """Say whether the fact is an input fact."""
        return self._load(relation).is_input(relation, fact)

    def input_facts(self, relation: str) -> Iterator[Fact]:
        """Yield the input facts of a relation."""
        return self._load(relation).input_facts(relation)

    def _load(self, relation: str) -> PlainFacts:
        found = self._loaded.get(relation)
        if found is None:
            found = self._loaded[relation] = self._decode(relation)
        return found

    def _decode(self, name: str) -> PlainFacts:
        if not self._program.relations[name].arity:
            facts: list[Fact] = [()] * self._engine.size(name)
            inputs: list[Fact] = [()] * len(self._engine.input_facts(name)[0])
            return PlainFacts({name: facts}, input_facts={name: inputs})
        held = self._values(name, self._engine.facts(name))
        return PlainFacts(
            {name: held}, input_facts={name: self._values(name, self._engine.input_facts(name))}
        )

    def _values(self, name: str, codes: Sequence[Codes]) -> list[Fact]:
        columns = self._program.relations[name].columns
        decoded = (
            [canonical_value(value) for value in self._codec.decode_column(column, declared.type)]
            for column, declared in zip(codes, columns, strict=True)
        )
        return list(zip(*decoded, strict=True))
