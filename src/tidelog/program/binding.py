"""Which variables a body binds."""

from collections.abc import Iterable, Iterator

from tidelog.program import nodes
from tidelog.program.walk_nodes import needed_variables, terms_of


def bound_variables(body: Iterable[nodes.Literal], outer: Iterable[str] = ()) -> frozenset[str]:
    """Return the variables with a value once the body is evaluated with `outer` bound.

    Positive atoms bind what stands in them directly or inside record and branch patterns; `=` binds
    one side when the other has a value; a generator its target. Operands of functors are never bound.
    """
    literals = tuple(body)
    bound = set(outer)
    changed = True
    while changed:
        before = len(bound)
        for literal in literals:
            match literal:
                case nodes.Atom():
                    for term in literal.terms:
                        bound |= pattern_variables(term)
                case nodes.Constraint(op="="):
                    if has_value(literal.right, bound):
                        bound |= pattern_variables(literal.left)
                    if has_value(literal.left, bound):
                        bound |= pattern_variables(literal.right)
                case nodes.Generator():
                    if all(has_value(term, bound) for term in terms_of(literal)[1:]):
                        bound |= pattern_variables(literal.target)
                case _:
                    pass
        changed = len(bound) > before
    return frozenset(bound)


def has_value(term: nodes.Term, bound: Iterable[str]) -> bool:
    """Say whether a term can be computed from bound variables."""
    known = frozenset(bound)
    if any(isinstance(part, nodes.Wildcard) for part in pattern_parts(term)):
        return False
    return all(variable.name in known for variable in needed_variables((term,)))


def pattern_parts(term: nodes.Term) -> Iterator[nodes.Term]:
    """Yield a term and, through records and branches, what it is taken apart into."""
    yield term
    if isinstance(term, nodes.RecordTerm | nodes.BranchTerm):
        for part in term.terms:
            yield from pattern_parts(part)


def pattern_variables(term: nodes.Term) -> frozenset[str]:
    """Return the variables bound by matching a value with a term."""
    return frozenset(part.name for part in pattern_parts(term) if isinstance(part, nodes.Variable))
