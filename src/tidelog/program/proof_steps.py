"""Rules that derive the steps of proofs and their premises."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.program.flat_terms import bodies, literals_of, map_literal, terms_of
from tidelog.program.flatten_bodies import NONE, Alternative, FlatLiteral, direct_names
from tidelog.program.flatten_rules import ConjunctiveRule
from tidelog.program.proof_cones import ProofCone
from tidelog.program.proof_sizes import leaf_costs, size_rules, sized, tight
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

    `premises` are the facts of its atoms; `others` derive the premises that aggregates rest on, and sizes.
    """

    rule: ConjunctiveRule
    premises: tuple[tree.BranchTerm, ...]
    others: tuple[ConjunctiveRule, ...]


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
    return ConjunctiveRule(_step_atom(cone, word, fact, (), leaf_costs(cone)), (atom,), span=span)


def derived_step(cone: ProofCone, name: str, rule: ConjunctiveRule) -> DerivedStep:
    """Return the rules for the steps of a rule of the program; `name` is the one that proofs quote.

    path(x, z) :- path(x, y), edge(y, z).

    path.step(["path#2", f, [$path(x, y), [$edge(y, z), nil]]], f, "path#2") :-
        path(x, y), edge(y, z), f = $path(x, z).
    """
    naming = NamedPremises(cone, scope_aggregates(rule))
    scoped = naming.rule
    body, premises = naming.literals(scoped.body)
    equalities: list[FlatLiteral] = []
    columns = tuple(naming.term(each, equalities) for each in scoped.head.terms)
    body = (*body, *equalities)
    derived = tree.BranchTerm(rule.head.relation, columns, span=rule.span)
    fact = naming.variable("fact", rule.span)
    is_fact = tree.Constraint("=", fact, derived, span=rule.span)
    if not cone.options.metrics:
        whole = (*body, is_fact)
        head = _step_atom(cone, name, fact, premises, ())
        groups = naming.groups(whole, head.terms[0], len(premises))
        return DerivedStep(ConjunctiveRule(head, whole, span=rule.span), premises, tuple(groups))
    metrics = cone.options.metrics
    sizes = sized(
        cone, name, premises, [[naming.variable("n", rule.span) for _ in premises] for _ in metrics]
    )
    own = [naming.variable("size", rule.span) for _ in metrics]
    whole = (*body, is_fact, *(literal for part in sizes.literals for literal in part))
    if cone.options.smallest == 1:
        whole = (*whole, *tight(cone, derived, sizes, len(metrics), own))
    head = _step_atom(cone, name, fact, premises, sizes.costs)
    others = tuple(size_rules(cone, derived, body, sizes, own))
    return DerivedStep(ConjunctiveRule(head, whole, span=rule.span), premises, others)


def smallest_steps(cone: ProofCone) -> ConjunctiveRule:
    """Return the rule that keeps the steps of which fewer than k others are smaller.

    path.step(i, f, r) :- _cost.path(i, f, r, c), n = count : { _cost.path(_, f, _, d), d < c }, n < 3.
    """
    span = cone.span
    names = ("id", "fact", "rule")
    step, fact, rule = (tree.Variable(name, span=span) for name in names)
    numbers = range(len(cone.options.metrics))
    costs = [tree.Variable(made_name("cost", number), span=span) for number in numbers]
    fewer: tree.Term = tree.NumberLiteral(0, span=span)
    wild = tree.Wildcard(span=span)
    for number in numbers:
        others = [tree.Variable(made_name(f"other {number}", each), span=span) for each in numbers]
        read = tree.Atom(cone.cost, (wild, fact, wild, *others), span=span)
        equal = (
            tree.Constraint("=", others[each], costs[each], span=span) for each in numbers if each < number
        )
        smaller = tree.Constraint("<", others[number], costs[number], span=span)
        conjunction = tree.Conjunction((read, *equal, smaller), span=span)
        body = tree.Disjunction((conjunction,), span=span)
        counted = tree.Aggregate("count", None, body, span=span)
        fewer = tree.Application("+", (fewer, counted), span=span)
    limit = tree.NumberLiteral(cone.options.smallest, span=span)
    held = tree.Atom(cone.cost, (step, fact, rule, *costs), span=span)
    head = tree.Atom(cone.step, (step, fact, rule), span=span)
    return ConjunctiveRule(head, (held, tree.Constraint("<", fewer, limit, span=span)), span=span)


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
    cone: ProofCone, word: str, fact: tree.Term, premises: Sequence[tree.Term], costs: Sequence[tree.Term]
) -> tree.Atom:
    """Return the head of a step; where more than the smallest are kept, it has costs to be compared."""
    span = fact.span
    rule = tree.StringLiteral(word, span=span)
    rest: tree.Term = tree.NilLiteral(span=span)
    for premise in reversed(premises):
        rest = tree.RecordTerm((premise, rest), span=span)
    step = tree.RecordTerm((rule, fact, rest), span=span)
    if cone.options.smallest > 1:
        return tree.Atom(cone.cost, (step, fact, rule, *costs), span=span)
    return tree.Atom(cone.step, (step, fact, rule), span=span)


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

    def literals(self, body: Alternative) -> tuple[Alternative, tuple[tree.BranchTerm, ...]]:
        """Return a body that binds all columns of its positive atoms, and the facts of these."""
        found: list[FlatLiteral] = []
        facts: list[tree.BranchTerm] = []
        for literal in body:
            if not isinstance(literal, tree.Atom) or not self.cone.has_facts_of(literal.relation):
                found.append(literal)
                continue
            equalities: list[FlatLiteral] = []
            atom = replace(literal, terms=tuple(self.term(each, equalities) for each in literal.terms))
            found.extend((atom, *equalities))
            atom, others = self._without_meets(atom)
            found.extend(others)
            facts.append(tree.BranchTerm(atom.relation, atom.terms, span=atom.span))
        return tuple(found), tuple(facts)

    def term(self, term: tree.Term, equalities: list[FlatLiteral]) -> tree.Term:
        """Return a term that can be read and built; what is computed has a variable and an equality."""
        if isinstance(term, _PLAIN):
            return term
        if isinstance(term, tree.RecordTerm | tree.BranchTerm):
            return map_term(term, lambda part: self.term(part, equalities))
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
