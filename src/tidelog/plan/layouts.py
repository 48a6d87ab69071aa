"""Layouts of a chain: every operator yields what later ones read, and nothing else."""

from collections.abc import Sequence
from dataclasses import replace

from tidelog.plan import operators as ops
from tidelog.program.walk_nodes import terms_of, variables_of


def with_layouts(
    operators: Sequence[ops.Operator], outputs: ops.Layout, *, counting: bool
) -> tuple[ops.Operator, ...]:
    """Return the operators with their layouts trimmed; the last one yields `outputs`.

    Unless derivations are counted, a join that binds nothing needed becomes a check of existence, and a
    leapfrog join stops at the first witness.
    """
    trimmed: list[ops.Operator] = []
    needed = {operand for operand in outputs if isinstance(operand, str)}
    for operator in reversed(operators):
        if isinstance(operator, ops.Start):
            if outputs != operator.outputs:
                trimmed.append(ops.Rearrange(outputs))
            trimmed.append(operator)
            break
        trimmed.append(_with_outputs(operator, outputs, needed, counting=counting))
        needed = (needed - variables_bound(operator)) | variables_read(trimmed[-1])
        outputs = tuple(sorted(needed))
    return tuple(reversed(trimmed))


def _with_outputs(
    operator: ops.Operator, outputs: ops.Layout, needed: set[str], *, counting: bool
) -> ops.Operator:
    match operator:
        case ops.IndexJoin(filters=()) if not counting and needed.isdisjoint(variables_bound(operator)):
            return ops.Check(
                operator.relation, operator.view, operator.key, operator.operands, False, outputs
            )
        case ops.Leapfrog() if not counting:
            needed_places = [place for place, name in enumerate(operator.order) if name in needed]
            return replace(operator, witness=max(needed_places, default=-1) + 1, outputs=outputs)
        case _:
            return replace(operator, outputs=outputs)


def variables_read(operator: ops.Operator) -> set[str]:
    """Return the variables an operator needs from its incoming batch."""
    names: set[str] = set()
    match operator:
        case ops.IndexJoin(over=(), group=group) if group:
            names.add(group)
        case ops.IndexJoin() | ops.Check() | ops.Find():
            names.update(operand for operand in operator.operands if isinstance(operand, str))
        case ops.Compute():
            names |= variables_of(operator.term)
        case ops.Filter():
            names |= variables_of(operator.constraint)
        case ops.Generate():
            names |= variables_of(*terms_of(operator.generator)[1:])
        case ops.Unpack():
            names.add(operator.variable)
        case ops.Reduce():
            names.update(operator.outer)
        case ops.Leapfrog():
            names.update(x for atom in operator.atoms for x in atom.operands if isinstance(x, str))
        case _:
            pass
    filters = getattr(operator, "filters", ())
    names.update(
        x for comparison in filters for x in (comparison.left, comparison.right) if isinstance(x, str)
    )
    return names - variables_bound(operator)


def variables_bound(operator: ops.Operator) -> set[str]:
    """Return the variables an operator binds."""
    match operator:
        case ops.IndexJoin(over=over, group=group) if over:
            return {group, *(name for _, name in operator.binds)}
        case ops.ScanView() | ops.IndexJoin() | ops.Unpack():
            return {name for _, name in operator.binds}
        case ops.Compute() | ops.Generate() | ops.Reduce():
            return {operator.variable}
        case ops.Find():
            return {operator.row}
        case ops.Leapfrog():
            return {*operator.order, *(atom.row for atom in operator.atoms if atom.row is not None)}
        case _:
            return set()
