"""Own variables of aggregates, kept apart from each other."""

from dataclasses import replace

from tidelog.program.flat_terms import bodies, inside, literals_of, map_literal, terms_of
from tidelog.program.flatten_rules import ConjunctiveRule
from tidelog.program.written_names import made_name
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import deep_variables, map_atom, map_term, subterms


def scope_aggregates(rule: ConjunctiveRule) -> ConjunctiveRule:
    """Return the rule in which no two aggregates share a variable of their own.

    A variable of an aggregate is its own unless the variable also stands outside it, in the rule or
    in an aggregate around it; a variable of the target that stands in the body is always its own.
    Afterwards a name means one variable in the whole rule:

        r(a, b) :- a = count : { p(y) }, b = count : { q(y) }.

        r(a, b) :- a = count : { p(y) }, b = count : { q(_y'1) }.
    """
    direct = [term for literal in literals_of(rule) for term in terms_of(literal)]
    if not any(isinstance(part, tree.Aggregate) for term in direct for part in subterms(term)):
        return rule
    outside = _names(direct)
    scoper = _Scoper(outside)

    def change(term: tree.Term) -> tree.Term:
        return scoper.term(term, outside, {})

    return replace(
        rule,
        head=map_atom(rule.head, change),
        greater=None if rule.greater is None else map_atom(rule.greater, change),
        body=tuple(map_literal(literal, change) for literal in rule.body),
    )


def _names(terms: list[tree.Term]) -> frozenset[str]:
    """Return the variables in terms, without those inside aggregates."""
    return frozenset(
        part.name for term in terms for part in subterms(term) if isinstance(part, tree.Variable)
    )


class _Scoper:
    """Renames own variables whose name was used before."""

    def __init__(self, used: frozenset[str]) -> None:
        self.used = set(used)
        self.number = 0

    def term(self, term: tree.Term, outside: frozenset[str], renamed: dict[str, str]) -> tree.Term:
        """Return the term under the renaming, with the aggregates in it scoped."""
        if isinstance(term, tree.Variable):
            return replace(term, name=renamed.get(term.name, term.name))
        if isinstance(term, tree.Aggregate):
            return self.aggregate(term, outside, renamed)
        return map_term(term, lambda part: self.term(part, outside, renamed))

    def aggregate(
        self, aggregate: tree.Aggregate, outside: frozenset[str], renamed: dict[str, str]
    ) -> tree.Aggregate:
        """Return the aggregate with its own variables renamed where their names are taken."""
        direct = list(inside(aggregate))
        here = _names(direct)
        in_body = _names([t for body in bodies(aggregate) for literal in body for t in terms_of(literal)])
        aimed = frozenset() if aggregate.target is None else _names([aggregate.target]) & in_body
        inner = dict(renamed)
        for name in dict.fromkeys(v.name for v in deep_variables(direct)):
            if name in aimed or (name in here and name not in outside):
                inner[name] = name
                if name in self.used:
                    self.number += 1
                    inner[name] = made_name(name, self.number)
                self.used.add(inner[name])
        visible = outside | here

        def change(term: tree.Term) -> tree.Term:
            return self.term(term, visible, inner)

        changed = map_term(aggregate, change)
        assert isinstance(changed, tree.Aggregate)
        return changed
