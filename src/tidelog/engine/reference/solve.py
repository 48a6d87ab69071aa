"""All bindings under which a body holds: one for each of its derivations."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import assert_never

from tidelog.engine.protocol import UserFunctions
from tidelog.engine.reference.facts import PythonFacts
from tidelog.engine.reference.steps import Body, Step, Steps, rank_literal
from tidelog.engine.reference.terms import Binding, Terms
from tidelog.program import nodes
from tidelog.values import Codec, NoValueError


class Solver(Steps):
    """Finds derivations by trying every fact for every atom.

    Literals are taken in the order written, except that one that needs an unbound variable waits, and one
    that can be tested is tested at once. A term without a value ends the binding that needs it.
    """

    def __init__(
        self, program: nodes.Program, facts: PythonFacts, codec: Codec, functions: UserFunctions
    ) -> None:
        self._facts = facts
        self.terms = Terms(program, codec, functions, self.bindings)

    def bindings(self, body: Body, binding: Binding) -> Iterator[Binding]:
        """Yield one binding for each derivation of the body that extends `binding`."""
        if not body:
            yield binding
            return
        position = self._next(body, binding.keys())
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

    def _has_match(self, atom: nodes.Atom, binding: Binding) -> bool:
        for term in atom.terms:
            self._ask(term, binding)
        known = self._known(atom, binding)
        return any(self.fit_fact(atom, fact, binding) for fact in self._facts.matching(atom.relation, known))

    def _next(self, body: Body, bound: AbstractSet[str]) -> int:
        """Return the position of the literal to take next."""
        ranked = [
            (rank, position)
            for position, literal in enumerate(body)
            if (rank := rank_literal(literal, bound)) is not None
        ]
        assert ranked, f"no literal can be taken next: {body}"
        return min(ranked)[1]
