"""All bindings under which a body holds: one for each of its derivations."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import assert_never

from tidelog.engine.protocol import UserFunctions
from tidelog.engine.reference.facts import Facts
from tidelog.engine.reference.terms import Binding, Terms
from tidelog.engine.reference.variables import WILDCARD, awaited, counts, mentioned, terms_of
from tidelog.program.nodes import (
    Atom,
    BranchTerm,
    Constraint,
    Generator,
    Literal,
    NegatedAtom,
    Program,
    RecordTerm,
    Term,
    Variable,
)
from tidelog.values import Codec, Fact, NoValueError, Value
from tidelog.values.functors import compare, range_values

Body = tuple[Literal, ...]
# A way to go on: a larger binding, and what is still to be compared under it.
Step = tuple[Binding, Body]

_TEST, _BIND, _SCAN, _COUNT = range(4)


class Solver:
    """Finds derivations by trying every fact for every atom.

    Literals are taken in the order written, except that one which must wait for a variable
    waits, one that can be tested is tested, and `autoinc()` comes when all else holds.
    A term without a value ends the binding that asked for it.
    """

    def __init__(self, program: Program, facts: Facts, codec: Codec, functions: UserFunctions) -> None:
        self._facts = facts
        self.terms = Terms(program, codec, functions, self.bindings)

    def bindings(self, body: Body, binding: Binding) -> Iterator[Binding]:
        """Yield one binding for each derivation of the body that extends `binding`."""
        if not body:
            yield binding
            return
        position = _next_literal(body, binding.keys())
        rest = body[:position] + body[position + 1 :]
        try:
            steps = list(self._steps(body[position], binding))
        except NoValueError:
            return
        for extended, later in steps:
            yield from self.bindings(rest + later, extended)

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

    def _steps(self, literal: Literal, binding: Binding) -> Iterator[Step]:
        match literal:
            case Atom():
                for fact in self._facts.matching(literal.relation, self._known(literal, binding)):
                    step = self.fit_fact(literal, fact, binding)
                    if step is not None:
                        yield step
            case NegatedAtom():
                if not self._has_match(literal.atom, binding):
                    yield binding, ()
            case Constraint():
                yield from self._compare(literal, binding)
            case Generator():
                bounds = (literal.start, literal.stop, literal.step)
                start, stop, step_by = (
                    None if term is None else self.terms.value(term, binding) for term in bounds
                )
                for value in range_values(literal.kind, start, stop, step_by):
                    yield from self._fit(literal.target, value, binding)
            case _:
                assert_never(literal)

    def _compare(self, constraint: Constraint, binding: Binding) -> Iterator[Step]:
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
            parts = _parts(constraint)
            assert parts is not None
            yield binding, parts

    def _fit(self, term: Term, value: Value, binding: Binding) -> Iterator[Step]:
        extended, later = dict(binding), list[Literal]()
        if self.terms.fit(term, value, extended, later):
            yield extended, tuple(later)

    def _known(self, atom: Atom, binding: Binding) -> dict[int, Value]:
        """Return the values of the columns whose terms have one."""
        return {
            position: self.terms.value(term, binding)
            for position, term in enumerate(atom.terms)
            if awaited(term) <= binding.keys() and not counts(term)
        }

    def _has_match(self, atom: Atom, binding: Binding) -> bool:
        # Every term is asked for its value, even if no fact could match: whether a binding has
        # a derivation must not depend on which facts there are to compare with.
        for term in atom.terms:
            self._ask(term, binding)
        known = self._known(atom, binding)
        return any(self.fit_fact(atom, fact, binding) for fact in self._facts.matching(atom.relation, known))

    def _ask(self, term: Term, binding: Binding) -> None:
        if awaited(term) <= binding.keys():
            self.terms.value(term, binding)
        elif isinstance(term, RecordTerm | BranchTerm):
            for part in term.terms:
                self._ask(part, binding)


def _next_literal(body: Body, bound: AbstractSet[str]) -> int:
    """Return the position of the literal to take next."""
    ranked = [
        (rank, position)
        for position, literal in enumerate(body)
        if (rank := _rank(literal, bound)) is not None
    ]
    assert ranked, f"no literal can be taken next: {body}"
    return min(ranked)[1]


def _rank(literal: Literal, bound: AbstractSet[str]) -> int | None:
    """Return how soon to take a literal, or None if it must wait."""
    match literal:
        case Atom():
            return _SCAN
        case NegatedAtom():
            return _TEST if mentioned(literal) - {WILDCARD} <= bound else None
        case Constraint():
            return _rank_constraint(literal, bound)
        case Generator():
            ready = all(awaited(term) <= bound for term in terms_of(literal)[1:])
            return _BIND if ready else None
    assert_never(literal)


def _rank_constraint(constraint: Constraint, bound: AbstractSet[str]) -> int | None:
    if mentioned(constraint) <= bound:
        return _COUNT if counts(constraint.left) or counts(constraint.right) else _TEST
    if constraint.op != "=":
        return None
    for known, free in ((constraint.left, constraint.right), (constraint.right, constraint.left)):
        if awaited(known) <= bound and isinstance(free, Variable | RecordTerm | BranchTerm):
            return _COUNT if counts(known) else _BIND
    return None if _parts(constraint) is None else _BIND


def _parts(constraint: Constraint) -> Body | None:
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
