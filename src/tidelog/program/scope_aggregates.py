"""Own variables of aggregates, kept apart from each other."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.program.flat_terms import bodies, inside, literals_of, map_literal, terms_of
from tidelog.program.flatten_bodies import FlatLiteral, direct_names
from tidelog.program.flatten_rules import ConjunctiveRule
from tidelog.program.written_names import made_name
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import deep_variables, map_atom, map_term, subterms, walk_down

# Their value is that of some derivation of the body, so that its variables have values as well.
SELECTING: Final = ("min", "max")


def scope_aggregates(rule: ConjunctiveRule) -> ConjunctiveRule:
    """Return the rule in which no two aggregates share a variable of their own.

    A variable of an aggregate is its own unless the variable also stands outside it, in the rule or
    in an aggregate around it. A variable of the target that stands in the body is its own as well, unless
    it stands outside a `min` or `max` where nothing can bind it: then it is a witness.
    Afterwards a name means one variable in the whole rule:

        r(a, b) :- a = count : { p(y) }, b = count : { q(y) }.

        r(a, b) :- a = count : { p(y) }, b = count : { q(_y'1) }.
    """
    direct = [term for literal in literals_of(rule) for term in terms_of(literal)]
    if not any(isinstance(part, tree.Aggregate) for term in direct for part in subterms(term)):
        return rule
    outside = direct_names(direct)
    scoper = _Scoper(outside)
    read = literals_of(rule) if rule.greater is not None else rule.body
    scope = _Scope(outside, _bindable(read), {})

    def change(term: tree.Term) -> tree.Term:
        return scoper.term(term, scope)

    return replace(
        rule,
        head=map_atom(rule.head, change),
        greater=None if rule.greater is None else map_atom(rule.greater, change),
        body=tuple(map_literal(literal, change) for literal in rule.body),
    )


def _bindable(literals: Iterable[FlatLiteral]) -> frozenset[str]:
    """Return the variables that literals may bind: matched in positive atoms, or sides of `=`."""
    found: set[str] = set()
    for literal in literals:
        if isinstance(literal, tree.Atom) or (isinstance(literal, tree.Constraint) and literal.op == "="):
            for part in walk_down(terms_of(literal), _matched):
                if isinstance(part, tree.Variable):
                    found.add(part.name)
    return frozenset(found)


def _matched(term: tree.Term) -> tuple[tree.Term, ...]:
    """Return the parts that a pattern is taken apart into."""
    if isinstance(term, tree.RecordTerm | tree.BranchTerm):
        return term.terms
    return (term.term,) if isinstance(term, tree.Cast) else ()


@dataclass(frozen=True, slots=True)
class _Scope:
    """What aggregates at one place see: names outside them, those that may be bound there, and new names."""

    outside: frozenset[str]
    bindable: frozenset[str]
    renamed: dict[str, str]


class _Scoper:
    """Renames own variables whose name was used before."""

    def __init__(self, used: frozenset[str]) -> None:
        self.used = set(used)
        self.number = 0

    def term(self, term: tree.Term, scope: _Scope) -> tree.Term:
        """Return the term with its variables renamed and the aggregates in it scoped."""
        if isinstance(term, tree.Variable):
            return replace(term, name=scope.renamed.get(term.name, term.name))
        if isinstance(term, tree.Aggregate):
            return self.aggregate(term, scope)
        return map_term(term, lambda part: self.term(part, scope))

    def aggregate(self, aggregate: tree.Aggregate, scope: _Scope) -> tree.Aggregate:
        """Return the aggregate with its own variables renamed where their names are taken."""
        direct = list(inside(aggregate))
        here = direct_names(direct)
        in_body = [literal for body in bodies(aggregate) for literal in body]
        named = direct_names([term for literal in in_body for term in terms_of(literal)])
        aimed = frozenset() if aggregate.target is None else direct_names([aggregate.target]) & named
        if aggregate.functor in SELECTING:
            aimed -= scope.outside - scope.bindable
        renamed = dict(scope.renamed)
        for name in dict.fromkeys(v.name for v in deep_variables(direct)):
            if name in aimed or (name in here and name not in scope.outside):
                renamed[name] = name
                if name in self.used:
                    self.number += 1
                    renamed[name] = made_name(name, self.number)
                self.used.add(renamed[name])
        inner = _Scope(scope.outside | here, scope.bindable | _bindable(in_body), renamed)
        changed = map_term(aggregate, lambda term: self.term(term, inner))
        assert isinstance(changed, tree.Aggregate)
        return changed
