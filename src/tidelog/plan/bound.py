"""Which variables a body binds on its own."""

from collections.abc import Sequence

from tidelog.plan.flatten import variables_of
from tidelog.program.nodes import Atom, BranchTerm, Constraint, Generator, Literal, RecordTerm, Term, Variable
from tidelog.program.walk_nodes import terms_of


def bound_by(body: Sequence[Literal]) -> frozenset[str]:
    """Return the variables that a flat body binds on its own."""
    bound: set[str] = set()
    for literal in body:
        if isinstance(literal, Atom):
            bound.update(name for term in literal.terms for name in variables_of(term))
    before = -1
    while len(bound) > before:
        before = len(bound)
        for literal in body:
            match literal:
                case Constraint(op="="):
                    for left, right in ((literal.left, literal.right), (literal.right, literal.left)):
                        bound |= _bound_by_equality(left, right, bound)
                case Generator(target=Variable(name=name)):
                    needed = terms_of(literal)[1:]
                    if all(variables_of(term) <= bound for term in needed):
                        bound.add(name)
                case _:
                    pass
    return frozenset(bound)


def _bound_by_equality(left: Term, right: Term, bound: set[str]) -> frozenset[str]:
    if isinstance(left, Variable) and variables_of(right) <= bound:
        return frozenset((left.name,))
    if isinstance(left, RecordTerm | BranchTerm) and variables_of(right) <= bound:
        return variables_of(left)
    return frozenset()
