"""An index by hashing: a table from keys to the facts that have them."""

from collections.abc import Iterable, Iterator

from benchmarks.reasoners.indexes.interface import Key, Positions
from tidelog.values import Fact, Value


class HashIndex:
    """A table from keys to facts; those of a key are in the order of insertion."""

    def __init__(self, positions: Positions, arity: int) -> None:  # noqa: ARG002 - other kinds need it
        self._positions = positions
        self._facts: dict[tuple[Value, ...], dict[Fact, None]] = {}
        self._count = 0

    def insert(self, fact: Fact) -> None:
        """Insert a fact."""
        found = self._facts.setdefault(self._key(fact), {})
        self._count += fact not in found
        found[fact] = None

    def delete(self, fact: Fact) -> None:
        """Delete a fact, and its key with the last one."""
        key = self._key(fact)
        found = self._facts.get(key, {})
        if fact in found:
            del found[fact]
            self._count -= 1
            if not found:
                del self._facts[key]

    def matching(self, key: Key) -> Iterable[Fact]:
        """Return the facts of a key."""
        return self._facts.get(tuple(key), ())

    def _key(self, fact: Fact) -> tuple[Value, ...]:
        return tuple(fact[place] for place in self._positions)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Fact]:
        for found in self._facts.values():
            yield from found
