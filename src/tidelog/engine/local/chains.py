"""Chains of steps: a rule plan made runnable, and the aggregates inside it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.engine.local.aggregates import reduce_groups
from tidelog.engine.local.choose import LEAST_ROWS, ChooseStep
from tidelog.engine.local.combine import combiner
from tidelog.engine.local.emit import EmitStep, SharedEmitStep
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.key_scan import KeyScanStep
from tidelog.engine.local.lookups import CheckStep, FindStep, JoinStep
from tidelog.engine.local.marked import MarkedJoinStep, marked_column
from tidelog.engine.local.sieve import SieveStep, is_sieved
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import (
    BUFFER_ROWS,
    ChainStep,
    ComputeStep,
    FilterStep,
    GenerateStep,
    MeterStep,
    ProjectStep,
    ScanStep,
    SelectingStep,
    Sink,
    SinkStep,
    TakeApartStep,
)
from tidelog.plan import operators as ops
from tidelog.plan.measured import BEGIN, MeasuredChain, MeasuredPlan, Meter, Place
from tidelog.plan.operators import Choose, Layout, Operator, Reduce, ScanView, Start
from tidelog.program.nodes import Constant
from tidelog.source import Source, Span
from tidelog.storage.kernel import CodeArray

# The column that carries the number of the outer binding through an aggregate's body.
_GROUP = "%group"
_FIRST_GROUP = Constant(0, "number", span=Span(Source("aggregate", ""), 0, 0))


@dataclass
class StepChain:
    """Runnable steps: begins with a scan, or takes batches at `first`. Some of them are `joins`.

    It should run over `least_rows` at a time.
    """

    scan: ScanStep | None
    first: ChainStep
    joins: Sequence[JoinStep] = ()
    least_rows: int = 1

    def rows(self) -> tuple[int, int]:
        """Return the rows to scan, by their numbers; a chain without a scan has one empty binding."""
        return (0, 1) if self.scan is None else self.scan.rows()

    def facts(self) -> int:
        """Return how many facts are behind these rows."""
        return 1 if self.scan is None else self.scan.facts()

    def run(self, first: int, last: int) -> None:
        """Run over a range of row numbers, in pieces."""
        if self.scan is None:
            self.first.run(np.empty((last - first, 0), np.int32))
            return
        for start in range(first, last, BUFFER_ROWS):
            self.scan.run(start, min(start + BUFFER_ROWS, last))


@dataclass
class _MeteredChain(StepChain):
    """A chain that measures how long it runs."""

    meter: Meter | None = None

    def run(self, first: int, last: int) -> None:
        """Run over a range of row numbers, in pieces."""
        assert self.meter is not None
        begun = time.perf_counter()
        super().run(first, last)
        self.meter.seconds += time.perf_counter() - begun


def make_chain(
    operators: Sequence[Operator],
    state: LocalState,
    expressions: Expressions,
    end: ChainStep,
    measured: MeasuredChain | None = None,
) -> StepChain:
    """Return the steps of a chain of operators; the last one pushes to `end`.

    Indexes and membership that the operators look up are built here, before threads share them. With
    `measured`, what each operator yields and takes is added to it.
    """
    beginning = operators[0]
    plan, before = (None, BEGIN) if measured is None else measured
    marks = isinstance(beginning, ScanView) and beginning.view is not ops.View.DELTA
    if isinstance(end, EmitStep | SharedEmitStep) and is_sieved(operators):
        end = SieveStep(operators, state, expressions, end)
        operators = operators[:-1]
        if plan is not None:
            plan.read((*before, len(operators)), end)
    made = _Steps(state, expressions, end, plan, marks, [])
    first = made.metered((*before, 0), made.steps(operators, beginning.outputs, before, 1))
    scan = None
    if not isinstance(beginning, Start):
        assert isinstance(beginning, ScanView)
        scan = (KeyScanStep if beginning.key else ScanStep)(beginning, state, expressions)
        scan.next = first
    least_rows = LEAST_ROWS if any(isinstance(each, Choose) for each in ops.all_operators(operators)) else 1
    if plan is None:
        return StepChain(scan, first, made.joins, least_rows)
    return _MeteredChain(scan, first, made.joins, least_rows, plan.meter(before))


@dataclass(frozen=True, slots=True)
class _Steps:
    """Makes the steps of operators, with what measures them in `measured` if anything does.

    It `marks` what is checked if bindings are in the order of a whole relation: its facts are often sorted,
    so that a key follows itself. In a delta it hardly ever does.
    """

    state: LocalState
    expressions: Expressions
    end: ChainStep
    measured: MeasuredPlan | None
    marks: bool
    joins: list[JoinStep]

    def steps(
        self, operators: Sequence[Operator], layout: Layout, before: Place, begin: int = 0
    ) -> ChainStep:
        """Return the first of the steps of a chain from `begin` on, where it has this layout."""
        steps: list[ChainStep] = []
        number = begin
        while number < len(operators):
            operator, place = operators[number], (*before, number)
            if isinstance(operator, Choose):
                parts = (
                    self.metered((*place, each), self.steps(rest, layout, (*place, each)))
                    for each, rest in enumerate(operator.alternatives)
                )
                steps.append(ChooseStep(operator, layout, self.state, self.expressions, tuple(parts)))
                break
            both = self.joined_and_checked(operators[number : number + 2], layout)
            if both is not None and self.measured is not None:
                self.measured.read(place, both)
            number += 1 if both is None else 2
            steps.append(both or self.step(operator, layout, place))
            if isinstance(steps[-1], JoinStep):
                self.joins.append(steps[-1])
            if self.measured is not None:
                steps.append(MeterStep(self.measured.meter((*before, number - 1))))
            layout = operators[number - 1].outputs
        else:
            steps.append(self.end)
        for step, following in pairwise(steps):
            step.next = following
        return steps[0]

    def step(self, operator: Operator, layout: Layout, place: Place) -> ChainStep:
        """Return the step of one operator at a place."""
        if isinstance(operator, Reduce) and operator.scan is not None:
            from tidelog.engine.local.range_reduce import RangeReduceStep  # noqa: PLC0415 - few aggregates need it

            return RangeReduceStep(operator, operator.scan, layout, self.state, self.expressions)
        if isinstance(operator, Reduce):
            inside = None if self.measured is None else MeasuredChain(self.measured, (*place, 0))
            return ReduceStep(operator, layout, self.state, self.expressions, inside)
        return _STEPS[type(operator)](operator, layout, self.state, self.expressions)

    def joined_and_checked(self, operators: Sequence[Operator], layout: Layout) -> MarkedJoinStep | None:
        """Return one step for two operators, if they can be one."""
        if not self.marks or len(operators) < 2:
            return None
        join, check = operators
        if isinstance(join, ops.IndexJoin) and isinstance(check, ops.Check):
            arity = self.state.relations[check.relation].arity
            if marked_column(join, check, arity) is not None:
                return MarkedJoinStep(join, check, layout, self.state, self.expressions)
        return None

    def metered(self, place: Place, following: ChainStep) -> ChainStep:
        """Return the step that follows a place, behind one that counts if anything is measured."""
        if self.measured is None:
            return following
        step = MeterStep(self.measured.meter(place))
        step.next = following
        return step


def run_chain(operators: Sequence[Operator], state: LocalState, expressions: Expressions, sink: Sink) -> None:
    """Run a chain over all rows that it scans."""
    end = SinkStep()
    end.sink = sink
    chain = make_chain(operators, state, expressions, end)
    chain.run(*chain.rows())


def collect(operators: Sequence[Operator], state: LocalState, expressions: Expressions) -> CodeArray:
    """Return all bindings that a chain yields."""
    found: list[CodeArray] = [np.empty((0, len(operators[-1].outputs)), state.dtype)]
    run_chain(operators, state, expressions, lambda batch: found.append(batch.copy()))
    return np.concatenate(found)


class ReduceStep(SelectingStep):
    """Binds a variable to an aggregate per outer binding.

    Equal outer bindings of a batch are evaluated once; without outer variables the aggregate is
    evaluated once for all batches that see the same facts.
    """

    def __init__(
        self,
        operator: Reduce,
        layout: Layout,
        state: LocalState,
        expressions: Expressions,
        measured: MeasuredChain | None,
    ) -> None:
        super().__init__(operator, layout, state, expressions, (operator.variable,))
        self._operator = operator
        self._places = [layout.index(name) for name in operator.outer]
        self._end = SinkStep()
        self._body = make_chain(_numbered(operator.body), state, expressions, self._end, measured)
        aggregate, target = operator.aggregate, operator.aggregate.target
        self._target_type = aggregate.type if target is None else target.type
        self._combine = combiner(
            aggregate.functor, self._target_type, aggregate.type, aggregate.init, expressions
        )
        self._constant: tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | None] | None = None
        self._seen: list[int] = []

    def run(self, batch: CodeArray) -> None:
        """Push each binding with its aggregate's value, if it has one."""
        if self._places:
            outer = np.ascontiguousarray(batch[:, self._places])
            distinct, group_of = np.unique(outer, axis=0, return_inverse=True)
            group_of = group_of.reshape(-1)
            results, has_value = self._evaluate(distinct)
        else:
            group_of = np.zeros(batch.shape[0], np.int64)
            seen = [self._state.changes, *(visible.end for visible in self._state.visible.values())]
            if self._constant is None or self._seen != seen:
                self._constant = self._evaluate(np.empty((1, 0), self._state.dtype))
                self._seen = seen
            results, has_value = self._constant
        codes = results[group_of]
        if has_value is None:
            self.extend(batch, None, [codes])
            return
        mask = has_value[group_of]
        self.extend(batch, mask, [np.where(mask, codes, 0)])

    def _evaluate(self, outer: CodeArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | None]:
        """Return the aggregate's code for each outer binding, and which of them have one."""
        count = outer.shape[0]
        # A row for each derivation: the number of its outer binding, and the target's value if there is one.
        found = [np.empty((0, 1 + len(self._operator.body[-1].outputs)), np.int64)]
        self._end.sink = lambda batch: found.append(batch.astype(np.int64))
        if self._body.scan is not None:
            self._body.run(*self._body.rows())
        else:
            numbered = np.empty((count, 1 + outer.shape[1]), self._state.dtype)
            numbered[:, 0] = np.arange(count)
            numbered[:, 1:] = outer
            for first in range(0, count, BUFFER_ROWS):
                self._body.first.run(numbered[first : first + BUFFER_ROWS])
        groups, *targets = np.concatenate(found).T.copy()
        values = targets[0] if targets else None
        operator = self._operator
        if self._combine is not None:
            assert values is not None
            columns = {name: outer[:, place].astype(np.int64) for place, name in enumerate(operator.outer)}
            return self._combine(groups, values, count, columns)
        functor, kind, order = operator.aggregate.functor, operator.aggregate.kind, None
        if values is not None and not kind.is_numeric:
            order = self._expressions.codec.order_keys(values, self._target_type)
        return reduce_groups(functor, kind, groups, values, count, order=order)


def _numbered(body: Sequence[Operator]) -> tuple[Operator, ...]:
    """Return the operators of an aggregate's body with the group number in front of every layout."""
    if isinstance(body[0], Start):
        return tuple(replace(operator, outputs=(_GROUP, *operator.outputs)) for operator in body)
    return tuple(replace(operator, outputs=(_FIRST_GROUP, *operator.outputs)) for operator in body)


def _leapfrog_step(
    operator: ops.Leapfrog, layout: Layout, state: LocalState, expressions: Expressions
) -> ChainStep:
    from tidelog.engine.local.leapfrog import LeapfrogStep  # noqa: PLC0415 - only cyclic bodies need it

    return LeapfrogStep(operator, layout, state, expressions)


_STEPS: dict[type, Callable[[Any, Layout, LocalState, Expressions], ChainStep]] = {
    ops.IndexJoin: JoinStep,
    ops.Check: CheckStep,
    ops.Find: FindStep,
    ops.Filter: FilterStep,
    ops.Rearrange: ProjectStep,
    ops.Compute: ComputeStep,
    ops.Generate: GenerateStep,
    ops.Unpack: TakeApartStep,
    ops.Leapfrog: _leapfrog_step,
}
