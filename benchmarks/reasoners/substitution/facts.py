"""Facts of relations behind indexes of one kind, for the reference engine's search for bindings."""

from collections.abc import Collection, Iterable, Mapping

from benchmarks.reasoners.indexes import INDEXES
from benchmarks.reasoners.indexes.interface import FactIndex, Positions
from tidelog.engine.reference.facts import PythonFacts
from tidelog.values import Fact, Value

# Before the name of a relation: its facts together with those that an epoch deletes.
EVER = "ever "


class IndexedFacts(PythonFacts):
    """Sets of facts that change in place, with an index for every combination of columns asked for."""

    def __init__(self, arities: Mapping[str, int], index: str) -> None:
        super().__init__(())
        self._arities, self._kind = dict(arities), INDEXES[index]
        self._held: dict[str, set[Fact]] = {name: set() for name in arities}
        self._by_columns: dict[str, dict[Positions, FactIndex]] = {name: {} for name in arities}
        self._deleted: dict[str, set[Fact]] = {}

    def __getitem__(self, relation: str) -> set[Fact]:
        return self._held[relation]

    def insert(self, relation: str, facts: Iterable[Fact]) -> set[Fact]:
        """Insert facts; return those that are new."""
        new = set(facts) - self._held[relation]
        self._held[relation] |= new
        for index in self._by_columns[relation].values():
            for fact in new:
                index.insert(fact)
        return new

    def delete(self, relation: str, facts: Iterable[Fact]) -> set[Fact]:
        """Delete facts; return those that were there."""
        found = self._held[relation].intersection(facts)
        self._held[relation] -= found
        for index in self._by_columns[relation].values():
            for fact in found:
                index.delete(fact)
        return found

    def show_deleted(self, deleted: Mapping[str, set[Fact]]) -> None:
        """Let `EVER` relations have these facts too, until other ones are shown."""
        self._deleted = dict(deleted)

    def matching(self, relation: str, known: Mapping[int, Value]) -> Collection[Fact]:
        """Return the facts that have these values in these columns."""
        if relation.startswith(EVER):
            name = relation.removeprefix(EVER)
            also = [
                fact for fact in self._deleted.get(name, ()) if all(fact[p] == v for p, v in known.items())
            ]
            return [*self.matching(name, known), *also]
        if not known:
            return self._held[relation]
        return list(self._index(relation, tuple(known)).matching(tuple(known.values())))

    def _index(self, relation: str, positions: Positions) -> FactIndex:
        found = self._by_columns[relation].get(positions)
        if found is None:
            found = self._kind(positions, self._arities[relation])
            for fact in self._held[relation]:
                found.insert(fact)
            # Threads that make the same index at once keep one of them.
            found = self._by_columns[relation].setdefault(positions, found)
        return found

    def total(self) -> int:
        """Return the number of facts of all relations."""
        return sum(map(len, self._held.values()))
