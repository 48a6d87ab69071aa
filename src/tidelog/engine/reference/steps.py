"""Ways to go on with a body: what one literal, taken under a binding, adds to it."""

from collections.abc import Iterator

from tidelog.engine.reference.terms import Binding, Terms
from tidelog.engine.reference.variables import awaited, mentioned
from tidelog.program.nodes import Atom, BranchTerm, Constraint, Generator, Literal, RecordTerm, Term
from tidelog.values import Fact, NoValueError, Value
from tidelog.values.functors import compare, range_values

Body = tuple[Literal, ...]
# A way to go on: a larger binding, and what is still to be compared under it.
Step = tuple[Binding, Body]


class Steps:
    """Takes literals whose facts are at hand; where facts come from is for those who inherit.

    All of them raise `NoValueError` where a term has no value, except `fit_fact`, to which a term
    without a value is one that does not fit.
    """

    terms: Terms

    def fit_fact(self, atom: Atom, fact: Fact, binding: Binding) -> Step | None:
        """Return how to go on when the atom stands for the fact, or None if it cannot."""
        extended, later = dict(binding), list[Literal]()
        for term, value in zip(atom.terms, fact, strict=True):
            try:
                if not self.terms.fit(term, value, extended, later):
                    return None
            except NoValueError:
                return None
        return extended, tuple(later)

    def _compare(self, constraint: Constraint, binding: Binding) -> Iterator[Step]:
        """Yield how to go on under a constraint: it holds, or it binds, or it falls into parts."""
        left, right = constraint.left, constraint.right
        if mentioned(constraint) <= binding.keys():
            values = self.terms.value(left, binding), self.terms.value(right, binding)
            if compare(constraint.op, constraint.kind, *values):
                yield binding, ()
        elif awaited(left) <= binding.keys():
            yield from self._fit(right, self.terms.value(left, binding), binding)
        elif awaited(right) <= binding.keys():
            yield from self._fit(left, self.terms.value(right, binding), binding)
        else:
            parts = split_equality(constraint)
            assert parts is not None
            yield binding, parts

    def _generate(self, generator: Generator, binding: Binding) -> Iterator[Step]:
        """Yield one way to go on for each value of a range."""
        bounds = (generator.start, generator.stop, generator.step)
        start, stop, step_by = (None if term is None else self.terms.value(term, binding) for term in bounds)
        for value in range_values(generator.kind, start, stop, step_by):
            yield from self._fit(generator.target, value, binding)

    def _fit(self, term: Term, value: Value, binding: Binding) -> Iterator[Step]:
        extended, later = dict(binding), list[Literal]()
        if self.terms.fit(term, value, extended, later):
            yield extended, tuple(later)

    def _ask(self, term: Term, binding: Binding) -> None:
        """Ask every bound part of a term for its value.

        Whether a binding has a derivation must not depend on which facts there are to compare with.
        """
        if awaited(term) <= binding.keys():
            self.terms.value(term, binding)
        elif isinstance(term, RecordTerm | BranchTerm):
            for part in term.terms:
                self._ask(part, binding)


def split_equality(constraint: Constraint) -> Body | None:
    """Return `[a, b] = [c, d]` as `a = c, b = d`; None if it is no such constraint."""
    left, right = constraint.left, constraint.right
    if isinstance(left, RecordTerm) and isinstance(right, RecordTerm):
        is_same = len(left.terms) == len(right.terms)
    elif isinstance(left, BranchTerm) and isinstance(right, BranchTerm):
        is_same = left.name == right.name
    else:
        return None
    if not is_same:
        return None
    return tuple(
        Constraint("=", constraint.kind, *pair, span=constraint.span)
        for pair in zip(left.terms, right.terms, strict=True)
    )
