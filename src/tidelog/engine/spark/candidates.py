"""Facts that a partner derives in an iteration and others own: candidates, each sent once.

Many are sent while rules still run, so that the network is busy while the processors are. They are kept
until the end of the iteration all the same, because other rules may derive them again.
"""

from collections.abc import Callable

from tidelog.engine.local.state import LocalState
from tidelog.engine.spark.agreement import Agreement
from tidelog.engine.spark.message import NO_WEIGHTS, Rows
from tidelog.engine.spark.ownership import parts_by_owner
from tidelog.engine.spark.routes import Routes
from tidelog.engine.spark.wire import Wire
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray

# Fewer candidates wait for the end of the iteration.
_AHEAD_ROWS = 1 << 13


class Candidates:
    """The candidates of one iteration after the other."""

    def __init__(
        self, state: LocalState, routes: Routes, wire: Wire, first_new: Callable[[str], int]
    ) -> None:
        self._state = state
        # The first row of a relation that the present iteration inserted.
        self._first_new = first_new
        self._routes = routes
        self._wire = wire
        self._found: dict[str, StoredRelation] = {}
        self._sent: dict[str, int] = {}
        self._last_found: dict[str, int] = {}

    def add(self, name: str, rows: CodeArray) -> None:
        """Add candidates, or derivations of those that were added before."""
        self._of(name).insert(rows)

    def _of(self, name: str) -> StoredRelation:
        if name not in self._found:
            self._found[name] = self._state.empty_relation(name)
            # An iteration finds about as much as the one before: reserve that much at once.
            self._found[name].reserve(self._last_found.get(name, 0))
        return self._found[name]

    def translate(self, agreement: Agreement) -> None:
        """Give values the codes that partners agreed on; nothing may have been sent ahead."""
        assert not self._sent, "owners are not known before partners agree on codes"
        before, self._found = self._found, {}
        for name, found in before.items():
            rows = agreement.rows(found.rows[: found.count], self._state.program.relations[name])
            counts = found.counts[: found.count] if found.counts.size else NO_WEIGHTS
            self._of(name).insert(rows, counts)

    def send_ahead(self, name: str, *, is_complete: bool) -> None:
        """Send what was found so far, if it is much.

        Where derivations are counted, candidates wait until all rules have run that may find them again
        (`is_complete`).
        """
        found = self._found.get(name)
        if found is None or found.count - self._sent.get(name, 0) < _AHEAD_ROWS:
            return
        if is_complete or not found.counts.size:
            tables: list[list[Rows]] = [[] for _ in range(self._wire.partners)]
            self._sort(name, tables)
            self._wire.send_ahead(tables)

    def take(self) -> list[list[Rows]]:
        """Return what has not been sent, for each partner, and begin the next iteration."""
        tables: list[list[Rows]] = [[] for _ in range(self._wire.partners)]
        for name in self._found:
            self._sort(name, tables)
        self._last_found = {name: found.count for name, found in self._found.items()}
        self._found, self._sent = {}, {}
        return tables

    def _sort(self, name: str, tables: list[list[Rows]]) -> None:
        """Add the candidates of a relation that were not sent to what their owners get."""
        found, first = self._found[name], self._sent.get(name, 0)
        rows, counts = found.rows[first : found.count], found.counts[first : found.count]
        self._sent[name] = found.count
        route, relation = self._routes.relations[name], self._state.relations[name]
        if relation.count and (route.is_everywhere or len(route.columns) > 1):
            # A copy from before shows that a candidate is not new; one of this iteration has its count.
            numbers = relation.find(rows)
            unknown = (numbers < 0) | (numbers >= self._first_new(name))
            rows, counts = rows[unknown], counts[unknown] if counts.size else counts
        for partner, part in parts_by_owner(rows, route.owner, self._wire.partners, route.heavy):
            weights = counts[part] if counts.size else NO_WEIGHTS
            tables[partner].append(Rows(name, rows[part], weights))
