"""Which literal of a body is taken next, found once for the variables that are bound.

Whatever can be tested is tested first, then equalities bind, then the atom with the fewest matching facts
is taken: where there are several atoms, all are choices.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, TypeGuard

from tidelog.dataclass import dataclass
from tidelog.engine.reference.steps import BIND, SCAN, TEST, Body, rank_literal
from tidelog.engine.reference.variables import awaited, mentioned
from tidelog.explain.proofs.rules import RuleBook
from tidelog.program.binding import pattern_variables
from tidelog.program.nodes import (
    Atom,
    Constant,
    Constraint,
    Generator,
    Literal,
    NegatedAtom,
    Program,
    Rule,
    Term,
    Variable,
)
from tidelog.program.walk_nodes import keeps_state, subterms, terms_of

_MOST_ORDERS: Final = 1 << 10

Columns = Sequence[tuple[int, Term]]


@dataclass(frozen=True, slots=True)
class PartnerAtom:
    """An atom that has no new variable left once another is taken; see `Partner`."""

    relation: str
    known: Columns
    columns: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class NextLiteral:
    """A literal that can be taken next, and the rest of the body.

    The columns of an atom whose terms have values are `known`, the others `free`; where all of these hold
    different variables, `fresh` has their columns. The atoms of the rest that it leaves no variable of are
    its partners; `left` is the rest without them.
    """

    literal: Literal
    rest: Body
    relation: str | None = None
    known: Columns = ()
    free: Columns = ()
    fresh: Mapping[str, int] | None = None
    partners: tuple[PartnerAtom, ...] = ()
    left: Body = ()


class LiteralOrder:
    """The choices of bodies over the relations of a rule book."""

    def __init__(self, book: RuleBook) -> None:
        self._book = book
        self._orders: dict[tuple[tuple[int, ...], frozenset[str]], tuple[Body, tuple[NextLiteral, ...]]] = {}
        self._callable: dict[tuple[str, frozenset[int]], bool] = {}

    def choices(self, body: Body, bound: AbstractSet[str]) -> tuple[NextLiteral, ...]:
        """Return the literals of which one is taken next, none if all must wait."""
        # By identity: literals are slow to hash. They are kept, so that no other gets their identity.
        key = tuple(map(id, body)), frozenset(bound)
        found = self._orders.get(key)
        if found is None:
            if len(self._orders) >= _MOST_ORDERS:
                self._orders.clear()
            places = self._first(body, bound)
            found = self._orders[key] = body, tuple(self._choice(body, place, bound) for place in places)
        return found[1]

    def _first(self, body: Body, bound: AbstractSet[str]) -> Sequence[int]:
        """Return the places of the literals to take next, several if the number of their facts decides."""
        ranks = [self._rank(literal, bound) for literal in body]
        for rank in (TEST, BIND):
            if rank in ranks:
                return (ranks.index(rank),)
        atoms = [place for place, rank in enumerate(ranks) if rank == SCAN]
        for place in atoms:
            if mentioned(body[place]) <= bound and self._is_stored(body[place]):
                return (place,)
        return atoms

    def _choice(self, body: Body, place: int, bound: AbstractSet[str]) -> NextLiteral:
        literal = body[place]
        rest = body[:place] + body[place + 1 :]
        if not isinstance(literal, Atom):
            return NextLiteral(literal, rest)
        known: list[tuple[int, Term]] = []
        free: list[tuple[int, Term]] = []
        for column, term in enumerate(literal.terms):
            (known if awaited(term) <= bound else free).append((column, term))
        fresh = {term.name: column for column, term in reversed(free) if isinstance(term, Variable)}
        found = [_find_partner(each, fresh, bound) if self._is_stored(each) else None for each in rest]
        left = tuple(each for each, partner in zip(rest, found, strict=True) if partner is None)
        partners = tuple(partner for partner in found if partner is not None)
        plain = fresh if len(fresh) == len(free) else None
        return NextLiteral(literal, rest, literal.relation, known, free, plain, partners, left)

    def _is_stored(self, literal: Literal) -> TypeGuard[Atom]:
        return isinstance(literal, Atom) and self._book.is_stored(literal.relation)

    def _rank(self, literal: Literal, bound: AbstractSet[str]) -> int | None:
        """Return how soon to take a literal, or None if it must wait."""
        if isinstance(literal, Atom) and not self._book.is_stored(literal.relation):
            known = frozenset(p for p, term in enumerate(literal.terms) if awaited(term) <= bound)
            return SCAN if self._can_call(literal.relation, known) else None
        if isinstance(literal, Constraint) and is_stateful(literal, self._book.program):
            return TEST if mentioned(literal) <= bound else None
        return rank_literal(literal, bound)

    def _can_call(self, relation: str, known: frozenset[int]) -> bool:
        """Say whether the rules of a relation bind everything when these columns are known."""
        key = (relation, known)
        if key not in self._callable:
            self._callable[key] = all(self._binds_all(rule, known) for rule in self._book.rules_of(relation))
        return self._callable[key]

    def _binds_all(self, rule: Rule, known: frozenset[int]) -> bool:
        bound = {name for place in known for name in pattern_variables(rule.head.terms[place])}
        waiting = list(rule.body)
        while waiting:
            ready = next((each for each in waiting if self._rank(each, bound) is not None), None)
            if ready is None:
                return False
            waiting.remove(ready)
            bound |= _bound_by(ready)
        return all(awaited(term) <= bound for term in rule.head.terms)


def _find_partner(atom: Atom, fresh: Mapping[str, int], bound: AbstractSet[str]) -> PartnerAtom | None:
    """Return an atom as a partner of one that binds fresh variables, None if it is not one."""
    known: list[tuple[int, Term]] = []
    columns: dict[int, int] = {}
    for column, term in enumerate(atom.terms):
        if isinstance(term, Variable) and term.name in fresh:
            columns[column] = fresh[term.name]
        elif isinstance(term, Constant) or (isinstance(term, Variable) and term.name in bound):
            known.append((column, term))
        else:
            return None
    return PartnerAtom(atom.relation, known, columns) if columns else None


def _bound_by(literal: Literal) -> frozenset[str]:
    """Return the variables that have a value once the literal is taken."""
    match literal:
        case Atom():
            terms: tuple[Term, ...] = literal.terms
        case Constraint():
            terms = (literal.left, literal.right)
        case Generator():
            terms = (literal.target,)
        case _:
            terms = ()
    return frozenset().union(*(pattern_variables(term) for term in terms))


def waits_for_state(body: Sequence[Literal], program: Program) -> bool:
    """Say whether what is left of a body waits for values that a derivation was given."""
    return not any(isinstance(literal, Atom) for literal in body) and any(
        is_stateful(literal, program) for literal in body
    )


def is_stateful(literal: Literal, program: Program) -> bool:
    """Say whether a constraint or negated atom holds `autoinc()` or a functor that remembers."""
    return isinstance(literal, Constraint | NegatedAtom) and any(
        keeps_state(part, program) for term in terms_of(literal) for part in subterms(term)
    )
