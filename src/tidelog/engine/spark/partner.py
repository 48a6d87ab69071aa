"""Semi-naive evaluation of one stratum by equal partners.

Each partner runs the rules over its own part of the delta. Candidates go to their owners, which know
whether they are new: many of them while rules still run, the rest at the end of the iteration. New facts
go from there to the partners that keep copies. The second exchange carries the number of new facts, so all
stop together. Where a law decides which facts stay, owners decide (see `laws`).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.convergence import allowed_iterations, check_convergence
from tidelog.engine.local.chains import make_chain
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.statistics import StateStatistics
from tidelog.engine.local.steps import ChainStep, ScanStep
from tidelog.engine.local.written_facts import written_facts
from tidelog.engine.protocol import Observer, Settings, StratumStatistics
from tidelog.engine.spark.agreement import SharedCodec
from tidelog.engine.spark.candidates import Candidates
from tidelog.engine.spark.kernels import split_own, take_own
from tidelog.engine.spark.laws import OwnLaws
from tidelog.engine.spark.message import Message, Rows
from tidelog.engine.spark.ownership import copies_to_send, owned_rows, owner_of
from tidelog.engine.spark.plans import plan_once, plan_repeated
from tidelog.engine.spark.routes import Routes
from tidelog.engine.spark.spread_rules import SpreadRules
from tidelog.engine.spark.wire import Wire, total
from tidelog.plan import RulePlan
from tidelog.plan.operators import Check, ScanView
from tidelog.program.nodes import Stratum
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.lattice_table import LatticeTable
from tidelog.storage.relation import NO_BYTES

_PLAN_AGAIN_FACTOR = 4
_PLAN_AGAIN_ROWS = 1 << 14


class DividedScan(ScanStep):
    """A scan of the rows that one column assigns to this partner."""

    def __init__(
        self, scan: ScanView, state: LocalState, expressions: Expressions, column: int, wire: Wire
    ) -> None:
        super().__init__(scan, state, expressions)
        self._column = column
        self._wire = wire
        # Rows with a heavy value are divided by all their columns, or taken by every partner.
        self.heavy: tuple[int, ...] = ()
        self.takes_heavy = False

    def run(self, first: int, last: int) -> None:
        """Push this partner's rows among those numbered `first` to `last - 1`."""
        rows = self._relation.live_rows(first, last)
        if self.heavy and self._column >= 0:
            mine, count = self._take_some(rows)
        else:
            mine = np.empty_like(rows)
            count = take_own(rows, self._column, self._wire.partners, self._wire.me, mine)
        if not count:
            return
        if self._is_whole:
            self.next.run(mine[:count])
        else:
            self._scan(mine, NO_BYTES, 0, count)

    def _take_some(self, rows: CodeArray) -> tuple[CodeArray, int]:
        is_mine = owner_of(rows, self._column, self._wire.partners, self.heavy) == self._wire.me
        if self.takes_heavy:
            is_mine |= np.isin(rows[:, self._column], self.heavy)
        mine = np.ascontiguousarray(rows[is_mine])
        return mine, len(mine)


@dataclass
class PartnerContext:
    """What every stratum of one partner's work shares."""

    state: LocalState
    expressions: Expressions
    settings: Settings
    wire: Wire
    check_memory: Callable[[], None] = field(default=lambda: None)
    # The values that partners make, if the stratum makes any: see `agreement`.
    values: SharedCodec | None = None
    # Called after each iteration with its number; a partner may write a checkpoint there.
    after_iteration: Callable[[int], None] = field(default=lambda _: None)


