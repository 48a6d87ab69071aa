"""What a partner does where a law decides which facts stay: it decides about the facts that it owns.

Candidates of an iteration go to the owners of their facts. An owner chooses, joins or deletes as the local
engine does, and tells the partners that keep copies which facts are deleted and which are new:

    iteration 3, partner 1 owns x = 7     distance(7, 12) is joined with the candidate (7, 9)
    to those with copies                  deleted: distance(7, 12)    new: distance(7, 9)
"""

from collections.abc import Mapping

import numpy as np

from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.settle import Settler, needs_settling
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.subsume import Dominated
from tidelog.engine.spark.message import Rows
from tidelog.engine.spark.ownership import copies_to_send, owned_rows
from tidelog.engine.spark.routes import Routes
from tidelog.engine.spark.wire import Wire
from tidelog.program.nodes import Program, Stratum
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.key_owners import KeyOwners
from tidelog.storage.lattice_table import LatticeTable

# What stands before the name of a relation whose facts are deleted.
_DELETED = "deleted "


class OwnLaws:
    """The laws of one stratum, as far as one partner decides."""

    def __init__(self, stratum: Stratum, state: LocalState, routes: Routes, wire: Wire) -> None:
        self._stratum = stratum
        self._state = state
        self._routes = routes
        self._wire = wire
        self._settlers: dict[str, Settler] = {}
        self._dominated: Dominated | None = None
        self._deleted: dict[str, CodeArray] = {}
        relations = state.program.relations
        self._settled = [name for name in stratum.relations if needs_settling(relations[name])]
        self.decided = decided_relations(stratum, state.program)

    def begin(self, expressions: Expressions) -> None:
        """Decide about the input facts that this partner owns; it keeps no copies of others yet."""
        state = self._state
        owned = {name: self._owned(name) for name in self.decided}
        for name, rows in owned.items():
            if name in self._settled:
                state.replace(name)
                self._settlers[name] = self._settler(name, expressions)
                self._settlers[name].settle(rows)
            else:
                state.replace(name, rows)
        if self._stratum.subsumptions:
            for name in self._stratum.relations:
                state.relations[name].require_numbers()
                # Own facts are entered before they are judged, copies of others after it: both are new.
                state.relations[name].number_entries()
                state.visible[name].delta, state.visible[name].end = 0, state.relations[name].count
            Dominated(self._stratum, state, expressions).delete()

    def _owned(self, name: str) -> CodeArray:
        rows, route = self._state.relations[name].live_rows(), self._routes.relations[name]
        return np.ascontiguousarray(rows[owned_rows(rows, route, self._wire)])

    def _settler(self, name: str, expressions: Expressions) -> Settler:
        state = self._state
        stored = state.relations[name]
        relation = state.program.relations[name]
        return Settler(relation, stored, state.program, expressions.codec, expressions.functions)

    def target(self, name: str) -> StoredRelation | LatticeTable:
        """Return where candidates for facts that this partner owns are collected."""
        settler = self._settlers.get(name)
        return self._state.relations[name] if settler is None else settler.pending

    def plan_again(self) -> None:
        """Make chains anew when they are next needed: indexes or codes are no longer the same."""
        self._dominated = None

    def decide(self, first_new: Mapping[str, int], expressions: Expressions) -> None:
        """Decide about the candidates of an iteration; rows from `first_new` on are those it found."""
        state, deleted = self._state, dict[str, Int64s]()
        for name, settler in self._settlers.items():
            deleted[name] = settler.settle()
        if self._stratum.subsumptions:
            for name, first in first_new.items():
                state.visible[name].delta, state.visible[name].end = first, state.relations[name].count
                state.relations[name].index_new_rows()
            if self._dominated is None:
                self._dominated = Dominated(self._stratum, state, expressions)
            for name, numbers in self._dominated.delete().items():
                deleted[name] = np.concatenate([deleted.get(name, np.empty(0, np.int64)), numbers])
        self._deleted = {}
        for name, numbers in deleted.items():
            # What came and went in this iteration was never sent.
            known = numbers[numbers < first_new[name]]
            if known.size:
                self._deleted[name] = state.relations[name].rows[known]

    def deleted(self) -> list[list[Rows]]:
        """Return, for each partner, the facts that are deleted and of which it keeps copies."""
        parcels: list[list[Rows]] = [[] for _ in range(self._wire.partners)]
        for name, rows in self._deleted.items():
            for partner, part in copies_to_send(rows, self._routes.relations[name], self._wire):
                parcels[partner].append(Rows(_DELETED + name, part))
        return parcels

    def take(self, table: Rows) -> bool:
        """Delete the copies of facts that are deleted, if that is what the table has; say whether it is."""
        if not table.name.startswith(_DELETED):
            return False
        relation = self._state.relations[table.name.removeprefix(_DELETED)]
        numbers = relation.find(np.ascontiguousarray(table.rows))
        relation.delete_rows(np.unique(numbers[numbers >= 0]))
        return True


def decided_relations(stratum: Stratum, program: Program) -> frozenset[str]:
    """Return the relations of a stratum whose facts may go again, or be left out, by a law."""
    settled = (name for name in stratum.relations if needs_settling(program.relations[name]))
    return frozenset(each.less.relation for each in stratum.subsumptions).union(settled)


def repeats_key(stratum: Stratum, state: LocalState, routes: Routes, wire: Wire) -> bool:
    """Say whether two facts that this partner owns agree on the keys of their relation."""
    for name in stratum.relations:
        keys, relation = state.program.relations[name].keys, state.relations[name]
        if keys:
            live = np.flatnonzero(relation.alive[: relation.count]) if relation.deleted else None
            rows = relation.live_rows()
            numbers = owned_rows(rows, routes.relations[name], wire)
            owned = numbers if live is None else live[numbers]
            if KeyOwners(relation, keys).change(np.empty(0, np.int64), owned) is not None:
                return True
    return False
