"""What the planner learns from the present relations."""

from tidelog.dataclass import dataclass
from tidelog.engine.local.state import LocalState
from tidelog.plan.statistics import Columns, JoinName
from tidelog.storage.distinct import count_distinct, matches_per_row, rows_per_key

# Keys are counted again once a relation has grown by this factor.
_GROWTH = 2
# Of fewer rows no sample is taken: whatever is expected of them is soon out of date.
_ROWS_TO_SAMPLE = 1 << 10
# What is expected where no sampled row matches.
_LEAST_MATCHES = 0.01


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
        self._counted: dict[Columns, _Counted] = {}
        self._measured: dict[JoinName, float] = {}

    def size(self, relation: str) -> float | None:
        """Return the number of facts; the size of an empty relation is unknown, since it may still grow."""
        return len(self._state.relations[relation]) or None

    def is_indexed(self, relation: str, columns: tuple[int, ...]) -> bool:
        """Say whether there is an index by these columns, or evaluation had one."""
        return self._state.relations[relation].is_joined_by(columns)

    def values(self, relation: str, columns: tuple[int, ...]) -> float | None:
        """Return about how many distinct values these columns have."""
        counted = self._count(relation, columns)
        return None if counted is None else max(1.0, counted.values * self._growth(relation, counted))

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float | None:
        """Return the number of facts over about how many of them the key of a fact leads to."""
        counted = self._count(relation, columns)
        return None if counted is None else max(1.0, counted.distinct * self._growth(relation, counted))

    def fan_out(self, delta: Columns, facts: Columns) -> float | None:
        """Return about how many facts agree with a new fact in these columns, None if there are too few."""
        visible = self._state.visible[delta[0]]
        rows = self._state.relations[delta[0]].live_rows(visible.delta, visible.end)
        stored = self._state.relations[facts[0]]
        others = stored.some_rows()
        if len(rows) < _ROWS_TO_SAMPLE or len(others) < _ROWS_TO_SAMPLE:
            return None
        matches = matches_per_row(rows, delta[1], others, facts[1])
        return max(_LEAST_MATCHES, matches * len(stored) / len(others))

    def measured(self, join: JoinName) -> float | None:
        """Return how many facts a binding matched in this join when it last ran, None if it did not."""
        return self._measured.get(join)

    def note(self, join: JoinName, bindings: int, matches: int) -> None:
        """Remember how many facts the bindings of a join matched."""
        if bindings >= _ROWS_TO_SAMPLE:
            self._measured[join] = max(_LEAST_MATCHES, matches / bindings)

    def _growth(self, relation: str, counted: _Counted) -> float:
        return len(self._state.relations[relation]) / counted.size

    def _count(self, relation: str, columns: tuple[int, ...]) -> _Counted | None:
        """Return what was counted of the columns, counted again if the relation has grown much since."""
        stored = self._state.relations[relation]
        if not len(stored):
            return None
        counted = self._counted.get((relation, columns))
        if counted is None or len(stored) > _GROWTH * counted.size:
            rows = stored.some_rows()
            values = count_distinct(rows, columns, len(stored))
            distinct = min(values, len(rows) / rows_per_key(rows, columns))
            counted = self._counted[relation, columns] = _Counted(len(stored), values, distinct)
        return counted
