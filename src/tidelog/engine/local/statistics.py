"""What the planner learns from the present relations."""

from tidelog.engine.local.state import LocalState
from tidelog.storage.distinct import count_distinct, rows_per_key

# Keys are counted again once a relation has grown by this factor.
_GROWTH = 2


class StateStatistics:
    """Sizes of relations and their numbers of distinct keys, counted when first asked for."""

    def __init__(self, state: LocalState) -> None:
        self._state = state
        self._counted: dict[tuple[str, tuple[int, ...]], tuple[int, float]] = {}

    def size(self, relation: str) -> float | None:
        """Return the number of facts; the size of an empty relation is unknown, since it may still grow."""
        return len(self._state.relations[relation]) or None

    def is_indexed(self, relation: str, columns: tuple[int, ...]) -> bool:
        """Say whether there is an index by these columns."""
        return columns in self._state.relations[relation].indexes

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float | None:
        """Return about how many distinct values these columns have.

        Fewer than there are if some have many more rows than others: what matters is how many rows the
        key of a fact leads to.
        """
        stored = self._state.relations[relation]
        if not len(stored):
            return None
        size, count = self._counted.get((relation, columns), (0, 0.0))
        if len(stored) > _GROWTH * size:
            rows = stored.live_rows()
            size = len(stored)
            count = min(count_distinct(rows, columns), size / rows_per_key(rows, columns))
            self._counted[relation, columns] = size, count
        return max(1.0, count * len(stored) / size)
