"""Rules that derive the steps of proofs and their premises."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.program.flat_terms import bodies, literals_of, map_literal, terms_of
from tidelog.program.flatten_bodies import NONE, Alternative, FlatLiteral, direct_names
from tidelog.program.flatten_rules import ConjunctiveRule
from tidelog.program.proof_cones import ProofCone
from tidelog.program.scope_aggregates import scope_aggregates
from tidelog.program.written_names import made_name
from tidelog.source import Span
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import deep_variables, map_term, subterms

_PLAIN = (
    tree.Variable
    | tree.NumberLiteral
    | tree.UnsignedLiteral
    | tree.FloatLiteral
    | tree.StringLiteral
    | tree.NilLiteral
)


@dataclass(frozen=True, slots=True)
class DerivedStep:
    """The rule that derives the steps of one rule of the program.

    `premises` are the facts of its atoms; `group_rules` derive the premises that aggregates rest on.
    """

    rule: ConjunctiveRule
    premises: tuple[tree.Term, ...]
    group_rules: tuple[ConjunctiveRule, ...]


def named_rules(rules: Iterable[ConjunctiveRule]) -> Iterator[tuple[str, ConjunctiveRule]]:
    """Yield the rules with the names that proofs quote them by, such as `path#2`."""
    places: dict[str, int] = {}
    for rule in rules:
        if rule.greater is None:
            relation = rule.head.relation
            places[relation] = places.get(relation, 0) + 1
            yield f"{relation}#{places[relation]}", rule


def leaf_step(cone: ProofCone, relation: tree.RelationDeclaration, word: str) -> ConjunctiveRule:
    """Return the rule by which every fact of a relation is a step without premises.

    path.step(["input", $edge(x, y), nil], $edge(x, y), "input") :- edge(x, y).
    """
    span = cone.span
    columns = tuple(
        tree.Variable(made_name(column.name, place), span=span)
        for place, column in enumerate(relation.columns)
    )
    fact = tree.BranchTerm(relation.name, columns, span=span)
    atom = tree.Atom(relation.name, columns, span=span)
    return ConjunctiveRule(_step_atom(cone, word, fact, (), span), (atom,), span=span)


def derived_step(cone: ProofCone, name: str, rule: ConjunctiveRule) -> DerivedStep:
    """Return the rules for the steps of a rule of the program; `name` is the one that proofs quote.

    path(x, z) :- path(x, y), edge(y, z).

    path.step(["path#2", f, [$path(x, y), [$edge(y, z), nil]]], f, "path#2") :-
        path(x, y), edge(y, z), f = $path(x, z).
    """
    naming = NamedPremises(cone, scope_aggregates(rule))
    scoped = naming.rule
    body, premises = naming.literals(scoped.body)
    fact = naming.variable("fact", rule.span)
    derived = tree.BranchTerm(rule.head.relation, scoped.head.terms, span=rule.span)
    body = (*body, tree.Constraint("=", fact, derived, span=rule.span))
    head = _step_atom(cone, name, fact, premises, rule.span)
    step = ConjunctiveRule(head, body, span=rule.span)
    groups = naming.groups(body, head.terms[0], len(premises))
    return DerivedStep(step, premises, tuple(groups))


def premise_rules(cone: ProofCone, longest: int) -> Iterator[ConjunctiveRule]:
    """Yield a rule for each position, up to the number of atoms in the longest body.

    path.premise(id, 1, fact) :- path.step(id, _, _), id = [_, _, [_, [fact, _]]].
    """
    span = cone.span
    step, fact = tree.Variable("id", span=span), tree.Variable("fact", span=span)
    wild = tree.Wildcard(span=span)
    for position in range(longest):
        pattern: tree.Term = tree.RecordTerm((fact, wild), span=span)
        for _ in range(position):
            pattern = tree.RecordTerm((wild, pattern), span=span)
        whole = tree.RecordTerm((wild, wild, pattern), span=span)
        head = tree.Atom(cone.premise, (step, tree.NumberLiteral(position, span=span), fact), span=span)
        # The step is taken apart where it is matched: what does not fit has fewer premises.
        read = tree.Atom(cone.step, (step, wild, wild), span=span)
        body = (read, tree.Constraint("=", step, whole, span=span))
        yield ConjunctiveRule(head, body, span=span)


def _step_atom(
    cone: ProofCone, word: str, fact: tree.Term, premises: Sequence[tree.Term], span: Span
) -> tree.Atom:
    rule = tree.StringLiteral(word, span=span)
    rest: tree.Term = tree.NilLiteral(span=span)
    for premise in reversed(premises):
        rest = tree.RecordTerm((premise, rest), span=span)
    return tree.Atom(cone.step, (tree.RecordTerm((rule, fact, rest), span=span), fact, rule), span=span)


class NamedPremises:
    """Gives names to what has none in one rule, so that the facts of its atoms can be written down."""

    def __init__(self, cone: ProofCone, rule: ConjunctiveRule) -> None:
        self.cone = cone
        self.rule = rule
        self._used = {variable.name for variable in deep_variables(literals_of(rule))}
        self._number = 0

    def variable(self, word: str, span: Span) -> tree.Variable:
        """Return a variable that the rule does not have."""
        while True:
            self._number += 1
            name = made_name(word, self._number)
            if name not in self._used:
                self._used.add(name)
                return tree.Variable(name, span=span)

    def literals(self, body: Alternative) -> tuple[Alternative, tuple[tree.Term, ...]]:
        """Return a body that binds all columns of its positive atoms, and the facts of these."""
        found: list[FlatLiteral] = []
        facts: list[tree.Term] = []
        for literal in body:
            if not isinstance(literal, tree.Atom) or not self.cone.has_facts_of(literal.relation):
                found.append(literal)
                continue
            equalities: list[FlatLiteral] = []
            atom = replace(literal, terms=tuple(self._term(each, equalities) for each in literal.terms))
            found.extend((atom, *equalities))
            atom, others = self._without_meets(atom)
            found.extend(others)
            facts.append(tree.BranchTerm(atom.relation, atom.terms, span=atom.span))
        return tuple(found), tuple(facts)

    def _term(self, term: tree.Term, equalities: list[FlatLiteral]) -> tree.Term:
        """Return a term that can be read and built; what is computed has a variable and an equality."""
        if isinstance(term, _PLAIN):
            return term
        if isinstance(term, tree.RecordTerm | tree.BranchTerm):
            return map_term(term, lambda part: self._term(part, equalities))
        value = self.variable("value", term.span)
        if not isinstance(term, tree.Wildcard):
            equalities.append(tree.Constraint("=", value, term, span=term.span))
        return value

    def _without_meets(self, atom: tree.Atom) -> tuple[tree.Atom, tuple[tree.Atom, ...]]:
        """Return the atom as its fact has it: a variable of two lattice columns is the meet of both."""
        places = self.cone.lattices.get(atom.relation, ())
        if not places:
            return atom, ()
        terms = list(atom.terms)
        for place in places:
            terms[place] = self.variable("value", atom.span)
        whole = replace(atom, terms=tuple(terms))
        return whole, (whole,)

    # --- aggregates ---

    def groups(self, body: Alternative, step: tree.Term, position: int) -> Iterator[ConjunctiveRule]:
        """Yield rules for the premises that the aggregates of a step rest on, one for each atom in them.

        Positions go on from `position`; all facts of an atom share its position.
        """
        outside = direct_names([term for literal in literals_of(self.rule) for term in terms_of(literal)])
        places = [position]
        yield from self._groups(body, body, step, (outside, places))

    def _groups(
        self,
        literals: Alternative,
        around: Alternative,
        step: tree.Term,
        state: tuple[frozenset[str], list[int]],
    ) -> Iterator[ConjunctiveRule]:
        outside, places = state
        for aggregate in _aggregates(literals):
            for alternative in bodies(aggregate):
                renamed, own = self._renamed(alternative, outside)
                inner, facts = self.literals(renamed)
                whole = (*around, *inner)
                for fact in facts:
                    position = tree.NumberLiteral(places[0], span=fact.span)
                    places[0] += 1
                    head = tree.Atom(self.cone.premise, (step, position, fact), span=self.rule.span)
                    yield ConjunctiveRule(head, whole, span=self.rule.span)
                yield from self._groups(inner, whole, step, (outside | own, places))

    def _renamed(
        self, alternative: Alternative, outside: frozenset[str]
    ) -> tuple[Alternative, frozenset[str]]:
        """Return a copy of an aggregate's body with names of its own, so that the aggregate keeps its own."""
        terms = [term for literal in alternative for term in terms_of(literal)]
        own = {each.name: each.span for each in deep_variables(terms) if each.name not in outside}
        names = {name: self.variable(name, span) for name, span in own.items()}

        def change(term: tree.Term) -> tree.Term:
            if isinstance(term, tree.Variable):
                return names.get(term.name, term)
            return map_term(term, change)

        changed = tuple(map_literal(literal, change) for literal in alternative)
        return changed, frozenset(variable.name for variable in names.values())


def _aggregates(literals: Alternative) -> Iterator[tree.Aggregate]:
    """Yield the aggregates directly in literals; those that negate rest on nothing."""
    for literal in literals:
        for term in terms_of(literal):
            for part in subterms(term):
                if isinstance(part, tree.Aggregate) and part.functor != NONE:
                    yield part