class _Deliver(ChainStep):
    """The end of a rule's chain: own candidates become facts, others wait for the exchange."""

    def __init__(self, run: "PartnerRun", plan: RulePlan) -> None:
        route = run.routes.relations[plan.relation]
        self._run = run
        self._name = plan.relation
        self._rule = plan.rule
        self._arity = run.state.relations[plan.relation].arity
        self._route = route
        is_local = run.routes.rules[plan.rule].is_local and not route.heavy
        self._is_local = is_local or run.wire.partners == 1

    def run(self, batch: CodeArray) -> None:
        """Sort the batch by owner."""
        run = self._run
        if run.spread is not None:
            batch = run.spread.own_heads(self._rule, self._arity, batch)
        relation, first_new = run.target(self._name), run.iteration_start[self._name]
        if run.values is not None:
            # Owners are known once all partners agree on the codes of new values.
            run.derivations += batch.shape[0]
            run.candidates.add(self._name, batch)
            return
        if self._is_local:
            run.derivations += batch.shape[0]
            relation.insert(batch, first_new=first_new)
            return
        own, others = np.empty_like(batch), np.empty_like(batch)
        if self._route.heavy:
            is_own = owner_of(batch, self._route.owner, run.wire.partners, self._route.heavy) == run.wire.me
            count = int(np.count_nonzero(is_own))
            own[:count], others[: len(batch) - count] = batch[is_own], batch[~is_own]
        else:
            count = split_own(batch, self._route.owner, run.wire.partners, run.wire.me, own, others)
        if count:
            run.derivations += count
            relation.insert(own[:count], first_new=first_new)
        if run.routes.is_decomposed:
            return  # every partner runs this rule, and each keeps what it owns
        rest = batch.shape[0] - count
        if rest:
            run.derivations += rest
            run.candidates.add(self._name, others[:rest])


