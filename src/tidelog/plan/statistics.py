"""What a planner knows about the sizes of relations."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import NamedTuple, Protocol

from tidelog.dataclass import dataclass
from tidelog.program.nodes import Constant, RuleId

# A relation of the stratum being planned has no size yet.
UNKNOWN_SIZE = 1e5


# Columns of a relation.
Columns = tuple[str, tuple[int, ...]]


class JoinName(NamedTuple):
    """What tells the joins of a stratum apart: the rule, its delta atom, and what is looked up."""

    rule: RuleId
    delta: int | None
    relation: str
    key: tuple[int, ...]
    operands: tuple[str | Constant, ...]


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

    def fan_out(self, delta: Columns, facts: Columns) -> float | None:
        """Return about how many facts agree with a new fact in these columns, None if there are too few.

        The new facts are those of the delta of another relation, or of the same.
        """

    def measured(self, join: JoinName) -> float | None:
        """Return how many facts a binding matched in this join when it last ran, None if it did not."""

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

    def fan_out(self, delta: Columns, facts: Columns) -> float | None:  # noqa: ARG002 - no facts are known
        """Return None: there are no facts to sample."""
        return None

    def measured(self, join: JoinName) -> float | None:  # noqa: ARG002 - nothing has run
        """Return None: no join has run."""
        return None

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
