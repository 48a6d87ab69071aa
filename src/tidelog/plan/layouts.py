"""Layouts of a chain: every operator yields what later ones read, and nothing else."""

from collections.abc import Sequence
from dataclasses import replace

from tidelog.plan.flatten import variables_of
from tidelog.plan.operators import (
    Check,
    Compute,
    Filter,
    Find,
    Generate,
    Join,
    Layout,
    Leapfrog,
    Operator,
    Project,
    Reduce,
    Scan,
    Start,
    TakeApart,
)
from tidelog.program.walk_nodes import terms_of


def with_layouts(operators: Sequence[Operator], outputs: Layout, *, counting: bool) -> tuple[Operator, ...]:
    """Return the operators with their layouts trimmed; the last one yields `outputs`.

    Unless derivations are counted, a join that binds nothing needed becomes a check of existence, and a
    leapfrog join stops at the first witness.
    """
    trimmed: list[Operator] = []
    needed = {operand for operand in outputs if isinstance(operand, str)}
    for operator in reversed(operators):
        if isinstance(operator, Start):
            if outputs != operator.outputs:
                trimmed.append(Project(outputs))
            trimmed.append(operator)
            break
        trimmed.append(_with_outputs(operator, outputs, needed, counting=counting))
        needed = (needed - _variables_bound(operator)) | _variables_read(operator)
        outputs = tuple(sorted(needed))
    return tuple(reversed(trimmed))


def _with_outputs(operator: Operator, outputs: Layout, needed: set[str], *, counting: bool) -> Operator:
    match operator:
        case Join(filters=()) if not counting and needed.isdisjoint(name for _, name in operator.binds):
            return Check(operator.relation, operator.view, operator.key, operator.operands, False, outputs)
        case Leapfrog() if not counting:
            needed_places = [place for place, name in enumerate(operator.order) if name in needed]
            return replace(operator, witness=max(needed_places, default=-1) + 1, outputs=outputs)
        case _:
            return replace(operator, outputs=outputs)


def _variables_read(operator: Operator) -> set[str]:
    """Return the variables an operator needs from the batch it is given."""
    names: set[str] = set()
    match operator:
        case Join() | Check() | Find():
            names.update(operand for operand in operator.operands if isinstance(operand, str))
        case Compute():
            names |= variables_of(operator.term)
        case Filter():
            names.update(*map(variables_of, terms_of(operator.constraint)))
        case Generate():
            names.update(*map(variables_of, terms_of(operator.generator)[1:]))
        case TakeApart():
            names.add(operator.variable)
        case Reduce():
            names.update(operator.outer)
            if operator.init is not None:
                names |= variables_of(operator.init)
        case Leapfrog():
            names.update(x for atom in operator.atoms for x in atom.operands if isinstance(x, str))
        case _:
            pass
    filters = getattr(operator, "filters", ())
    names.update(
        x for comparison in filters for x in (comparison.left, comparison.right) if isinstance(x, str)
    )
    return names - _variables_bound(operator)


def _variables_bound(operator: Operator) -> set[str]:
    """Return the variables an operator binds."""
    match operator:
        case Scan() | Join() | TakeApart():
            return {name for _, name in operator.binds}
        case Compute() | Generate() | Reduce():
            return {operator.variable}
        case Find():
            return {operator.row}
        case Leapfrog():
            return {*operator.order, *(atom.row for atom in operator.atoms if atom.row is not None)}
        case _:
            return set()
