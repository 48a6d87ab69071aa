"""Ways to continue with a body: what one literal, taken under a binding, adds to it."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final, assert_never

from tidelog.engine.patterns import holds
from tidelog.engine.reference.terms import Binding, Terms
from tidelog.engine.reference.variables import WILDCARD, awaited, mentioned
from tidelog.program import nodes
from tidelog.program.walk_nodes import terms_of
from tidelog.values import Fact, NoValueError, Value
from tidelog.values.functors import range_values

Body = tuple[nodes.Literal, ...]
# The rank of a literal: those that can be tested first, then those that bind, then those that scan.
TEST: Final = 0
BIND: Final = 1
SCAN: Final = 2
# A way to continue: a larger binding, and what is still to be compared under it.
Step = tuple[Binding, Body]


class Steps:
    """Takes literals whose facts are at hand; subclasses decide where facts come from.

    All methods raise `NoValueError` where a term has no value, except `fit_fact`, for which such a term
    does not fit.
    """

    terms: Terms

    def fit_fact(self, atom: nodes.Atom, fact: Fact, binding: Binding) -> Step | None:
        """Return how to go on when the atom stands for the fact, or None if it cannot."""
        return self.fit_columns(enumerate(atom.terms), fact, binding)

    def fit_columns(
        self, columns: Iterable[tuple[int, nodes.Term]], fact: Fact, binding: Binding
    ) -> Step | None:
        """Return how to go on when terms match the values in columns of a fact, None if they do not."""
        extended, later = dict(binding), list[nodes.Literal]()
        try:
            for column, term in columns:
                if not self.terms.fit(term, fact[column], extended, later):
                    return None
        except NoValueError:
            return None
        return extended, tuple(later)

    def _known(self, atom: nodes.Atom, binding: Binding) -> dict[int, Value]:
        """Return the values of the columns whose terms have one."""
        return {
            position: self.terms.value(term, binding)
            for position, term in enumerate(atom.terms)
            if awaited(term) <= binding.keys()
        }

    def _compare(self, constraint: nodes.Constraint, binding: Binding) -> Iterator[Step]:
        """Yield how to continue under a constraint: it holds, or it binds, or it falls into parts."""
        left, right = constraint.left, constraint.right
        if mentioned(constraint) <= binding.keys():
            values = self.terms.value(left, binding), self.terms.value(right, binding)
            if holds(constraint, values, self.terms.codec):
                yield binding, ()
        elif awaited(left) <= binding.keys():
            yield from self._fit(right, self.terms.value(left, binding), binding)
        elif awaited(right) <= binding.keys():
            yield from self._fit(left, self.terms.value(right, binding), binding)
        else:
            parts = split_equality(constraint)
            assert parts is not None
            yield binding, parts

    def _generate(self, generator: nodes.Generator, binding: Binding) -> Iterator[Step]:
        """Yield one way to continue for each value of a range."""
        bounds = (generator.start, generator.stop, generator.step)
        start, stop, step_by = (None if term is None else self.terms.value(term, binding) for term in bounds)
        for value in range_values(generator.kind, start, stop, step_by):
            yield from self._fit(generator.target, value, binding)

    def _fit(self, term: nodes.Term, value: Value, binding: Binding) -> Iterator[Step]:
        extended, later = dict(binding), list[nodes.Literal]()
        if self.terms.fit(term, value, extended, later):
            yield extended, tuple(later)

    def _ask(self, term: nodes.Term, binding: Binding) -> None:
        """Evaluate every bound part of a term.

        Whether a binding has a derivation must not depend on the facts there are to compare with.
        """
        if awaited(term) <= binding.keys():
            self.terms.value(term, binding)
        elif isinstance(term, nodes.RecordTerm | nodes.BranchTerm):
            for part in term.terms:
                self._ask(part, binding)


def rank_literal(literal: nodes.Literal, bound: AbstractSet[str]) -> int | None:
    """Return how soon to take a literal, or None if it must wait."""
    match literal:
        case nodes.Atom():
            return SCAN
        case nodes.NegatedAtom():
            return TEST if mentioned(literal) - {WILDCARD} <= bound else None
        case nodes.Constraint():
            return _rank_constraint(literal, bound)
        case nodes.Generator():
            ready = all(awaited(term) <= bound for term in terms_of(literal)[1:])
            return BIND if ready else None
    assert_never(literal)


def _rank_constraint(constraint: nodes.Constraint, bound: AbstractSet[str]) -> int | None:
    if mentioned(constraint) <= bound:
        return TEST
    if constraint.op != "=":
        return None
    for known, free in ((constraint.left, constraint.right), (constraint.right, constraint.left)):
        if awaited(known) <= bound and isinstance(free, nodes.Variable | nodes.RecordTerm | nodes.BranchTerm):
            return BIND
    return None if split_equality(constraint) is None else BIND


def split_equality(constraint: nodes.Constraint) -> Body | None:
    """Return `[a, b] = [c, d]` as `a = c, b = d`; None for other constraints."""
    left, right = constraint.left, constraint.right
    if isinstance(left, nodes.RecordTerm) and isinstance(right, nodes.RecordTerm):
        is_same = len(left.terms) == len(right.terms)
    elif isinstance(left, nodes.BranchTerm) and isinstance(right, nodes.BranchTerm):
        is_same = left.name == right.name
    else:
        return None
    if not is_same:
        return None
    return tuple(
        nodes.Constraint("=", constraint.kind, *pair, span=constraint.span)
        for pair in zip(left.terms, right.terms, strict=True)
    )
