"""The bindings under which a body holds, found from what is already bound.

Whatever can be tested is tested first, then equalities bind, then the atom with the fewest matching
facts is taken. A source that can look at many facts at once, as codes, leaves out those for which an atom
that would be tested next has no fact.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Protocol, assert_never, cast, runtime_checkable

from tidelog.engine.reference.steps import Body, Step, Steps
from tidelog.engine.reference.terms import Binding, Terms
from tidelog.explain.proofs.order import Columns, LiteralOrder, NextLiteral, is_stateful, waits_for_state
from tidelog.explain.proofs.rules import RuleBook
from tidelog.explain.proofs.source import FactSource, Level, LookUp, Partner, Searching
from tidelog.explain.proofs.work import SearchWork
from tidelog.program.nodes import (
    Atom,
    Constraint,
    Generator,
    Literal,
    NegatedAtom,
    Rule,
    Term,
)
from tidelog.program.walk_nodes import children, keeps_state, subterms
from tidelog.values import Fact, NoValueError, Value

# How many facts an inlined relation is taken to have for one key.
_CALL_COUNT: Final = 8


@runtime_checkable
class Remembering(Protocol):
    """A source that also knows facts that held only for a while."""

    def ever(self, relation: str, bound: Mapping[int, Value]) -> Iterator[Fact]:
        """Yield the facts that hold or held for a while with these values in these columns."""

    def facts_before(self, relation: str, bound: Mapping[int, Value], below: Level) -> Iterator[Fact]:
        """Yield the facts with these values that a relation with moving bounds had just before a level."""


class BodySolver(Steps):
    """Finds the bindings of bodies over the facts of a source."""

    def __init__(self, book: RuleBook, source: FactSource, order: LiteralOrder | None = None) -> None:
        self.book = book
        self.source = source
        self.work = SearchWork()
        self._order = LiteralOrder(book) if order is None else order
        self.terms = _Terms(book.program, book.codec, book.functions, self._aggregated)
        self._below: Level | None = None
        self._searching = source if isinstance(source, Searching) else None
        self._ever = source.ever if isinstance(source, Remembering) else source.matches
        self._facts_before = source.facts_before if isinstance(source, Remembering) else None

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
        choices = self._order.choices(body, binding.keys())
        if not choices:
            if waits_for_state(body, self.book.program):
                yield binding
            return
        try:
            for extended, left in self._take(choices, binding, below):
                if left:
                    yield from self.bindings(left, extended, below)
                else:
                    yield extended
        except NoValueError:
            return

    def again(self, work: SearchWork) -> "BodySolver":
        """Return a solver over the same facts that may do so much work."""
        solver = BodySolver(self.book, self.source, self._order)
        solver.work = work
        return solver

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
        if self._facts_before is not None and self.book.has_moving_bounds(relation):
            yield from self._facts_before(relation, bound, below)
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

    def _take(self, choices: Sequence[NextLiteral], binding: Binding, below: Level | None) -> Iterator[Step]:
        """Take one of some literals: yield larger bindings, each with what is left of the body under it."""
        chosen, found = self._choose(choices, binding)
        if found is None:
            for extended, later in self._steps(chosen.literal, binding, below):
                yield extended, chosen.rest + later
            return
        if not found.size:
            return
        left, partners = self._partners(chosen, binding)
        facts = found.facts(below, partners, self.work)
        if chosen.fresh is not None:
            for fact in facts:
                extended = dict(binding)
                for name, column in chosen.fresh.items():
                    extended[name] = fact[column]
                yield extended, left
            return
        for fact in facts:
            self._below = below
            step = self.fit_columns(chosen.free, fact, binding)
            if step is not None:
                yield step[0], left + step[1] if step[1] else left

    def _choose(self, choices: Sequence[NextLiteral], binding: Binding) -> tuple[NextLiteral, LookUp | None]:
        """Return the choice with the fewest facts, with its facts if the source searches for them."""
        best = choices[0], self._look_up(choices[0], binding)
        if len(choices) > 1:
            smallest = self._size(*best, binding)
            for other in choices[1:]:
                if smallest <= 1:
                    break
                look_up = self._look_up(other, binding)
                size = self._size(other, look_up, binding)
                if size < smallest:
                    best, smallest = (other, look_up), size
        return best

    def _look_up(self, choice: NextLiteral, binding: Binding) -> LookUp | None:
        """Return the facts that may match an atom, None if the source cannot search for them."""
        searching = self._searching
        if searching is None or choice.relation is None or not searching.searches(choice.relation):
            return None
        return searching.look_up(choice.relation, self._values(choice.known, binding))

    def _size(self, choice: NextLiteral, look_up: LookUp | None, binding: Binding) -> int:
        """Return about how many facts may match an atom."""
        if look_up is not None:
            return look_up.size
        if choice.relation is None or not self.book.is_stored(choice.relation):
            return _CALL_COUNT
        return self.source.count(choice.relation, self._values(choice.known, binding))

    def _partners(self, choice: NextLiteral, binding: Binding) -> tuple[Body, Sequence[Partner]]:
        """Return what is left of the body when an atom was taken with its partners, and these."""
        for each in choice.partners:
            if self._searching is None or not self._searching.searches(each.relation):
                return choice.rest, ()
        return choice.left, [
            Partner(each.relation, self._values(each.known, binding), each.columns)
            for each in choice.partners
        ]

    def _values(self, columns: Columns, binding: Binding) -> dict[int, Value]:
        return {column: self.terms.value(term, binding) for column, term in columns}

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


class _Terms(Terms):
    """Terms of which a derivation's own numbers, and what stateful functors gave it, are not asked again."""

    def _is_stateful(self, term: Term) -> bool:
        return any(keeps_state(part, self._program) for part in subterms(term))
