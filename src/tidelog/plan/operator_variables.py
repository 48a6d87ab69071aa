"""The variables that an operator needs, and those it binds."""

from tidelog.plan.flatten import variables_of
from tidelog.plan.operators import (
    Check,
    Compute,
    Filter,
    Find,
    Generate,
    Join,
    Leapfrog,
    Operator,
    Reduce,
    Scan,
    TakeApart,
)
from tidelog.program.walk_nodes import terms_of


def variables_read(operator: Operator) -> set[str]:
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
    return names - variables_bound(operator)


def variables_bound(operator: Operator) -> set[str]:
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
