"""What the planner knows of relations, some of which are on the device."""

from collections.abc import Mapping

from tidelog.dataclass import dataclass
from tidelog.plan.statistics import Columns, JoinName, Statistics


@dataclass(frozen=True, slots=True)
class DeviceStatistics:
    """What the host knows of relations, and the sizes of those that are away, on the device alone."""

    host: Statistics
    away: Mapping[str, int]

    def size(self, relation: str) -> float | None:
        """Return the number of facts, None if it is not known yet."""
        return (self.away[relation] or None) if relation in self.away else self.host.size(relation)

    def values(self, relation: str, columns: tuple[int, ...]) -> float | None:
        """Return the number of distinct values of these columns, None if they were not counted."""
        return None if relation in self.away else self.host.values(relation, columns)

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float | None:
        """Return the number of facts over how many of them the key of a fact leads to, or None likewise."""
        return None if relation in self.away else self.host.distinct(relation, columns)

    def fan_out(self, delta: Columns, facts: Columns) -> float | None:
        """Return about how many facts agree with a new fact, None if one of the relations is away."""
        is_away = delta[0] in self.away or facts[0] in self.away
        return None if is_away else self.host.fan_out(delta, facts)

    def measured(self, join: JoinName) -> float | None:  # noqa: ARG002 - kernels measure no joins
        """Return None: kernels do not measure joins."""
        return None

    def is_indexed(self, relation: str, columns: tuple[int, ...]) -> bool:  # noqa: ARG002 - as asked
        """Return True: whatever index a plan needs is made when it runs."""
        return True
