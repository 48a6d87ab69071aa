"""Aggregates under change, divided by group: each partner keeps the groups that it owns.

The derivations of an aggregate's body are found where its facts are kept, each by one partner. A derivation
is sent to the owner of its group, and what becomes of the group's value from there to those who keep it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from tidelog.engine.local.chains import StepChain, make_chain
from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import SinkStep
from tidelog.engine.spark.agreement import Agreement
from tidelog.engine.spark.kernels import WHOLE_ROW
from tidelog.engine.spark.message import Message, Rows
from tidelog.engine.spark.ownership import parts_by_keeper, parts_by_owner
from tidelog.engine.spark.partner import DividedScan
from tidelog.engine.spark.plans import plan_once
from tidelog.engine.spark.routes import RelationRoute, Routes
from tidelog.engine.spark.wire import Wire
from tidelog.maintain.aggregates import GroupedAggregate
from tidelog.maintain.group_keeper import GroupKeeper
from tidelog.maintain.groups import FactChanges, GroupFacts, Groups, changed_derivations
from tidelog.maintain.judge import Mask
from tidelog.maintain.partners.heads import are_mine
from tidelog.maintain.row_delta import RowDelta
from tidelog.maintain.user_groups import Combined
from tidelog.plan import RulePlan
from tidelog.plan.flatten import FlatRule
from tidelog.plan.operators import ScanView
from tidelog.plan.statistics import Statistics
from tidelog.program.nodes import Stratum
from tidelog.storage.kernel import CodeArray, Int64s

_DERIVATIONS, _DELETED, _INSERTED = "derivations", "-", "+"


class PartnerGroupKeeper(GroupKeeper):
    """The groups that one partner owns, of every aggregate that has a relation."""

    def __init__(
        self,
        aggregates: Mapping[str, GroupedAggregate],
        state: LocalState,
        expressions: Expressions,
        wire: Wire,
        agree: Callable[[], Agreement | None],
    ) -> None:
        super().__init__(aggregates, state, expressions)
        self._wire = wire
        # Where the relations of each aggregate are kept, and how its rules are divided.
        self.routes: Mapping[str, Routes] = {}
        # Lets partners agree on the codes of values that were made meanwhile.
        self._agree = agree

    def evaluate_with(self, expressions: Expressions) -> None:
        """Use other expressions from now on."""
        self._expressions = expressions
        for groups in self.groups.values():
            if isinstance(groups, Groups) and isinstance(groups.values, Combined):
                groups.values.combine = self._combine(groups.aggregate)

    def _scan_of(self, aggregate: GroupedAggregate) -> None:
        """Return None: groups are divided, and with them the derivations of the body."""

    def _all_derivations(self, stratum: Stratum, statistics: Statistics) -> Int64s:
        """Return the heads of all derivations of the groups owned here."""
        relation = stratum.relations[0]
        routes = self.routes[relation]
        plans = plan_once(stratum, self._state.program, statistics, routes, counting=True)
        width = len(stratum.rules[0].head.terms)
        found = [self._found_here(plan, column, routes.heavy) for plan, column, _ in plans]
        rows = np.concatenate([np.empty((0, width), np.int64), *found])
        return self._to_owners(relation, rows, np.ones(len(rows), np.int64))[0]

    def _found_here(self, plan: RulePlan, column: int, heavy: tuple[int, ...]) -> Int64s:
        """Return the heads of the derivations that begin with rows this partner follows."""
        width = len(plan.operators[-1].outputs)
        found: list[CodeArray] = [np.empty((0, width), np.int64)]
        end = SinkStep()
        end.sink = lambda batch: found.append(batch.astype(np.int64))
        chain = make_chain(plan.operators, self._state, self._expressions, end)
        beginning = plan.operators[0]
        if isinstance(beginning, ScanView) and self._wire.partners > 1:
            scan = DividedScan(beginning, self._state, self._expressions, column, self._wire)
            scan.heavy = heavy
            scan.next = chain.first
            chain = StepChain(scan, chain.first)
        elif self._wire.me > 0:
            return found[0]  # a chain that begins with no scan is not divided
        chain.run(*chain.rows())
        return np.concatenate(found)

    def _changed_derivations(
        self, rules: Sequence[FlatRule], earlier: Mapping[str, RowDelta], derivations: LocalDerivations
    ) -> tuple[Int64s, Int64s]:
        """Return the heads of derivations of groups owned here that are lost and gained."""
        routes, relations, wire = self.routes[rules[0].relation], self._state.relations, self._wire

        def claim(rule: FlatRule, batch: CodeArray, first: int) -> Mask:
            return are_mine(rule, batch, first, routes, relations, wire)

        found = changed_derivations(rules, relations, earlier, derivations, claim)
        return self._to_owners(rules[0].relation, *found)

    def _to_owners(self, relation: str, rows: Int64s, diffs: Int64s) -> tuple[Int64s, Int64s]:
        """Send derivations to the owners of their groups; return those of groups owned here."""
        aggregate, agreement = self.aggregates[relation], self._agree()
        width = len(aggregate.group_types)
        if agreement is not None and rows.size:
            types = (*aggregate.group_types, aggregate.types[0])
            columns = [agreement.translate(rows[:, n], types[n]) for n in range(rows.shape[1])]
            rows = np.column_stack(columns)
        groups = np.ascontiguousarray(rows[:, :width])
        packed = np.column_stack([rows, diffs])
        tables: list[list[Rows]] = [[] for _ in range(self._wire.partners)]
        for partner, positions in parts_by_owner(groups, WHOLE_ROW, self._wire.partners):
            tables[partner].append(Rows(_DERIVATIONS, packed[positions]))
        received = self._wire.exchange([Message((), tuple(each)) for each in tables])
        parts = [table.rows for message in received for table in message.tables]
        found = np.concatenate([packed[:0], *parts])
        return np.ascontiguousarray(found[:, :-1]), np.ascontiguousarray(found[:, -1])

    def _all_changes(self, groups: GroupFacts, changed: FactChanges) -> FactChanges:
        """Return what changed in the groups of all partners, as far as it is kept here."""
        agreement = self._agree()
        if agreement is not None:
            groups.translate(agreement.translate)
            relations = self._state.program.relations
            changed = {
                name: (agreement.rows(deleted, relations[name]), agreement.rows(inserted, relations[name]))
                for name, (deleted, inserted) in changed.items()
            }
        tables: list[list[Rows]] = [[] for _ in range(self._wire.partners)]
        routes = self.routes[groups.aggregate.relation].relations
        for name, sides in changed.items():
            for sign, rows in zip((_DELETED, _INSERTED), sides, strict=True):
                for partner, part in self._for_keepers(rows, routes[name]):
                    tables[partner].append(Rows(f"{sign}{name}", part))
        received = self._wire.exchange([Message((), tuple(each)) for each in tables])
        every = [table for message in received for table in message.tables]
        return {
            name: (_joined(every, _DELETED + name, arity), _joined(every, _INSERTED + name, arity))
            for name in {table.name[1:]: None for table in every}
            if (arity := self._state.relations[name].arity) >= 0
        }

    def _for_keepers(self, rows: Int64s, route: RelationRoute) -> Iterator[tuple[int, Int64s]]:
        """Yield the partners that keep some of the rows, each with those."""
        if route.is_everywhere or not rows.shape[0]:
            yield from ((partner, rows) for partner in range(self._wire.partners))
            return
        for partner, positions in parts_by_keeper(rows, route, self._wire.partners):
            yield partner, rows[positions]


def _joined(tables: Iterable[Rows], name: str, arity: int) -> Int64s:
    parts = [table.rows.astype(np.int64) for table in tables if table.name == name]
    return np.concatenate([np.empty((0, arity), np.int64), *parts])
