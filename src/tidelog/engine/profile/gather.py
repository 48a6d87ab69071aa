"""From the plans that ran to what their operators took."""

from collections.abc import Iterator

from tidelog.engine.profile.record import ChainProfile, OperatorProfile
from tidelog.plan import operators as ops
from tidelog.plan.measured import BEGIN, END, MeasuredPlan, Place
from tidelog.plan.printing import print_operator
from tidelog.program.nodes import Program


def chain_profile(measured: MeasuredPlan, program: Program) -> ChainProfile | None:
    """Return what a plan took, operator by operator; None if it never ran."""
    if not measured.bindings:
        return None
    plan = measured.plan
    chain = ChainProfile(plan.estimate, plan.begins_with_keys, measured.behind.get(BEGIN, 0.0))
    chain.operators = list(_operators(measured, plan.operators, (), program))
    candidates = measured.bindings[END]
    insert = f"insert {plan.relation}"
    chain.operators.append(
        OperatorProfile(insert, "insert", plan.relation, candidates, 0, measured.behind.get(END, 0.0))
    )
    return chain


def _operators(
    measured: MeasuredPlan, operators: tuple[ops.Operator, ...], before: Place, program: Program
) -> Iterator[OperatorProfile]:
    """Yield the operators of a chain, or of an alternative, with their own seconds."""
    behind, rows = measured.behind, measured.bindings
    # The body of an aggregate over outer variables begins with batches, and not with a scan.
    inflow = behind.get(before) or behind.get((*before, 0), 0.0)
    for number, operator in enumerate(operators):
        place = (*before, number)
        is_last = number == len(operators) - 1
        rows_in = measured.before(place) if len(place) > 1 or place[-1] else 0
        made = OperatorProfile(
            print_operator(operator, program),
            _KINDS[type(operator)],
            getattr(operator, "relation", ""),
            rows_in,
            rows[place],
            None,
            measured.expected.get(place),
            len(place) // 2,
            _key(operator, program),
        )
        if isinstance(operator, ops.Choose):
            parts = [(*place, each) for each in range(len(operator.alternatives))]
            made.rows_out = sum(rows[part] for part in parts)
            made.seconds = max(0.0, inflow - sum(behind.get(part, 0.0) for part in parts))
            yield made
            for part, alternative in zip(parts, operator.alternatives, strict=True):
                yield from _operators(measured, alternative, part, program)
            return
        outflow = behind.get(place, behind.get(END, 0.0) if is_last else None)
        if isinstance(operator, ops.Reduce) and operator.scan is None:
            body = behind.get((*place, 0)) or behind.get((*place, 0, 0), 0.0)
            made.seconds = max(0.0, inflow - (outflow or 0.0) - body)
            inflow = outflow or 0.0
            yield made
            yield from _operators(measured, operator.body, (*place, 0), program)
            continue
        if outflow is not None or not rows_in:
            made.seconds = max(0.0, inflow - (outflow or 0.0))
            inflow = outflow or 0.0
        yield made


def _key(operator: ops.Operator, program: Program) -> list[str]:
    """Return the columns that an operator looks facts up by."""
    if not isinstance(operator, ops.IndexJoin | ops.Check):
        return []
    columns = program.relations[operator.relation].columns
    return [columns[place].name for place in operator.key]


_KINDS = {
    ops.Start: "start",
    ops.ScanView: "scan",
    ops.IndexJoin: "join",
    ops.Check: "check",
    ops.Find: "find",
    ops.Compute: "compute",
    ops.Filter: "filter",
    ops.Rearrange: "project",
    ops.Generate: "generate",
    ops.Unpack: "take apart",
    ops.Reduce: "reduce",
    ops.Leapfrog: "leapfrog",
    ops.Choose: "choose",
}
