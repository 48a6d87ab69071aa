"""All rule applications that yield a fact."""

from collections.abc import Collection, Iterator, Mapping

from tidelog.engine.reference.terms import Binding
from tidelog.engine.reference.variables import awaited
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivation import (
    Absence,
    Aggregation,
    BodyPart,
    Derivation,
    HeldConstraint,
    Premise,
)
from tidelog.explain.proofs.rules import RuleBook
from tidelog.explain.proofs.solve import BodySolver
from tidelog.explain.proofs.source import FactSource, Level
from tidelog.explain.proofs.wording import word_literal, word_term
from tidelog.program.nodes import Aggregate, Atom, Literal, NegatedAtom, Rule, RuleId, Term, Variable
from tidelog.program.walk_nodes import aggregates_in, children, keeps_state, walk
from tidelog.program.written_names import written_name
from tidelog.values import Fact, NoValueError, Value
from tidelog.values.functors import order_key


def derivations(
    source: FactSource, book: RuleBook, atom: GroundAtom, *, rules: Collection[str] | None = None
) -> Iterator[Derivation]:
    """Yield each derivation of a fact by the user's rules once, as they are found.

    `rules` names those to try, such as `path#2`. An input fact needs none, and what a law of
    its relation adds (an equivalence, a lattice) is not a rule application: see `Prover`. Whether the fact
    holds is not asked: a choice may leave out a fact that has derivations.

        for derivation in derivations(source, book, GroundAtom("path", (1, 3))):
            print(derivation, derivation.premises)
    """
    yield from Deriver(BodySolver(book, source)).derivations(atom, rules=rules)


class Deriver:
    """Applies rules to the facts that a solver finds."""

    def __init__(self, solver: BodySolver) -> None:
        self.solver = solver
        self.book = solver.book
        self._shapes: dict[RuleId, tuple[tuple[str, ...], tuple[Aggregate, ...]]] = {}

    def derivations(
        self, atom: GroundAtom, below: Level | None = None, rules: Collection[str] | None = None
    ) -> Iterator[Derivation]:
        """Yield the derivations of a fact whose premises come before a level."""
        seen: set[Derivation] = set()
        for rule in self.book.rules_of(atom.relation):
            if rules is not None and self.book.quote(rule).name not in rules:
                continue
            for binding in self.applications(rule, atom.fact, below):
                found = self.derivation(rule, atom, binding, below)
                # Who asks for the first one only is spared the comparison.
                if not seen or found not in seen:
                    yield found
                    seen.add(found)

    def applications(self, rule: Rule, fact: Fact, below: Level | None = None) -> Iterator[Binding]:
        """Yield the bindings under which a rule derives a fact."""
        with self.solver.before(below):
            step = self.solver.fit_fact(rule.head, fact, {})
        if step is None:
            return
        binding, later = step
        yield from self.solver.bindings((*rule.body, *later) if later else rule.body, binding, below)

    def heads(self, rule: Rule, bound: Mapping[int, Value], below: Level | None = None) -> Iterator[Fact]:
        """Yield what a rule derives with the bound values; a fact comes once for each of its bindings.

        Where a derivation was given its values, by `autoinc()` say, they are those of facts that hold.
        """
        if any(keeps_state(part, self.book.program) for part in walk((rule,), into_aggregates=False)):
            for fact in self.solver.source.matches(rule.head.relation, bound):
                if any(True for _ in self.applications(rule, fact, below)):
                    yield fact
            return
        for binding in self.solver.head_bindings(rule, bound, below):
            try:
                with self.solver.before(below):
                    fact = tuple(self.solver.terms.value(term, binding) for term in rule.head.terms)
            except NoValueError:
                continue
            yield fact

    def derivation(
        self, rule: Rule, head: GroundAtom, binding: Binding, below: Level | None = None
    ) -> Derivation:
        """Return a rule application under the binding of all its variables.

        Aggregates are over the facts before the level.
        """
        if rule.id not in self._shapes:
            valued = tuple(each for each in aggregates_in((rule,)) if not each.negates)
            self._shapes[rule.id] = (written_variables(rule), valued)
        names, aggregates = self._shapes[rule.id]
        with self.solver.before(below):
            return Derivation(
                head,
                self.book.quote(rule),
                tuple((name, binding[name]) for name in names if name in binding),
                tuple(self.part(literal, binding) for literal in rule.body),
                tuple(self.aggregation(each, binding, below) for each in aggregates),
            )

    def part(self, literal: Literal, binding: Binding) -> BodyPart:
        """Return a literal that holds, with values in the place of its variables."""
        match literal:
            case Atom():
                fact = tuple(self.solver.terms.value(term, binding) for term in literal.terms)
                return Premise(GroundAtom(literal.relation, fact))
            case NegatedAtom():
                return self.absence(literal, binding)
            case _:
                return HeldConstraint(word_literal(literal, binding))

    def absence(self, literal: NegatedAtom, binding: Binding) -> Absence:
        """Return a negated atom; a column whose term has no value of its own may have any."""
        pattern: list[Value] = []
        bound = []
        for column, term in enumerate(literal.atom.terms):
            value = self._value(term, binding)
            pattern.append(None if value is None else value[0])
            if value is not None:
                bound.append(column)
        text = word_literal(literal, binding)
        return Absence(literal.atom.relation, tuple(pattern), tuple(bound), text)

    def _value(self, term: Term, binding: Binding) -> tuple[Value] | None:
        return (self.solver.terms.value(term, binding),) if awaited(term) <= binding.keys() else None

    def aggregation(self, aggregate: Aggregate, binding: Binding, below: Level | None) -> Aggregation:
        """Return an aggregate with the facts of its group."""
        outer = {name: value for name, value in binding.items() if name in aggregate.outer}
        group: dict[GroundAtom, None] = {}
        for inner in self.solver.bindings(aggregate.body, outer, below):
            if aggregate.target is not None:
                try:
                    self.solver.terms.value(aggregate.target, inner)
                except NoValueError:
                    continue
            for literal in aggregate.body:
                if isinstance(literal, Atom):
                    fact = tuple(self.solver.terms.value(term, inner) for term in literal.terms)
                    group[GroundAtom(literal.relation, fact)] = None
            for nested in aggregates_in(children(aggregate)):
                group.update(dict.fromkeys(self.aggregation(nested, inner, below).group))
        value = self.solver.terms.value(aggregate, binding)
        return Aggregation(word_term(aggregate, outer), value, tuple(sorted(group, key=_in_order)))


def _in_order(atom: GroundAtom) -> tuple[str, object]:
    return atom.relation, order_key(atom.fact)


def written_variables(rule: Rule) -> tuple[str, ...]:
    """Return the variables of a rule that the user wrote, in the order they first occur."""
    names = (part.name for part in walk((rule,), into_aggregates=False) if isinstance(part, Variable))
    return tuple(dict.fromkeys(name for name in names if written_name(name) == name))
