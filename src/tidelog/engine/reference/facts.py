"""The facts known so far: one plain set per relation."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet

from tidelog.values import Fact, Value

Key = tuple[Value, ...]


class PythonFacts:
    """Sets of facts by relation, with a look-up by the values of some columns."""

    def __init__(self, relations: Iterable[str]) -> None:
        self._sets: dict[str, AbstractSet[Fact]] = {relation: frozenset() for relation in relations}
        self._indexes: dict[str, dict[tuple[int, ...], dict[Key, list[Fact]]]] = defaultdict(dict)

    def __getitem__(self, relation: str) -> AbstractSet[Fact]:
        return self._sets[relation]

    def replace(self, relation: str, facts: AbstractSet[Fact]) -> bool:
        """Make the relation hold exactly these facts; say whether that is a change."""
        if facts == self._sets[relation]:
            return False
        self._sets[relation] = frozenset(facts)
        self._indexes.pop(relation, None)
        return True

    def matching(self, relation: str, known: Mapping[int, Value]) -> Collection[Fact]:
        """Return the facts that have these values in these columns."""
        if not known:
            return self._sets[relation]
        positions = tuple(known)
        index = self._indexes[relation].get(positions)
        if index is None:
            index = defaultdict(list)
            for fact in self._sets[relation]:
                index[tuple(fact[position] for position in positions)].append(fact)
            self._indexes[relation][positions] = index
        return index.get(tuple(known.values()), ())

    def total(self) -> int:
        """Return the number of facts of all relations."""
        return sum(map(len, self._sets.values()))
