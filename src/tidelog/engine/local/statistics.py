"""What the planner learns from the present relations."""

from tidelog.dataclass import dataclass
from tidelog.engine.local.state import LocalState
from tidelog.storage.distinct import count_distinct, rows_per_key

# Keys are counted again once a relation has grown by this factor.
_GROWTH = 2


@dataclass(frozen=True, slots=True)
class _Counted:
    """What was counted of some columns when the relation had this many facts."""

    size: int
    values: float
    distinct: float


class StateStatistics:
    """Sizes of relations and their numbers of distinct keys, counted when first asked for."""

    def __init__(self, state: LocalState) -> None:
        self._state = state
        self._counted: dict[tuple[str, tuple[int, ...]], _Counted] = {}

    def size(self, relation: str) -> float | None:
        """Return the number of facts; the size of an empty relation is unknown, since it may still grow."""
        return len(self._state.relations[relation]) or None

    def is_indexed(self, relation: str, columns: tuple[int, ...]) -> bool:
        """Say whether there is an index by these columns."""
        return columns in self._state.relations[relation].indexes

    def values(self, relation: str, columns: tuple[int, ...]) -> float | None:
        """Return about how many distinct values these columns have."""
        counted = self._count(relation, columns)
        return None if counted is None else max(1.0, counted.values * self._growth(relation, counted))

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float | None:
        """Return the number of facts over about how many of them the key of a fact leads to."""
        counted = self._count(relation, columns)
        return None if counted is None else max(1.0, counted.distinct * self._growth(relation, counted))

    def _growth(self, relation: str, counted: _Counted) -> float:
        return len(self._state.relations[relation]) / counted.size

    def _count(self, relation: str, columns: tuple[int, ...]) -> _Counted | None:
        """Return what was counted of the columns, counted again if the relation has grown much since."""
        stored = self._state.relations[relation]
        if not len(stored):
            return None
        counted = self._counted.get((relation, columns))
        if counted is None or len(stored) > _GROWTH * counted.size:
            rows = stored.live_rows()
            values = count_distinct(rows, columns)
            distinct = min(values, len(stored) / rows_per_key(rows, columns))
            counted = self._counted[relation, columns] = _Counted(len(stored), values, distinct)
        return counted
