"""The facts of a state on Spark's shared storage: a proof fetches the facts that it touches, no others."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tidelog.engine.protocol import Codes
from tidelog.explain.proofs.source import Level
from tidelog.program.nodes import Program
from tidelog.values import Codec, Fact, Value
from tidelog.values.functors import canonical_value


class SharedState(Protocol):
    """What is read of an engine whose facts are elsewhere."""

    def size(self, relation: str) -> int:
        """Return the number of facts."""

    def look_up(self, relation: str, codes: Mapping[int, int]) -> Mapping[tuple[int, ...], int]:
        """Return the facts that have these codes in these columns, with the iterations of each."""

    def is_input(self, relation: str, columns: Sequence[Codes]) -> npt.NDArray[np.bool_]:
        """Say of each fact whether it is an input fact now."""

    def input_facts(self, relation: str) -> Sequence[Codes]:
        """Return the input facts of a relation; one of zeros for each if it has no columns."""


class SharedFacts:
    """Facts on shared storage in user values; see `FactSource`.

    What was looked up is kept until the next epoch.
    """

    def __init__(self, program: Program, codec: Codec, state: SharedState) -> None:
        self._program = program
        self._codec = codec
        self._state = state
        self._strata = {
            name: number for number, stratum in enumerate(program.strata) for name in stratum.relations
        }
        self._found: dict[tuple[str, tuple[tuple[int, int], ...]], Mapping[Fact, int]] = {}

    def contains(self, relation: str, fact: Fact) -> bool:
        """Say whether the fact holds."""
        return fact in self._look_up(relation, dict(enumerate(fact)))

    def matches(self, relation: str, bound: Mapping[int, Value]) -> Iterator[Fact]:
        """Yield the facts with these values in these columns."""
        return iter(self._look_up(relation, bound))

    def count(self, relation: str, bound: Mapping[int, Value]) -> int:
        """Return the number of matching facts."""
        return len(self._look_up(relation, bound)) if bound else self._state.size(relation)

    def level(self, relation: str, fact: Fact) -> Level | None:
        """Return the stratum of the relation and the iteration in which the fact first held."""
        iteration = self._look_up(relation, dict(enumerate(fact))).get(fact)
        return None if iteration is None else (self._strata[relation], iteration)

    def is_input(self, relation: str, fact: Fact) -> bool:
        """Say whether the fact is an input fact."""
        codes = self._codes(relation, dict(enumerate(fact)))
        columns = [np.array([code], np.int64) for code in codes.values()] or [np.zeros(1, np.int64)]
        return bool(self._state.is_input(relation, columns)[0])

    def input_facts(self, relation: str) -> Iterator[Fact]:
        """Yield the input facts of a relation."""
        columns = self._state.input_facts(relation)
        if not self._program.relations[relation].arity:
            yield from [()] * len(columns[0])
            return
        for row in zip(*(column.tolist() for column in columns), strict=True):
            yield self._fact(relation, row)

    def _look_up(self, relation: str, bound: Mapping[int, Value]) -> Mapping[Fact, int]:
        codes = self._codes(relation, bound)
        key = relation, tuple(sorted(codes.items()))
        found = self._found.get(key)
        if found is None:
            rows = self._state.look_up(relation, codes)
            found = self._found[key] = {self._fact(relation, row): level for row, level in rows.items()}
        return found

    def _codes(self, relation: str, bound: Mapping[int, Value]) -> dict[int, int]:
        columns = self._program.relations[relation].columns
        return {place: self._codec.encode(value, columns[place].type) for place, value in bound.items()}

    def _fact(self, relation: str, row: Sequence[int]) -> Fact:
        columns = self._program.relations[relation].columns
        return tuple(
            canonical_value(self._codec.decode(code, column.type))
            for code, column in zip(row, columns, strict=True)
        )
