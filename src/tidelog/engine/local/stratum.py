"""Semi-naive evaluation of one stratum.

Iteration k applies the delta rules to the facts of earlier iterations; no rule sees what it finds
before iteration k + 1. A relation's rows are in the order of their iterations, so what
an iteration sees is a range of row numbers.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from tidelog.engine.convergence import check_convergence, is_full
from tidelog.engine.local.chains import StepChain
from tidelog.engine.local.emit import (
    CandidatesAside,
    SharedInsertion,
)
from tidelog.engine.local.index_tasks import IndexTask, run_index_tasks
from tidelog.engine.local.lookups import build_index
from tidelog.engine.local.narrowing import narrow_values
from tidelog.engine.local.runnable_rules import RunContext, RunnableRule
from tidelog.engine.local.settle import Settler, needs_settling
from tidelog.engine.local.small import SmallIterations
from tidelog.engine.local.subsume import Dominated
from tidelog.engine.local.written_facts import written_facts
from tidelog.engine.protocol import Observer, StratumStatistics
from tidelog.plan import RulePlan, StratumPlan, for_evaluation, plan_stratum
from tidelog.plan.operators import Check, Find, IndexJoin, Leapfrog, ScanView, View, all_operators
from tidelog.program.nodes import Rule, RuleId, Stratum
from tidelog.program.walk_nodes import relations_read
from tidelog.storage import Index, StoredRelation
from tidelog.storage.lattice_table import LatticeTable
from tidelog.storage.sharing import Share

# Below this many matches and derivations that are expected, starting threads costs more than it gains.
_ROWS_FOR_THREADS = 1 << 13
# A rule that is expected to be less work is tried on this part of its rows first and on no more than so many,
# then on twice as many.
_PART_TO_TRY = 1 << 6
_ROWS_TO_TRY = 1 << 8
# A rule is planned again when a relation it reads has grown by this factor, beyond a size that matters.
_PLAN_AGAIN_FACTOR = 4
_PLAN_AGAIN_ROWS = 1 << 12


class StratumRun:
    """The evaluation of one stratum, from its inputs to its fixpoint."""

    # Whether every derivation is found, and found once, also of facts that are known.
    finds_all_derivations = False

    def __init__(self, stratum: Stratum, context: RunContext) -> None:
        self._stratum = stratum
        self._context = context
        self._state = context.state
        self._settlers: dict[str, Settler] = {}
        # The delta rules as planned, before they are adapted to each other.
        self._planned: list[RulePlan] = []
        self._once: list[RunnableRule] = []
        self._repeated: list[RunnableRule] = []
        self._iteration_start = dict.fromkeys(stratum.relations, 0)
        # The rows that each relation has at the beginning, and whose later rows nothing reads twice.
        self._inputs: dict[str, int] = {}
        self._read_once: frozenset[str] = frozenset()
        reading = {rule.id: relations_read((*rule.head.terms, *rule.body)) for rule in stratum.rules}
        self._small = SmallIterations(stratum, frozenset(stratum.relations).union(*reading.values()))
        self._reads = {
            rule: frozenset(names).intersection(stratum.relations) for rule, names in reading.items()
        }
        self._places = {rule.id: place for place, rule in enumerate(stratum.rules)}
        self._planned_sizes: dict[RuleId, dict[str, int]] = {}
        self._dominated: Dominated | None = None
        self._derivations = 0
        # How many facts rules have begun with, whatever became of them.
        self._scanned = 0
        # The input facts of relations with a law.
        self._input_rows: dict[str, npt.NDArray[np.int64]] = {}

    def run(self, number: int, observer: Observer) -> StratumStatistics:
        """Evaluate the stratum's relations to their fixpoint."""
        start = time.perf_counter()
        bindings = self._state.bindings
        self._begin()
        self._plan_rules(self._stratum.rules)
        iteration = 0
        stratum, program, settings = self._stratum, self._state.program, self._context.settings
        while stratum.rules:
            iteration += 1
            check_convergence(iteration, stratum, program, settings, sum(self._sizes().values()))
            new = self._iterate(iteration)
            observer.iteration_finished(number, iteration, new, self._state.size())
            self._context.check_memory()
            if self._runs_small() and self._small.takes(new, self._state, has_settlers=bool(self._settlers)):
                iteration, new = self._run_small(number, iteration, observer)
            if not new or not stratum.is_recursive or is_full(stratum, program, self._sizes().__getitem__):
                break
        if program.narrows(stratum):
            finish = partial(self._finish, after=iteration)
            narrow_values(stratum, self._settlers, self._input_rows, self._context, finish)
        for name in self._stratum.relations:
            self._state.show_all(name)
            self._state.relations[name].forget_deleted_levels()
        self._derivations += sum(rule.derivations() for rule in self._repeated)
        facts, yielded = sum(self._sizes().values()), self._state.bindings - bindings
        took = (self._derivations, time.perf_counter() - start, yielded, self._scanned)
        return StratumStatistics(stratum.relations, stratum.is_recursive, iteration, facts, *took)

    def _begin(self) -> None:
        """Settle the inputs and let the first iteration see them as its delta."""
        state = self._state
        for name in self._stratum.relations:
            relation = state.program.relations[name]
            if needs_settling(relation):
                inputs = state.relations[name].live_rows()
                state.replace(name)
                stored = state.relations[name]
                codec, functions = self._context.expressions.codec, self._context.functions
                self._settlers[name] = Settler(relation, stored, state.program, codec, functions)
                self._settlers[name].settle(inputs)
                self._input_rows[name] = inputs.astype(np.int64)
        if state.annotated and self._stratum.is_recursive:
            for name in self._stratum.relations:
                state.relations[name].begin_evaluation()
        beginnings = dict.fromkeys(self._stratum.relations, 0)
        self._inputs = {name: state.relations[name].count for name in beginnings}
        state.set_levels(beginnings, 0)
        self._show_delta(beginnings)

    def _iterate(self, iteration: int) -> int:
        """Run one iteration and return how many facts are new."""
        state = self._state
        before = {name: state.relations[name].count for name in self._stratum.relations}
        self._iteration_start = before
        if iteration > 1 and (outgrown := self._outgrown_rules()):
            self._plan_rules(outgrown)
        early = [rule for rule in self._repeated if self._is_early(rule.plan)]
        self._run_early(early)
        if iteration == 1:
            self._insert_facts()
            for rule in self._once:
                self._run_rule(rule)
            self._derivations += sum(rule.derivations() for rule in self._once)
        for rule in self._repeated:
            if rule not in early:
                self._run_rule(rule)
        for settler in self._settlers.values():
            settler.settle()
        return self._finish(iteration, before)

    def _finish(self, iteration: int, before: Mapping[str, int], after: int = 0) -> int:
        """Let the next iteration see what this one found; return how many facts are new."""
        self._state.set_levels(before, after + iteration)
        return self._show_delta(before)

    def _runs_small(self) -> bool:
        """Say whether small iterations may run row by row: not if every operator is measured."""
        return self._context.measurements is None

    def _run_small(self, number: int, iteration: int, observer: Observer) -> tuple[int, int]:
        """Run iterations row by row while they are small; return the last one, and 0 if it found nothing."""
        done = self._small.run(iteration, self._context, partial(observer.iteration_finished, number))
        if done is None:
            return iteration, 1
        self._derivations += done.derivations
        if done.is_finished:
            return done.iteration, 0
        # Indexes were made again, so chains of steps must be.
        for name in self._stratum.relations:
            relation = self._state.relations[name]
            relation.index_new_rows(self._context.workers.sharing(relation.count))
        self._derivations += sum(rule.derivations() for rule in self._repeated)
        self._repeated = []
        self._plan_rules(self._stratum.rules)
        return done.iteration, 1

    def _show_delta(self, before: Mapping[str, int]) -> int:
        """Let the next iteration see the rows found since `before`; return how many there are."""
        state = self._state
        for name, count in before.items():
            relation = state.relations[name]
            visible = state.visible[name]
            visible.delta, visible.end = count, relation.count
        self._index_rows(before)
        if self._stratum.subsumptions:
            # It is made again when indexes may have been dropped.
            if self._dominated is None:
                self._dominated = Dominated(self._stratum, state, self._context.expressions)
            self._dominated.delete()
        for name in self._read_once:
            state.relations[name].drop_rows(self._inputs[name], before[name])
        return sum(len(state.relations[name].live_rows(count)) for name, count in before.items())

    def _index_rows(self, before: Mapping[str, int]) -> None:
        """Add the rows found since `before` to the indexes of their relations."""
        relations = [self._state.relations[name] for name in before]
        for relation in relations:
            relation.enter_new_rows()
        grown = [
            (index, relation)
            for relation in relations
            for index in relation.indexes.values()
            if index.rows_indexed < relation.count
        ]
        tasks = [
            IndexTask(index.cost_of_rows(relation.count), index.is_dense, self._index_task(index, relation))
            for index, relation in grown
        ]
        rows = sum(relation.count for relation in relations) - sum(before.values())
        run_index_tasks(tasks, self._context.workers, rows)

    def _index_task(self, index: Index, relation: StoredRelation) -> Callable[[Share], None]:
        """Return what adds the rows of a relation to one of its indexes."""
        return lambda share: index.add_rows(relation.held, relation.count, share=share)

    def _insert_facts(self) -> None:
        """Insert the rules without a body."""
        for name, rows in written_facts(self._stratum.rules, self._context.expressions).items():
            self._derivations += len(rows)
            packed = self._state.pack_rows(rows)
            self._target(name).insert(packed, first_new=self._iteration_start[name])

    def _target(self, name: str) -> StoredRelation | LatticeTable:
        """Return where candidates of a relation are collected."""
        settler = self._settlers.get(name)
        return self._state.relations[name] if settler is None else settler.pending

    def _run_early(self, rules: Sequence[RunnableRule]) -> None:
        """Run rules that must not see what this iteration finds; what they find is inserted afterwards."""
        aside = {place: CandidatesAside() for place in range(len(rules))}
        for place, rule in enumerate(rules):
            self._run_rule(rule, aside[place])
        for place, rule in enumerate(rules):
            self._insert_aside(rule, aside[place])

    def _is_early(self, plan: RulePlan) -> bool:
        """Say whether a rule checks facts of the stratum where presence does not tell in which iteration."""
        if not self._state.annotated:
            return False
        unnumbered = {
            name: relation.arity
            for name in self._stratum.relations
            if not (relation := self._state.relations[name]).needs_numbers
        }
        return any(
            isinstance(operator, Check) and unnumbered.get(operator.relation) == len(operator.key)
            for operator in all_operators((*plan.operators, *plan.keyed))
        )

    def _insert_aside(self, rule: RunnableRule, aside: CandidatesAside) -> None:
        """Insert what a rule found aside."""
        name = rule.plan.relation
        for batch in aside.batches:
            self._target(name).insert(batch, first_new=self._iteration_start[name])

    def _run_rule(self, rule: RunnableRule, aside: CandidatesAside | None = None) -> None:
        """Run a rule over what it scans in this iteration; insert what it finds, or keep it aside."""
        target = self._target(rule.plan.relation)
        each = rule.work_per_fact()
        runnable = rule.chain()
        first, last = runnable.chain.rows()
        if first == last:
            return
        self._scanned += min(runnable.chain.facts(), last - first)
        first_new = self._iteration_start[rule.plan.relation]
        is_plain = rule.plan.relation not in self._settlers and not target.alive.size
        appends = aside is None and is_plain and rule.plan.is_distinct and self._appends(rule.plan.relation)
        end = runnable.end
        end.relation, end.first_new, end.appends = aside or target, first_new, appends
        if not is_plain or not runnable.threads:
            runnable.chain.run(first, last)
            return
        if each * runnable.chain.facts() < max(_ROWS_FOR_THREADS, self._context.workers.work_for_all):
            first, each = _run_while_small(runnable.chain, runnable.work, first, last)
        if first < last:
            assert isinstance(target, StoredRelation)
            threads = len(runnable.threads)
            insertion = aside or SharedInsertion(target, threads, first_new, appends=appends)
            self._context.workers.run_chains(runnable.threads, insertion, (first, last), each)

    def _appends(self, name: str) -> bool:
        """Say whether a relation is empty and may never need its table: no rule adds to it again."""
        is_empty = not self._state.relations[name].count
        return is_empty and not self._stratum.is_recursive

    def _plan_rules(self, rules: Sequence[Rule]) -> None:
        """Plan rules for the present sizes and make them runnable; keep those whose plan stays the same."""
        self._prepare(self._plan(rules))

    def _plan(self, rules: Sequence[Rule]) -> StratumPlan:
        """Return the plan of the stratum with rules planned for the present sizes."""
        sizes = self._sizes()
        for runnable in self._repeated:
            runnable.note_matches(self._context.statistics)
        for rule in rules:
            self._planned_sizes[rule.id] = {name: sizes[name] for name in self._reads[rule.id]}
        plan = plan_stratum(
            replace(self._stratum, rules=tuple(rules)),
            self._state.program,
            self._context.statistics,
            counting=self.finds_all_derivations,
        )
        planned = {rule.id for rule in rules}
        kept = [plan for plan in self._planned if plan.rule not in planned]
        self._planned = sorted((*kept, *plan.repeated), key=lambda each: self._places[each.rule])
        plan = replace(plan, repeated=tuple(self._planned))
        if self.finds_all_derivations:
            return plan
        return for_evaluation(plan, self._stratum, self._context.statistics)

    def _prepare(self, plan: StratumPlan) -> None:
        """Make a plan runnable, with the indexes that it needs and no others."""
        self._drop_unused_indexes(plan)
        self._dominated = None
        self._read_once = self._relations_read_once(plan)
        self._allow_presence((*plan.once, *plan.repeated))
        self._build_indexes(plan)
        self._once = [RunnableRule(rule, self._context) for rule in plan.once]
        self._make_runnable(plan.repeated)

    def _make_runnable(self, plans: Sequence[RulePlan]) -> None:
        """Use these delta rules from here on; keep the steps of those whose operators did not change."""
        before = {(rule.plan.rule, rule.plan.delta_atom): rule for rule in self._repeated}
        self._repeated = []
        for plan in plans:
            known = before.get((plan.rule, plan.delta_atom))
            if known is None or (known.plan.operators, known.plan.keyed) != (plan.operators, plan.keyed):
                self._repeated.append(RunnableRule(plan, self._context))
            else:
                self._repeated.append(before.pop((plan.rule, plan.delta_atom)))
        self._derivations += sum(rule.derivations() for rule in before.values())

    def _outgrown_rules(self) -> list[Rule]:
        """Return the rules that read relations much larger than they were planned for."""
        sizes = self._sizes()
        return [
            rule
            for rule in self._stratum.rules
            if any(
                sizes[name] > max(_PLAN_AGAIN_FACTOR * size, _PLAN_AGAIN_ROWS)
                for name, size in self._planned_sizes[rule.id].items()
            )
        ]

    def _allow_presence(self, plans: Sequence[RulePlan]) -> None:
        """Let relations do without row numbers in membership, unless a rule must know what found a row when.

        A check sees what the current iteration has found already, which is only too early where a size
        limit may end the evaluation before the fixpoint.
        """
        limited = any(self._state.program.relations[name].size_limit for name in self._stratum.relations)
        checked = {
            operator.relation
            for plan in plans
            for operator in all_operators(plan.operators)
            if isinstance(operator, Check)
            and len(operator.key) == self._state.relations[operator.relation].arity
            and (limited or operator.view is View.DELTA)
        }
        for name in self._stratum.relations:
            relation = self._state.relations[name]
            if name in checked or self._stratum.subsumptions:
                relation.require_numbers()
            else:
                relation.needs_numbers = False

    def _drop_unused_indexes(self, plan: StratumPlan) -> None:
        """Forget the indexes of this stratum's relations, and the levels, that the plan does not look up."""
        used = {(x.relation, x.key) for x in plan.operators() if isinstance(x, Check)}
        joins = [x for x in plan.operators() if isinstance(x, IndexJoin)]
        used.update((x.relation, x.index) for x in joins)
        levels = {(x.relation, x.over, x.key) for x in joins if x.over}
        for name in self._stratum.relations:
            indexes = self._state.relations[name].indexes
            for key in [key for key in indexes if (name, key) not in used]:
                del indexes[key]
            direct = self._state.relations[name].direct
            for column in [key for key in direct if (name, key) not in used]:
                del direct[column]
            for index in indexes.values():
                for key in [key for key in index.levels if (name, index.key, key) not in levels]:
                    del index.levels[key]

    def _build_indexes(self, plan: StratumPlan) -> None:
        """Let indexes cover all rows, side by side, before steps ask for them one by one."""
        joins = [x for x in plan.operators() if isinstance(x, IndexJoin) and x.ordered is None]
        # Of joins by one index, those through its groups decide which kind it is.
        joins.sort(key=lambda join: bool(join.over or join.group))
        wanted = {(join.relation, join.index): join for join in joins}
        tasks, rows = [], 0
        for (name, key), join in sorted(wanted.items(), key=itemgetter(0)):
            relation = self._state.relations[name]
            missing = relation.count - relation.rows_indexed(key)
            # Dropped rows are written again first, by one thread.
            if missing and not relation.dropped[1]:
                build = partial(build_index, join, relation, self._state.visible[name].delta)
                tasks.append(IndexTask(missing, len(key) == 1, build))
                rows += missing
        run_index_tasks(tasks, self._context.workers, rows)

    def _relations_read_once(self, plan: StratumPlan) -> frozenset[str]:
        """Return the relations whose rows are read as a delta and then through indexes only."""
        program = self._state.program
        if self._state.annotated or self._stratum.subsumptions or not self._stratum.is_recursive:
            return frozenset()
        plain = {
            name
            for name in self._stratum.relations
            if name not in self._settlers and not program.relations[name].size_limit
        }
        for operator in plan.operators():
            match operator:
                case ScanView(view=View.DELTA):
                    continue
                case IndexJoin(ordered=None) | Check() if operator.key:
                    continue
                case ScanView() | IndexJoin() | Check() | Find():
                    plain.discard(operator.relation)
                case Leapfrog():
                    plain.difference_update(atom.relation for atom in operator.atoms)
                case _:
                    continue
        return frozenset(plain)

    def _sizes(self) -> dict[str, int]:
        return {name: len(self._state.relations[name]) for name in self._stratum.relations}


def _run_while_small(chain: StepChain, work: Callable[[], int], first: int, last: int) -> tuple[int, int]:
    """Run a chain in the calling thread until it proves to be much work; return the next row, and how much.

    What a rule finds for a fact is not known before it has run, and may differ from fact to fact.
    """
    least, each = chain.least_rows, 1
    rows = max(least, min(_ROWS_TO_TRY, 1 + (last - first) // _PART_TO_TRY))
    while first < last:
        before, end = work(), last if last - first < rows + least else first + rows
        chain.run(first, end)
        each = max(1, (work() - before) // (end - first))
        first, rows = end, 2 * rows
        if each * (last - first) >= _ROWS_FOR_THREADS:
            break
    return first, each
