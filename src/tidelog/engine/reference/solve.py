"""All bindings under which a body holds: one for each of its derivations."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import assert_never

from tidelog.engine.protocol import UserFunctions
from tidelog.engine.reference.facts import Facts
from tidelog.engine.reference.steps import Body, Step, Steps, split_equality
from tidelog.engine.reference.terms import Binding, Terms
from tidelog.engine.reference.variables import WILDCARD, awaited, mentioned
from tidelog.program import nodes
from tidelog.program.walk_nodes import terms_of
from tidelog.values import Codec, NoValueError, Value

_TEST, _BIND, _SCAN = range(3)


class Solver(Steps):
    """Finds derivations by trying every fact for every atom.

    Literals are taken in the order written, except that one which must wait for a variable waits,
    and one that can be tested is tested.
    A term without a value ends the binding that asked for it.
    """

    def __init__(self, program: nodes.Program, facts: Facts, codec: Codec, functions: UserFunctions) -> None:
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

    def _steps(self, literal: nodes.Literal, binding: Binding) -> Iterator[Step]:
        match literal:
            case nodes.Atom():
                for fact in self._facts.matching(literal.relation, self._known(literal, binding)):
                    step = self.fit_fact(literal, fact, binding)
                    if step is not None:
                        yield step
            case nodes.NegatedAtom():
                if not self._has_match(literal.atom, binding):
                    yield binding, ()
            case nodes.Constraint():
                yield from self._compare(literal, binding)
            case nodes.Generator():
                yield from self._generate(literal, binding)
            case _:
                assert_never(literal)

    def _known(self, atom: nodes.Atom, binding: Binding) -> dict[int, Value]:
        """Return the values of the columns whose terms have one."""
        return {
            position: self.terms.value(term, binding)
            for position, term in enumerate(atom.terms)
            if awaited(term) <= binding.keys()
        }

    def _has_match(self, atom: nodes.Atom, binding: Binding) -> bool:
        for term in atom.terms:
            self._ask(term, binding)
        known = self._known(atom, binding)
        return any(self.fit_fact(atom, fact, binding) for fact in self._facts.matching(atom.relation, known))


def _next_literal(body: Body, bound: AbstractSet[str]) -> int:
    """Return the position of the literal to take next."""
    ranked = [
        (rank, position)
        for position, literal in enumerate(body)
        if (rank := _rank(literal, bound)) is not None
    ]
    assert ranked, f"no literal can be taken next: {body}"
    return min(ranked)[1]


def _rank(literal: nodes.Literal, bound: AbstractSet[str]) -> int | None:
    """Return how soon to take a literal, or None if it must wait."""
    match literal:
        case nodes.Atom():
            return _SCAN
        case nodes.NegatedAtom():
            return _TEST if mentioned(literal) - {WILDCARD} <= bound else None
        case nodes.Constraint():
            return _rank_constraint(literal, bound)
        case nodes.Generator():
            ready = all(awaited(term) <= bound for term in terms_of(literal)[1:])
            return _BIND if ready else None
    assert_never(literal)


def _rank_constraint(constraint: nodes.Constraint, bound: AbstractSet[str]) -> int | None:
    if mentioned(constraint) <= bound:
        return _TEST
    if constraint.op != "=":
        return None
    for known, free in ((constraint.left, constraint.right), (constraint.right, constraint.left)):
        if awaited(known) <= bound and isinstance(free, nodes.Variable | nodes.RecordTerm | nodes.BranchTerm):
            return _BIND
    return None if split_equality(constraint) is None else _BIND