class PartnerRun:
    """One partner's part in the evaluation of one stratum."""

    def __init__(self, stratum: Stratum, routes: Routes, context: PartnerContext) -> None:
        self.stratum = stratum
        self.routes = routes
        self.state = context.state
        self.wire = context.wire
        self._context = context
        self.values = context.values if context.wire.partners > 1 else None
        self._written: dict[str, Int64s] = {}
        self.candidates = Candidates(
            context.state, routes, context.wire, lambda name: self.iteration_start[name]
        )
        has_law = context.state.program.law_of(stratum) is not None
        self.spread: SpreadRules | None = None
        if routes.heavy and context.state.counting:
            self.spread = SpreadRules(stratum, context.state.program, routes, context.wire)
        self._laws = OwnLaws(stratum, context.state, routes, context.wire) if has_law else None
        # How many facts partners had when the number of iterations was last compared with it.
        self._facts = 0
        self.iteration_start = dict.fromkeys(stratum.relations, 0)
        self._planned_size = 0
        self._once: list[_Runnable] = []
        self._repeated: list[_Runnable] = []
        self.derivations = 0

    def run(self, number: int, observer: Observer, iteration: int = 0) -> StratumStatistics:
        """Evaluate the stratum to its fixpoint; some iterations may have run before.

        The rows from `Visible.delta` on are then those that the last iteration found.
        """
        begun, bindings = time.perf_counter(), self.state.bindings
        if not iteration:
            if self._laws is not None:
                self._begin_laws(self._laws)
            for name in self.stratum.relations:
                visible, relation = self.state.visible[name], self.state.relations[name]
                visible.delta, visible.end = 0, relation.count
            self.state.set_levels(self.iteration_start, 0)
            self._written = written_facts(self.stratum.rules, self._context.expressions)
        if self.values is not None:
            self.values.begin()
        self._plan_rules(is_first=not iteration)
        while self.stratum.rules:
            iteration += 1
            self._check_convergence(iteration)
            new = self._iterate(iteration)
            observer.iteration_finished(number, iteration, new, self.state.size())
            self._context.check_memory()
            if not new or not self.stratum.is_recursive:
                break
            self._context.after_iteration(iteration)
        for name in self.stratum.relations:
            self.state.show_all(name)
        facts = sum(self.owned(name) for name in self.stratum.relations)
        return StratumStatistics(
            self.stratum.relations, self.stratum.is_recursive, iteration, facts,
            self.derivations, time.perf_counter() - begun, self.state.bindings - bindings,
        )  # fmt: skip

    def target(self, name: str) -> StoredRelation | LatticeTable:
        """Return where candidates of a relation that this partner owns are collected."""
        return self.state.relations[name] if self._laws is None else self._laws.target(name)

    def owned(self, name: str) -> int:
        """Return how many facts this partner owns."""
        relation, route = self.state.relations[name], self.routes.relations[name]
        if route.has_no_copies:
            return len(relation)
        return len(owned_rows(relation.live_rows(), route, self.wire))

    # --- one iteration --------------------------------------------------------------------------

    def _iterate(self, iteration: int) -> int:
        self.iteration_start = {name: self.state.relations[name].count for name in self.stratum.relations}
        if iteration == 1:
            self._insert_facts()
        elif self._has_outgrown_plan():
            self._plan_rules(is_first=False)
        self._run_rules([*self._once, *self._repeated] if iteration == 1 else self._repeated)
        if self.values is not None:
            self._agree(self.values)
        if self.wire.partners > 1 and not self.routes.is_decomposed:
            self._send_candidates()
            new = self._send_copies()
        else:
            self._decide()
            new = sum(
                len(self.state.relations[n].live_rows(count)) for n, count in self.iteration_start.items()
            )
        self.state.set_levels(self.iteration_start, iteration)
        for name, count in self.iteration_start.items():
            relation, visible = self.state.relations[name], self.state.visible[name]
            visible.delta, visible.end = count, relation.count
            relation.index_new_rows()
        return new

    def _run_rules(self, rules: Sequence["_Runnable"]) -> None:
        """Run rules, and send many of the candidates meanwhile, unless owners depend on values made here."""
        last = {rule.head: place for place, rule in enumerate(rules)}
        for place, rule in enumerate(rules):
            for _ in self._run_rule(rule):
                if self.values is None:
                    self.candidates.send_ahead(rule.head, is_complete=False)
            if self.values is None:
                self.candidates.send_ahead(rule.head, is_complete=last[rule.head] == place)

    def _run_rule(self, rule: "_Runnable") -> Iterator[None]:
        """Run a rule, piece by piece."""
        if rule.scan is None:
            # Without atoms there is one binding, and one partner that has it.
            if self.wire.me == 0 or self.routes.is_decomposed:
                rule.first_step.run(np.empty((1, 0), np.int32))
            return
        first, last = rule.scan.rows()
        for start in range(first, last, _PIECE):
            rule.scan.run(start, min(start + _PIECE, last))
            yield

    def _insert_facts(self) -> None:
        """Insert the rules without a body at their owners."""
        for name, facts in self._written.items():
            rows = self.state.pack_rows(facts)
            own = rows[owned_rows(rows, self.routes.relations[name], self.wire)]
            self.derivations += len(own)
            self.target(name).insert(own, first_new=self.iteration_start[name])

    def _agree(self, values: SharedCodec) -> None:
        """Agree on the codes of new values, and rewrite the candidates that have them."""
        agreement = values.agree(self.wire)
        if agreement.is_identity:
            return
        self.candidates.translate(agreement)
        # What expressions remember has codes from before.
        known = self._context.expressions
        self._context.expressions = Expressions(self.state.program, values, known.functions)
        self._plan_rules(is_first=False)

    def _send_candidates(self) -> None:
        """Send the rest of the candidates and take those that others found for this partner."""
        messages = [Message((), tuple(tables)) for tables in self.candidates.take()]
        for message in self.wire.exchange(messages):
            for table in message.tables:
                relation = self.target(table.name)
                relation.insert(table.rows, table.weights, self.iteration_start[table.name])
        self._decide()

    def _decide(self) -> None:
        """Let laws decide which candidates are facts, and which facts stay."""
        if self._laws is not None:
            self._laws.decide(self.iteration_start, self._context.expressions)

    def _begin_laws(self, laws: OwnLaws) -> None:
        """Decide about input facts, each at its owner, and send copies of those that stay."""
        laws.begin(self._context.expressions)
        if self.wire.partners > 1 and not self.routes.is_decomposed:
            self.iteration_start = {
                name: 0 if name in laws.decided else self.state.relations[name].count
                for name in self.stratum.relations
            }
            self._send_copies()
            self.iteration_start = dict.fromkeys(self.stratum.relations, 0)

    def _check_convergence(self, iteration: int) -> None:
        """Raise a diagnostic if there were more iterations than allowed for the facts that partners have."""
        settings, program = self._context.settings, self.state.program
        if iteration > allowed_iterations(self._facts) and program.has_lattice(self.stratum):
            facts = sum(self.owned(name) for name in self.stratum.relations)
            is_apart = self.wire.partners == 1 or self.routes.is_decomposed
            self._facts = facts if is_apart else total(self.wire, facts)[0]
        check_convergence(iteration, self.stratum, program, settings, self._facts)

    def _send_copies(self) -> int:
        """Send new facts to the partners that keep copies; return how many are new in all."""
        parcels: list[list[Rows]] = [[] for _ in range(self.wire.partners)]
        if self._laws is not None:
            parcels = self._laws.deleted()
        new = 0
        for name, count in self.iteration_start.items():
            relation, route = self.state.relations[name], self.routes.relations[name]
            rows = relation.live_rows(count)
            new += len(rows)
            for partner, part in copies_to_send(rows, route, self.wire):
                parcels[partner].append(Rows(name, part))
        messages = [Message((new,), tuple(parcel)) for parcel in parcels]
        found = 0
        for message in self.wire.exchange(messages):
            found += message.numbers[0]
            for table in message.tables:
                if self._laws is None or not self._laws.take(table):
                    self.state.relations[table.name].insert(table.rows)
        return found

    # --- plans --------------------------------------------------------------------------------

    def _plan_rules(self, *, is_first: bool) -> None:
        self._planned_size = sum(len(self.state.relations[name]) for name in self.stratum.relations)
        program = self.state.program
        statistics, counting = StateStatistics(self.state), self.state.counting
        once = (
            plan_once(self.stratum, program, statistics, self.routes, counting=counting) if is_first else ()
        )
        stratum = self.stratum if self.spread is None else self.spread.widened()
        repeated = plan_repeated(stratum, program, statistics, counting=counting)
        checked = {
            operator.relation
            for rule in (*(plan for plan, _, _ in once), *repeated)
            for operator in rule.operators
            if isinstance(operator, Check)
        }
        for name in self.stratum.relations:
            # Copies are looked up by content before candidates are sent, and facts that go are found by it.
            has_copies = len(self.routes.relations[name].columns) > 1 and self.wire.partners > 1
            relation = self.state.relations[name]
            if self._laws is not None and name in self._laws.decided:
                relation.require_numbers()
            else:
                relation.needs_numbers = name in checked or has_copies
        if self._laws is not None:
            self._laws.plan_again()
        if is_first:
            # Parts that never communicate each run these rules, and keep what they own.
            is_apart = self.wire.partners == 1 or self.routes.is_decomposed
            self._once = [
                self._runnable(rule, None if is_apart else column, place) for rule, column, place in once
            ]
        self._repeated = [
            self._runnable(rule, self._dividing_column(rule), rule.delta_atom) for rule in repeated
        ]

    def _runnable(self, plan: RulePlan, column: int | None, place: int | None) -> "_Runnable":
        chain = make_chain(plan.operators, self.state, self._context.expressions, _Deliver(self, plan))
        scan = chain.scan
        if scan is not None and column is not None:
            beginning = plan.operators[0]
            assert isinstance(beginning, ScanView)
            scan = DividedScan(beginning, self.state, self._context.expressions, column, self.wire)
            scan.heavy = self.routes.heavy
            scan.takes_heavy = place != min(self.routes.rules[plan.rule].columns, default=place)
            scan.next = chain.first
        return _Runnable(plan.relation, scan, chain.first)

    def _dividing_column(self, plan: RulePlan) -> int | None:
        """Return the column by which the scan of a delta is divided, or None if all of it is read here."""
        if self.wire.partners == 1:
            return None
        assert plan.delta_atom is not None
        column = self.routes.rules[plan.rule].columns[plan.delta_atom]
        beginning = plan.operators[0]
        assert isinstance(beginning, ScanView)
        route = self.routes.relations[beginning.relation]
        is_all_own = set(route.columns) == {column} and not route.is_everywhere and not route.heavy
        return None if is_all_own else column

    def _has_outgrown_plan(self) -> bool:
        size = sum(len(self.state.relations[name]) for name in self.stratum.relations)
        return size > max(_PLAN_AGAIN_FACTOR * self._planned_size, _PLAN_AGAIN_ROWS)


@dataclass(frozen=True, slots=True)
class _Runnable:
    """A rule as this partner runs it; without atoms there is no scan."""

    head: str
    scan: ScanStep | None
    first_step: ChainStep


# Rows a divided scan looks at in one go.
_PIECE = 1 << 14
