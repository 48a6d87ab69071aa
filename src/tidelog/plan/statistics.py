"""What a planner knows about the sizes of relations."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Protocol

from tidelog.dataclass import dataclass

# A relation of the stratum being planned has no size yet.
UNKNOWN_SIZE = 1e5


class Statistics(Protocol):
    """Sizes and numbers of distinct keys, as far as they are known."""

    def size(self, relation: str) -> float | None:
        """Return the number of facts, or None if it is not known yet."""

    def values(self, relation: str, columns: tuple[int, ...]) -> float | None:
        """Return the number of distinct values of these columns, or None if they were not counted."""

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float | None:
        """Return the number of facts over how many of them the key of a fact leads to, or None likewise.

        It is below the number of values if some have many more facts than others.
        """

    def is_indexed(self, relation: str, columns: tuple[int, ...]) -> bool:
        """Say whether facts can be found by these columns without building an index first."""


@dataclass(frozen=True)
class KnownSizes:
    """Statistics from plain numbers, for printing plans and for tests."""

    sizes: Mapping[str, float] = field(default_factory=dict)
    keys: Mapping[tuple[str, tuple[int, ...]], float] = field(default_factory=dict)

    def size(self, relation: str) -> float | None:
        """Return the known size."""
        return self.sizes.get(relation)

    def values(self, relation: str, columns: tuple[int, ...]) -> float | None:
        """Return the known number of keys."""
        return self.keys.get((relation, columns))

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float | None:
        """Return the known number of keys: each is assumed to have as many facts as any other."""
        return self.values(relation, columns)

    def is_indexed(self, relation: str, columns: tuple[int, ...]) -> bool:  # noqa: ARG002 - as asked
        """Return True: whatever index a plan needs exists when it runs."""
        return True


def matches_per_key(statistics: Statistics, relation: str, arity: int, key: Iterable[int]) -> float:
    """Return the expected number of facts that agree with one value of the `key` columns.

    Without a count, each key column is assumed to divide the facts evenly: a key of k of n columns leaves
    size ** (1 - k / n) of them.
    """
    columns = tuple(sorted(key))
    size = statistics.size(relation)
    if size is None:
        size = UNKNOWN_SIZE
    if not columns:
        return size
    if len(columns) == arity:
        return min(size, 1.0) * 0.5
    distinct = statistics.distinct(relation, columns)
    if distinct is not None:
        return size / max(distinct, 1.0)
    return float(size ** (1 - len(columns) / arity))
