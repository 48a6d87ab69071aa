"""Literals judged under a binding: each holds, fails, or waits for a value."""

from collections.abc import Collection, Sequence
from dataclasses import field, replace
from enum import Enum

from tidelog.dataclass import dataclass
from tidelog.engine.reference.terms import Binding
from tidelog.engine.reference.variables import WILDCARD, awaited, mentioned
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.solve import BodySolver
from tidelog.explain.proofs.wording import word_literal
from tidelog.program.nodes import Aggregate, Atom, Constraint, Generator, Literal, NegatedAtom, Term
from tidelog.program.walk_nodes import aggregates_in, terms_of
from tidelog.values import NoValueError, Value
from tidelog.values.functors import range_values
from tidelog.views.fact_text import write_value


class Verdict(Enum):
    """What is known of a literal; `OPEN` ones hold for no choice made so far."""

    HOLDS = "holds"
    FAILS = "fails"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class JudgedLiteral:
    """A literal of a body with what is known of it.

    `atom` is the fact it speaks of where all values are known: the missing one if a positive atom
    fails, the one in the way if a negated atom fails. `free` are the variables without a value. `note`
    tells the values of aggregates where a constraint fails.
    """

    text: str
    verdict: Verdict
    is_negated: bool = False
    relation: str | None = None
    atom: GroundAtom | None = None
    pattern: tuple[tuple[int, Value], ...] = ()
    free: tuple[str, ...] = ()
    literal: Literal | None = field(default=None, compare=False, repr=False)
    note: str = ""

    @property
    def missing(self) -> GroundAtom | None:
        """Return the fact whose absence makes the literal fail."""
        is_missing = self.verdict is Verdict.FAILS and not self.is_negated
        return self.atom if is_missing else None

    def __str__(self) -> str:
        return self.text


def judge_body(
    body: Sequence[Literal], binding: Binding, solver: BodySolver, left_out: Collection[int] = ()
) -> tuple[JudgedLiteral, ...]:
    """Return the literals of a body, each judged by itself.

    A positive atom with free variables holds if some fact matches it; it is open if it is among those
    left out, for then it holds together with the others under no choice of values.
    """
    judged = [judge(literal, binding, solver) for literal in body]
    return tuple(
        replace(each, verdict=Verdict.OPEN)
        if place in left_out and each.verdict is Verdict.HOLDS and each.atom is None
        else each
        for place, each in enumerate(judged)
    )


def judge(literal: Literal, binding: Binding, solver: BodySolver) -> JudgedLiteral:
    """Return a literal with what is known of it under the binding."""
    text = word_literal(literal, binding)
    names = sorted(mentioned(literal) - binding.keys() - {WILDCARD})
    free = tuple(name for name in names if "'" not in name)
    match literal:
        case Atom():
            return _judge_atom(literal, text, free, binding, solver, is_negated=False)
        case NegatedAtom():
            return _judge_atom(literal.atom, text, free, binding, solver, is_negated=True, whole=literal)
        case Constraint() | Generator():
            verdict = Verdict.OPEN if names else _compare(literal, binding, solver)
            note = _values_found(literal, binding, solver) if verdict is Verdict.FAILS else ""
            return JudgedLiteral(text, verdict, free=free, literal=literal, note=note)


def _judge_atom(  # noqa: PLR0913 - what is judged, and what is known
    atom: Atom, text: str, free: tuple[str, ...], binding: Binding, solver: BodySolver, *,
    is_negated: bool, whole: Literal | None = None,
) -> JudgedLiteral:  # fmt: skip
    found = {place: _value(term, binding, solver) for place, term in enumerate(atom.terms)}
    pattern = {place: value[0] for place, value in found.items() if value is not None}
    ground = None
    if len(pattern) == len(atom.terms):
        ground = GroundAtom(atom.relation, tuple(pattern.values()))
    try:
        is_there = solver.holds(atom, binding)
    except NoValueError:
        is_there = is_negated  # a term without a value: neither the atom nor its negation holds
    verdict = Verdict.HOLDS if is_there != is_negated else Verdict.FAILS
    if is_negated and free:
        verdict = Verdict.OPEN
    return JudgedLiteral(
        text, verdict, is_negated, atom.relation, ground, tuple(pattern.items()), free, whole or atom
    )


def _value(term: Term, binding: Binding, solver: BodySolver) -> tuple[Value] | None:
    if not awaited(term) <= binding.keys():
        return None
    try:
        return (solver.terms.value(term, binding),)
    except NoValueError:
        return None


def _values_found(literal: Literal, binding: Binding, solver: BodySolver) -> str:
    """Return the values of the aggregates of a literal: what it would have to be equal to.

    Of a negated conjunction it is facts for which it holds.
    """
    match literal:
        case Constraint(right=Aggregate(negates=True) as negated):
            return _in_the_way(negated, binding, solver)
    found = []
    for aggregate in aggregates_in((literal,)):
        value = _value(aggregate, binding, solver)
        outcome = "has no value" if value is None else f"is {write_value(value[0])}"
        found.append(f"the {aggregate.functor} {outcome}")
    return ", ".join(found)


def _in_the_way(negated: Aggregate, binding: Binding, solver: BodySolver) -> str:
    outer = {name: value for name, value in binding.items() if name in negated.outer}
    for inner in solver.bindings(negated.body, outer):
        return f"{', '.join(word_literal(part, inner) for part in negated.body)} holds"
    return ""


def _compare(literal: Constraint | Generator, binding: Binding, solver: BodySolver) -> Verdict:
    try:
        if isinstance(literal, Generator):
            target, start, stop, *step = (solver.terms.value(term, binding) for term in terms_of(literal))
            values = range_values(literal.kind, start, stop, step[0] if step else None)
            return Verdict.HOLDS if target in values else Verdict.FAILS
        is_so = any(True for _ in solver.bindings((literal,), binding))
    except NoValueError:
        return Verdict.FAILS
    return Verdict.HOLDS if is_so else Verdict.FAILS
