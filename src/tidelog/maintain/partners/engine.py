"""One partner's share of a program's state, from evaluation through epochs.

All partners do the same steps with the same changes; what differs is which facts they keep.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tidelog.engine.convergence import check_iterations, iterations_to
from tidelog.engine.epoch import Action, MaintenanceSettings, Strategy, StratumReport
from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState, NeedsWideCodes, fits_narrow
from tidelog.engine.protocol import Settings, SilentObserver, StratumStatistics
from tidelog.engine.spark.codes import Known, WorkerCodec
from tidelog.engine.spark.partner import (
    PartnerRun,
    PartnerSurroundings,
    is_kept,
    owned_rows,
    where_kept,
)
from tidelog.engine.spark.routes import RelationRoute, Routes, find_routes
from tidelog.engine.spark.wire import Wire, total
from tidelog.maintain.heads import WorkMeter
from tidelog.maintain.judge import EpochJudge
from tidelog.maintain.labels import RelationLabels
from tidelog.maintain.partners.heads import PartnerHeads
from tidelog.maintain.row_change import RowChange, compare_states
from tidelog.maintain.sweeps import OverBudget, Sweeps
from tidelog.maintain.work import evaluation_work, stratum_work, update_budget
from tidelog.plan.maintenance import maintained_rule
from tidelog.program.nodes import Program, Stratum
from tidelog.program.walk_nodes import earlier_relations
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int32s, Int64s

_NO_ROWS: Int64s = np.empty(0, np.int64)
# Given facts of a recomputed stratum come from here, whatever their number.
_NEVER = StoredRelation.NEVER


@dataclass(frozen=True)
class RowsChange:
    """Input facts to insert and to delete, as rows."""

    inserted: CodeArray
    deleted: CodeArray


def routes_of(program: Program) -> tuple[Routes, ...]:
    """Return the routes of every stratum, for a state that stays.

    Relations that another stratum reads are at every partner, so that each finds its derivations alone.
    """
    read = {name for stratum in program.strata for name in earlier_relations(stratum)}
    found = []
    for stratum in program.strata:
        routes = find_routes(stratum, program)
        relations = {}
        for name in stratum.relations:
            route = routes.relations[name]
            relations[name] = replace(route, is_everywhere=route.is_everywhere or name in read)
        is_decomposed = routes.is_decomposed and not any(r.is_everywhere for r in relations.values())
        found.append(Routes(relations, routes.rules, is_decomposed))
    return tuple(found)


class PartnerEngine:
    """What one partner keeps of a program whose rules can all be followed."""

    def __init__(
        self, program: Program, known: Known, settings: Settings, wire: Wire, *, is_wide: bool
    ) -> None:
        self.program = program
        self.wire = wire
        self.routes = routes_of(program)
        self.route: dict[str, RelationRoute] = {
            name: route for routes in self.routes for name, route in routes.relations.items()
        }
        self._settings = settings
        self.state = LocalState(program, counting=True, dtype=np.int64 if is_wide else np.int32)
        self._expressions = Expressions(program, WorkerCodec(program.types, known), {})
        self._derivations = LocalDerivations(self.state, self._expressions)
        self._labels: dict[str, RelationLabels] = {}
        self._replaced: dict[str, StoredRelation] = {}
        self._rules = [
            tuple(maintained_rule(rule, program) for rule in stratum.rules) for stratum in program.strata
        ]
        self._read = [earlier_relations(stratum) for stratum in program.strata]
        self.work: list[int] = [0] * len(program.strata)

    # --- from nothing, and from files -------------------------------------------------------------

    def insert(self, name: str, rows: CodeArray) -> None:
        """Insert input facts; those that this partner keeps are kept."""
        kept = is_kept(rows, self.route[name], self.wire)
        if not self.state.is_wide and not fits_narrow(kept.astype(np.int64, copy=False)):
            raise NeedsWideCodes
        relation = self.state.relations[name]
        relation.insert(np.ascontiguousarray(kept.astype(self.state.dtype)), first_new=_NEVER)
        self.state.show_all(name)

    def load(self, name: str, rows: CodeArray, levels: Int32s, counts: Int32s) -> None:
        """Take over rows with their annotations; rows that were loaded before get new ones."""
        is_here = where_kept(rows, self.route[name], self.wire)
        relation = self.state.relations[name]
        numbers = relation.locate(np.ascontiguousarray(rows[is_here].astype(self.state.dtype)))
        relation.levels[numbers] = levels[is_here]
        relation.previous[numbers] = levels[is_here]
        relation.counts[numbers] = counts[is_here]
        relation.show_rows(numbers)
        relation.hide_absent_rows(numbers)
        self.state.show_all(name)

    def evaluate(self) -> list[StratumStatistics]:
        """Bring every stratum to its fixpoint and annotate every fact."""
        finished = []
        for number, stratum in enumerate(self.program.strata):
            statistics = self._run(number, stratum)
            finished.append(statistics)
            self.work[number] = self._total_work(statistics)
        return finished

    def _run(self, number: int, stratum: Stratum) -> StratumStatistics:
        around = PartnerSurroundings(self.state, self._expressions, self._settings, self.wire)
        return PartnerRun(stratum, self.routes[number], around).run(number, SilentObserver())

    def _total_work(self, statistics: StratumStatistics) -> int:
        # All go through the same iterations, which count once.
        return total(self.wire, stratum_work(replace(statistics, iterations=0)))[0] + evaluation_work(
            0, 0, statistics.iterations
        )

    # --- an epoch ---------------------------------------------------------------------------------

    def apply(
        self, changes: Mapping[str, RowsChange], settings: MaintenanceSettings
    ) -> tuple[dict[str, RowChange], tuple[StratumReport, ...]]:
        """Bring all strata to the new epoch; the caller commits, or all is undone on an exception."""
        try:
            return self._apply(changes, settings)
        except BaseException:
            self.undo()
            raise

    def _apply(
        self, changes: Mapping[str, RowsChange], settings: MaintenanceSettings
    ) -> tuple[dict[str, RowChange], tuple[StratumReport, ...]]:
        inputs = {name: self._rows_of(name, change) for name, change in changes.items()}
        sizes = {name: len(c.inserted) + len(c.deleted) for name, c in changes.items()}
        found: dict[str, RowChange] = {}
        reports = []
        for number, stratum in enumerate(self.program.strata):
            own = {name: inputs[name] for name in stratum.relations if name in inputs}
            earlier = {name: found[name] for name in self._read[number] if name in found}
            begun = time.perf_counter()
            # Every partner keeps what another stratum reads, so all count the same.
            rows = sum(sizes[name] for name in own) + sum(
                change.deleted.size + change.inserted.size for change in earlier.values()
            )
            action, strategy, reason, work, changed = self._bring(
                number, stratum, own, earlier, rows, settings
            )
            found.update(
                {n: change for n, change in changed.items() if change.deleted.size + change.inserted.size}
            )
            reports.append(
                StratumReport(
                    stratum.relations, action, strategy, reason, 0, work, time.perf_counter() - begun
                )
            )
        return found, tuple(reports)

    def _bring(  # noqa: PLR0913, PLR0917 - what is known of one stratum in one epoch
        self, number: int, stratum: Stratum, own: Mapping[str, RowChange], earlier: Mapping[str, RowChange],
        rows: int, settings: MaintenanceSettings,
    ) -> tuple[Action, Strategy, str, int, dict[str, RowChange]]:  # fmt: skip
        """Bring one stratum to the new epoch in the way that costs least."""
        if not rows:
            return Action.SKIPPED, Strategy.UPDATE, "nothing it reads changed", 0, {}
        partners = f"{self.wire.partners} partners"
        if settings.strategy is Strategy.RECOMPUTE and stratum.rules:
            changed, work = self._recompute(number, stratum, own, earlier)
            return (
                Action.RECOMPUTED,
                Strategy.RECOMPUTE,
                f"recomputing was asked for; {partners}",
                work,
                changed,
            )
        budget = float("inf")
        if settings.strategy is Strategy.AUTO and stratum.rules:
            budget = update_budget(settings.switch, self.work[number])
        labels = {name: self._label(name) for name in stratum.relations}

        def check_level(level: int) -> None:
            check_iterations(iterations_to(level, stratum), stratum, self._settings)

        judge = EpochJudge(self.state.relations, labels, earlier)
        meter = WorkMeter(self._derivations, budget)
        heads = PartnerHeads(judge, meter, check_level, self.routes[number], self.wire)
        try:
            changed = Sweeps(self._rules[number], judge, self._derivations, heads).run(own)
        except OverBudget:
            for label in labels.values():
                label.undo()
            reason = (
                f"{partners} gave the update up after {heads.work:,} derivations; {budget:,.0f} are allowed"
            )
            changed, work = self._recompute(number, stratum, own, earlier)
            return Action.RECOMPUTED, Strategy.RECOMPUTE, reason, work + heads.work, changed
        return (
            Action.UPDATED,
            Strategy.UPDATE,
            f"{rows:,} changed facts reach it; {partners}",
            heads.work,
            changed,
        )

    def _rows_of(self, name: str, change: RowsChange) -> RowChange:
        """Return the numbers of the changed rows that this partner keeps."""
        relation = self.state.relations[name]
        parts = []
        for rows in (change.deleted, change.inserted):
            kept = is_kept(rows, self.route[name], self.wire)
            if not self.state.is_wide and not fits_narrow(rows.astype(np.int64, copy=False)):
                raise NeedsWideCodes
            packed = np.ascontiguousarray(kept.astype(self.state.dtype))
            parts.append(relation.locate(packed) if len(packed) else _NO_ROWS)
        return RowChange(*parts)

    def _label(self, name: str) -> RelationLabels:
        labels = self._labels.get(name)
        if labels is None:
            labels = self._labels[name] = RelationLabels(self.state.relations[name])
        return labels

    def _recompute(
        self, number: int, stratum: Stratum, inputs: Mapping[str, RowChange], earlier: Mapping[str, RowChange]
    ) -> tuple[dict[str, RowChange], int]:
        """Evaluate a stratum from nothing; return what changed and the work of all partners."""
        old = {name: self.state.relations[name].snapshot() for name in stratum.relations}
        for name, relation in old.items():
            change = inputs.get(name, RowChange(_NO_ROWS, _NO_ROWS))
            self._replaced.setdefault(name, relation)
            is_given = relation.levels[: relation.count] == 0
            is_given[change.deleted] = False
            is_given[change.inserted] = True
            self.state.replace(name, relation.rows[: relation.count][is_given], len(relation))
        for name, change in earlier.items():
            # Until the epoch ends, deleted facts stay visible for updates, but not for an evaluation.
            self.state.relations[name].delete_rows(change.deleted)
            self.state.show_all(name)
        try:
            statistics = self._run(number, stratum)
        finally:
            for name, change in earlier.items():
                self.state.relations[name].show_rows(change.deleted)
        self.work[number] = self._total_work(statistics)
        relations = self.state.relations
        changes = {name: compare_states(relation, relations[name]) for name, relation in old.items()}
        return changes, self.work[number]

    def commit(self) -> dict[str, Int64s]:
        """Forget the old epoch; return the rows of each relation whose annotations changed."""
        touched: dict[str, Int64s] = {}
        for name, labels in self._labels.items():
            relation, rows = self.state.relations[name], labels.touched()
            if rows.size:
                relation.previous[rows] = relation.levels[rows]
                relation.hide_absent_rows(rows)
                touched[name] = rows
            labels.forget()
        for name in self._replaced:
            relation = self.state.relations[name]
            rows = np.arange(relation.count)
            relation.previous[rows] = relation.levels[rows]
            relation.hide_absent_rows(rows)
            touched[name] = rows
        self._replaced = {}
        return touched

    def undo(self) -> None:
        """Go back to the old epoch."""
        for name, before in self._replaced.items():
            self.state.relations[name].take(before)
            self.state.show_all(name)
        self._replaced = {}
        for labels in self._labels.values():
            labels.undo()

    # --- what this partner answers for -----------------------------------------------------------

    def owned(self, name: str, numbers: Int64s) -> Int64s:
        """Return those of the rows that this partner owns."""
        rows = self.state.relations[name].rows[numbers]
        return numbers[owned_rows(rows, self.route[name], self.wire)]

    def facts(self, name: str) -> Int64s:
        """Return the numbers of the facts that this partner owns."""
        relation = self.state.relations[name]
        return self.owned(name, np.flatnonzero(relation.levels[: relation.count] != ABSENT))
