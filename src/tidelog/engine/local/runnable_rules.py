"""Rules of a stratum with the steps that run them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.engine.local.chains import StepChain, make_chain
from tidelog.engine.local.emit import EmitStep, MeteredEmitStep, MeteredSharedEmitStep, SharedEmitStep
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.key_scan import KeyScanStep
from tidelog.engine.local.sieve import is_sieved
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.statistics import StateStatistics
from tidelog.engine.local.workers import Workers, is_safe_in_threads
from tidelog.engine.protocol import Settings, UserFunctions
from tidelog.plan import RulePlan
from tidelog.plan.measured import END, MeasuredChain, Measurements
from tidelog.plan.operators import Operator, View
from tidelog.plan.statistics import JoinName

# So many derivations each fact of the delta must have led to before known ones are sieved out.
_MATCHES_FOR_SIEVE = 4


@dataclass
class RunContext:
    """What every stratum of a run shares."""

    state: LocalState
    expressions: Expressions
    functions: UserFunctions
    settings: Settings
    statistics: StateStatistics
    workers: Workers
    check_memory: Callable[[], None]
    measurements: Measurements | None = None


class _RunnableChain:
    """A chain of a rule plan with its steps: once for a single thread, and once for each worker."""

    def __init__(self, operators: Sequence[Operator], plan: RulePlan, context: RunContext) -> None:
        measured = None
        if context.measurements is not None:
            counted = replace(plan, operators=tuple(operators), keyed=())
            measured = context.measurements.begin(counted, context.state.program, context.statistics)
        self.is_sieved = is_sieved(operators)
        self.end = EmitStep() if measured is None else MeteredEmitStep(measured.meter(END))
        made = operators, context.state, context.expressions
        whole = None if measured is None else MeasuredChain(measured)
        self.chain = make_chain(*made, self.end, whole)
        self.threads: list[tuple[StepChain, SharedEmitStep]] = []
        if context.workers.jobs > 1 and is_safe_in_threads(operators):
            for thread in range(context.workers.jobs):
                shared = SharedEmitStep(thread)
                if measured is not None:
                    shared = MeteredSharedEmitStep(thread, measured.meter(END))
                self.threads.append((make_chain(*made, shared, whole), shared))

    def pays(self) -> bool:
        """Say whether it is better than a chain that scans the facts of the delta."""
        scan = self.chain.scan
        return isinstance(scan, KeyScanStep) and scan.pays()

    def derivations(self) -> int:
        """Return how many derivations were found."""
        return self.end.derivations + sum(end.derivations for _, end in self.threads)

    def work(self) -> int:
        """Return how many matches joins had, and how many derivations were found."""
        chains = (self.chain, *(chain for chain, _ in self.threads))
        return self.derivations() + sum(step.matches for chain in chains for step in chain.joins)

    def note_matches(self, plan: RulePlan, statistics: StateStatistics) -> None:
        """Let the planner know what joins with whole relations have matched."""
        for chain in (self.chain, *(chain for chain, _ in self.threads)):
            for step in chain.joins:
                join = step.join
                if not join.group and not join.filters and join.view is not View.DELTA:
                    name = JoinName(plan.rule, plan.delta_atom, join.relation, join.key, join.operands)
                    statistics.note(name, step.bindings, step.matches)


class RunnableRule:
    """A rule plan with its chains: the one that is planned, and one that begins with keys of the delta."""

    def __init__(self, plan: RulePlan, context: RunContext) -> None:
        self.plan = plan
        self._chain = _RunnableChain(plan.operators, plan, context)
        self._keyed = _RunnableChain(plan.keyed, plan, context) if plan.keyed else None
        # How many facts of the delta were scanned so far.
        self._scanned = 0

    def chain(self) -> _RunnableChain:
        """Return the chain for the present delta."""
        keyed = self._keyed
        is_dense = self.derivations() >= _MATCHES_FOR_SIEVE * self._scanned
        self._scanned += self._chain.chain.facts()
        if keyed is None or not keyed.pays() or (keyed.is_sieved and not is_dense):
            return self._chain
        return keyed

    def work_per_fact(self) -> int:
        """Return about how many matches and derivations a fact of the delta leads to, at least one."""
        work = self._chain.work() + (self._keyed.work() if self._keyed is not None else 0)
        return max(1, work // max(1, self._scanned))

    def note_matches(self, statistics: StateStatistics) -> None:
        """Let the planner know what the joins of the rule's own chain have matched."""
        self._chain.note_matches(self.plan, statistics)

    def derivations(self) -> int:
        """Return how many derivations all chains found."""
        return self._chain.derivations() + (self._keyed.derivations() if self._keyed is not None else 0)
