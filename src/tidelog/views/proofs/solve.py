"""The bindings under which a body holds, found from what is already bound.

Whatever can be tested is tested first, then equalities bind, then the atom with the fewest matching
facts is taken. A source that can join atoms by itself, on codes, is given all plain atoms at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import Final, Protocol, assert_never, cast, runtime_checkable

from tidelog.engine.reference.steps import BIND, SCAN, TEST, Body, Step, Steps
from tidelog.engine.reference.terms import Binding, Terms
from tidelog.engine.reference.variables import awaited, mentioned
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
from tidelog.program.walk_nodes import children, keeps_state, subterms, terms_of
from tidelog.values import Fact, NoValueError, Value
from tidelog.views.proofs.rules import RuleBook
from tidelog.views.proofs.source import FactSource, Level
from tidelog.views.proofs.work import Work

# How many facts an inlined relation is taken to have for one key.
_CALL_COUNT: Final = 8


@runtime_checkable
class Joining(Protocol):
    """A source that joins plain atoms faster than fact by fact."""

    def joins(self, relation: str) -> bool:
        """Say whether atoms of the relation can be joined."""

    def join(
        self, atoms: Sequence[Atom], binding: Binding, below: Level | None, work: Work
    ) -> Iterator[dict[str, Value]]:
        """Yield the bindings of the atoms' variables that extend `binding`.

        The atoms hold variables and constants only. With `below`, only facts before that level count.
        Every batch of rows that is looked at is a step of the work.
        """


@runtime_checkable
class Remembering(Protocol):
    """A source that also knows facts that held only for a while."""

    def ever(self, relation: str, bound: Mapping[int, Value]) -> Iterator[Fact]:
        """Yield the facts that hold or held for a while with these values in these columns."""


class Solver(Steps):
    """Finds the bindings of bodies over the facts of a source."""

    def __init__(self, book: RuleBook, source: FactSource, work: Work | None = None) -> None:
        self.book = book
        self.source = source
        self.work = Work() if work is None else work
        self.terms = _Terms(book.program, book.codec, book.functions, self._aggregated)
        self._below: Level | None = None
        self._joining = source if isinstance(source, Joining) else None
        self._ever = source.ever if isinstance(source, Remembering) else source.matches
        self._simple: dict[int, bool] = {}
        self._callable: dict[tuple[str, frozenset[int]], bool] = {}

    def bindings(self, body: Body, binding: Binding, below: Level | None = None) -> Iterator[Binding]:
        """Yield one binding for each derivation of the body that extends `binding`.

        With `below`, facts of the same stratum must have smaller iterations. Nothing is found where
        the body does not bind what it needs.
        """
        if not body:
            yield binding
            return
        self._below = below
        self.work.step()
        position = self._next(body, binding)
        if position is None:
            if waits_for_state(body, self.book.program):
                yield binding
            return
        chosen = body[position]
        if self._joining is not None and isinstance(chosen, Atom) and self._is_plain(chosen):
            plain: list[Atom] = []
            rest: list[Literal] = []
            for each in body:
                if isinstance(each, Atom) and self._is_plain(each):
                    plain.append(each)
                else:
                    rest.append(each)
            others = tuple(rest)
            for joined in self._joining.join(plain, binding, below, self.work):
                yield from self.bindings(others, joined, below)
            return
        left = body[:position] + body[position + 1 :]
        try:
            for extended, later in self._steps(chosen, binding, below):
                yield from self.bindings(left + later, extended, below)
        except NoValueError:
            return

    def _aggregated(self, body: Body, binding: Binding) -> Iterator[Binding]:
        """Yield the bindings of an aggregate's body, whose facts come before the level in question.

        That matters where an aggregate reads its own stratum: its value is that of the iteration.
        """
        return self.bindings(body, binding, self._below)

    @contextmanager
    def before(self, below: Level | None) -> Iterator[None]:
        """Let aggregates see only facts before a level."""
        outer, self._below = self._below, below
        try:
            yield
        finally:
            self._below = outer

    def holds(self, atom: Atom, binding: Binding, below: Level | None = None) -> bool:
        """Say whether a fact matches the atom; raise `NoValueError` if one of its terms has no value."""
        with self.before(self._below):
            for term in atom.terms:
                self._ask(term, binding)
            return any(True for _ in self._matching(atom, binding, below))

    def facts(self, relation: str, bound: Mapping[int, Value], below: Level | None) -> Iterator[Fact]:
        """Yield the facts of any relation, stored or not, that have the bound values."""
        if not self.book.is_stored(relation):
            yield from self._call(relation, bound, below)
            return
        if below is None or self.book.strata[relation] != below[0]:
            yield from self.source.matches(relation, bound)
            return
        for fact in self._ever(relation, bound):
            if self.is_below(relation, fact, below):
                yield fact

    def is_below(self, relation: str, fact: Fact, below: Level) -> bool:
        """Say whether a fact that holds comes before a level."""
        level = self.source.level(relation, fact)
        if level is None:
            return self.book.strata[relation] < below[0]
        return level < below

    # --- literals ------------------------------------------------------------------------------

    def _steps(self, literal: Literal, binding: Binding, below: Level | None) -> Iterator[Step]:
        self._below = below
        match literal:
            case Atom():
                yield from self._matching(literal, binding, below)
            case NegatedAtom():
                if is_stateful(literal, self.book.program) or not self.holds(literal.atom, binding):
                    yield binding, ()
            case Constraint():
                yield from self._compare(literal, binding)
            case Generator():
                yield from self._generate(literal, binding)
            case _:
                assert_never(literal)

    def _matching(self, atom: Atom, binding: Binding, below: Level | None) -> Iterator[Step]:
        seen_by_aggregates = self._below
        for fact in self.facts(atom.relation, self._known(atom, binding), below):
            self._below = seen_by_aggregates
            self.work.step()
            step = self.fit_fact(atom, fact, binding)
            if step is not None:
                yield step

    def _compare(self, constraint: Constraint, binding: Binding) -> Iterator[Step]:
        if is_stateful(constraint, self.book.program):
            # Which value a derivation was given is not known any more, but that it was given one.
            for term in (constraint.left, constraint.right):
                self._ask_operands(term, binding)
            yield binding, ()
        else:
            yield from super()._compare(constraint, binding)

    def _ask_operands(self, term: Term, binding: Binding) -> None:
        """Ask for the values of what stands in a term that is given its value."""
        if not any(keeps_state(part, self.book.program) for part in subterms(term)):
            self._ask(term, binding)
        else:
            for part in children(term):
                self._ask_operands(cast("Term", part), binding)

    def _is_plain(self, atom: Atom) -> bool:
        """Say whether the source can join the atom."""
        if self._joining is None or not self._joining.joins(atom.relation):
            return False
        # By identity: atoms live as long as the rule book, and their content is slow to hash.
        is_simple = self._simple.get(id(atom))
        if is_simple is None:
            is_simple = all(isinstance(term, Variable | Constant) for term in atom.terms)
            is_simple = self._simple[id(atom)] = is_simple and self.book.is_stored(atom.relation)
        return is_simple

    # --- the order of literals --------------------------------------------------------------------

    def _next(self, body: Body, binding: Binding) -> int | None:
        """Return the position of the literal to take next, None if none can be taken."""
        first_bind: int | None = None
        atoms: list[int] = []
        for position, literal in enumerate(body):
            rank = self._rank(literal, binding.keys())
            if rank == TEST:
                return position
            if rank == BIND and first_bind is None:
                first_bind = position
            if rank == SCAN:
                atoms.append(position)
        if first_bind is not None or not atoms:
            return first_bind
        if len(atoms) == 1 or all(self._is_plain(cast("Atom", body[place])) for place in atoms):
            return atoms[0]
        return min(atoms, key=lambda place: self._size(cast("Atom", body[place]), binding))

    def _size(self, atom: Atom, binding: Binding) -> int:
        try:
            known = self._known(atom, binding)
        except NoValueError:
            return 0
        if not self.book.is_stored(atom.relation):
            return _CALL_COUNT
        return self.source.count(atom.relation, known)

    def _rank(self, literal: Literal, bound: AbstractSet[str]) -> int | None:
        """Return how soon to take a literal, or None if it must wait."""
        if isinstance(literal, Atom) and not self.book.is_stored(literal.relation):
            known = frozenset(p for p, term in enumerate(literal.terms) if awaited(term) <= bound)
            return SCAN if self._can_call(literal.relation, known) else None
        return super()._rank(literal, bound)

    def _rank_constraint(self, constraint: Constraint, bound: AbstractSet[str]) -> int | None:
        if is_stateful(constraint, self.book.program):
            return TEST if mentioned(constraint) <= bound else None
        return super()._rank_constraint(constraint, bound)

    # --- inlined relations ------------------------------------------------------------------------

    def _call(self, relation: str, bound: Mapping[int, Value], below: Level | None) -> Iterator[Fact]:
        """Yield the facts of a relation that no engine holds, from its rules."""
        seen: set[Fact] = set()
        for rule in self.book.rules_of(relation):
            for binding in self.head_bindings(rule, bound, below):
                try:
                    fact = tuple(self.terms.value(term, binding) for term in rule.head.terms)
                except NoValueError:
                    continue
                if fact not in seen:
                    seen.add(fact)
                    yield fact

    def head_bindings(self, rule: Rule, bound: Mapping[int, Value], below: Level | None) -> Iterator[Binding]:
        """Yield the bindings under which the rule derives a fact with the bound values."""
        binding, later = dict[str, Value](), list[Literal]()
        self._below = below
        try:
            for column, value in bound.items():
                if not self.terms.fit(rule.head.terms[column], value, binding, later):
                    return
        except NoValueError:
            return
        yield from self.bindings((*rule.body, *later), binding, below)

    def _can_call(self, relation: str, known: frozenset[int]) -> bool:
        """Say whether the rules of a relation bind everything when these columns are known."""
        key = (relation, known)
        if key not in self._callable:
            self._callable[key] = all(self._binds_all(rule, known) for rule in self.book.rules_of(relation))
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


class _Terms(Terms):
    """Terms of which a derivation's own numbers, and what stateful functors gave it, are not asked again."""

    def _is_stateful(self, term: Term) -> bool:
        return any(keeps_state(part, self._program) for part in subterms(term))


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
