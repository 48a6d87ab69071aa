"""Own variables of aggregates, kept apart from each other."""

from dataclasses import replace

from tidelog.program.flatten_rules import FlatRule
from tidelog.program.walk_terms import (
    bodies,
    deep_variables,
    inside,
    map_literal,
    map_parts,
    subterms,
    terms_of,
)
from tidelog.program.written_names import made_name
from tidelog.syntax import tree


def scope_aggregates(rule: FlatRule) -> FlatRule:
    """Return the rule in which no two aggregates share a variable of their own.

    A variable of an aggregate is its own unless the variable also stands outside it, in the rule or
    in an aggregate around it; a variable of the target that stands in the body is always its own.
    Afterwards a name means one variable in the whole rule:

        r(a, b) :- a = count : { p(y) }, b = count : { q(y) }.

        r(a, b) :- a = count : { p(y) }, b = count : { q(_y'1) }.
    """
    atoms = (rule.head,) if rule.greater is None else (rule.head, rule.greater)
    direct = [term for literal in (*atoms, *rule.body) for term in terms_of(literal)]
    if not any(isinstance(part, tree.Aggregate) for term in direct for part in subterms(term)):
        return rule
    outside = _names(direct)
    scoper = _Scoper(outside)
    head = replace(rule.head, terms=tuple(scoper.term(t, outside, {}) for t in rule.head.terms))
    body = tuple(map_literal(literal, lambda term: scoper.term(term, outside, {})) for literal in rule.body)
    return replace(rule, head=head, body=body)


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
        return map_parts(term, lambda part: self.term(part, outside, renamed))

    def aggregate(
        self, aggregate: tree.Aggregate, outside: frozenset[str], renamed: dict[str, str]
    ) -> tree.Aggregate:
        """Return the aggregate with its own variables renamed where their names are taken."""
        direct = list(inside(aggregate))
        here = _names(direct)
        in_body = _names([t for body in bodies(aggregate) for literal in body for t in terms_of(literal)])
        aimed = frozenset() if aggregate.target is None else _names([aggregate.target]) & in_body
        inner = dict(renamed)
        for name in dict.fromkeys(v.name for term in direct for v in deep_variables(term)):
            if name in aimed or (name in here and name not in outside):
                inner[name] = name
                if name in self.used:
                    self.number += 1
                    inner[name] = made_name(name, self.number)
                self.used.add(inner[name])
        visible = outside | here

        def change(term: tree.Term) -> tree.Term:
            return self.term(term, visible, inner)

        alternatives = tuple(
            tree.Conjunction(
                tuple(map_literal(literal, change) for literal in body), span=aggregate.body.span
            )
            for body in bodies(aggregate)
        )
        return replace(
            aggregate,
            target=None if aggregate.target is None else change(aggregate.target),
            init=None if aggregate.init is None else change(aggregate.init),
            body=tree.Disjunction(alternatives, span=aggregate.body.span),
        )
