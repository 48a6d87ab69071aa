"""Rules of `inline` relations put where the relations are used."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.check_safety import unbound_variables
from tidelog.program.declare_relations import Declarations
from tidelog.program.flatten_rules import ALTERNATIVES_LIMIT
from tidelog.program.inline_atom import (
    Body,
    has_wildcard,
    inline_negated,
    inline_positive,
    is_determined,
    is_total,
)
from tidelog.program.merge_variables import merge_variables
from tidelog.program.resolve_rules import TypedRule, TypedRules
from tidelog.program.strongly_connected import strongly_connected
from tidelog.program.substitute import FreshNames, names_in
from tidelog.program.walk_nodes import map_literal, map_parts, relations_read


@dataclass(frozen=True, slots=True)
class Inlined:
    """The rules after inlining, and the relations that are gone."""

    rules: TypedRules
    gone: frozenset[str]


def inline_relations(typed: TypedRules, declarations: Declarations) -> tuple[Inlined, list[Diagnostic]]:
    """Return the rules in which no atom of an inlined relation is left.

    An inlined relation stays, with its rules, where it is read in a way that cannot be replaced
    without changing the answer: in an aggregate, or negated with variables of its own. It must then
    bind its variables like any other relation.
    """
    candidates = _candidates(typed, declarations)
    if not candidates:
        return Inlined(typed, frozenset()), []
    order, diagnostics = _order(typed, candidates)
    inliner = _Inliner(declarations, diagnostics)
    for name in order:
        rules = [rule for rule in typed.rules if rule.head.relation == name]
        inliner.rules[name] = [expanded for rule in rules for expanded in inliner.expand(rule)]
    others = [
        expanded
        for rule in typed.rules
        if rule.head.relation not in inliner.rules
        for expanded in inliner.expand(rule)
    ]
    kept = inliner.all_kept()
    expanded_rules = [rule for name in order if name in kept for rule in inliner.rules[name]]
    gone = frozenset(inliner.rules) - kept
    return Inlined(replace(typed, rules=(*others, *expanded_rules)), gone), diagnostics


def _candidates(typed: TypedRules, declarations: Declarations) -> frozenset[str]:
    """Return the relations that may be inlined: marked so, and with nothing but plain rules."""
    derived = {rule.head.relation for rule in typed.rules}
    wrong = {
        rule.head.relation
        for rule in typed.rules
        if rule.head.relation in declarations.relations
        and len(rule.head.terms) != declarations.relations[rule.head.relation].arity
    }
    subsumed = {rule.head.relation for rule in typed.rules if rule.greater is not None}
    directed = {directive.relation for directive in declarations.directives}
    return frozenset(
        relation.name
        for relation in declarations.relations.values()
        if "inline" in relation.qualifiers
        and "no_inline" not in relation.qualifiers
        and relation.name in derived - subsumed - directed - wrong
        and not relation.choices
        and not relation.keys
        and not relation.is_equivalence
        and relation.size_limit is None
        and not any(column.is_lattice for column in relation.columns)
    )


def _order(typed: TypedRules, candidates: frozenset[str]) -> tuple[list[str], list[Diagnostic]]:
    """Return the relations to inline, those that others need first; recursive ones are reported."""
    graph: dict[str, list[str]] = {
        rule.head.relation: [] for rule in typed.rules if rule.head.relation in candidates
    }
    first: dict[str, TypedRule] = {}
    for rule in typed.rules:
        if rule.head.relation in candidates:
            first.setdefault(rule.head.relation, rule)
            read = relations_read((*rule.head.terms, *rule.body))
            graph[rule.head.relation].extend(name for name in sorted(read) if name in candidates)
    order: list[str] = []
    diagnostics: list[Diagnostic] = []
    for part in strongly_connected(graph):
        if len(part) == 1 and part[0] not in graph[part[0]]:
            order.append(part[0])
            continue
        names = sorted(part)
        diagnostics.append(
            Diagnostic(
                code="recursive-inline",
                message=f"an inlined relation cannot depend on itself: {' -> '.join([*names, names[0]])}",
                span=first[names[0]].span,
                hint="take `inline` away from one of the relations",
            )
        )
    return order, diagnostics


class _Inliner:
    """Expands rules one by one; `rules` has the expanded rules of inlined relations."""

    def __init__(self, declarations: Declarations, diagnostics: list[Diagnostic]) -> None:
        self.declarations = declarations
        self.diagnostics = diagnostics
        self.rules: dict[str, list[TypedRule]] = {}
        self.kept: set[str] = set()

    def all_kept(self) -> frozenset[str]:
        """Return the inlined relations that stay, and those that only they read."""
        kept: set[str] = set()
        waiting = list(self.kept)
        while waiting:
            name = waiting.pop()
            if name not in kept:
                kept.add(name)
                for rule in self.rules[name]:
                    read = relations_read((*rule.head.terms, *rule.body))
                    waiting.extend(each for each in read if each in self.rules)
        return frozenset(kept)

    def expand(self, rule: TypedRule) -> list[TypedRule]:
        """Return the rules that stand for a rule when the relations in its body are inlined."""
        atoms = (rule.head,) if rule.greater is None else (rule.head, rule.greater)
        if relations_read((*atoms, *rule.body)).isdisjoint(self.rules):
            return [rule]
        fresh = FreshNames(names_in((*atoms, *rule.body)))
        bodies: list[Body] = [()]
        for literal in rule.body:
            alternatives = list(self.literal(literal, fresh))
            bodies = [(*before, *after) for before in bodies for after in alternatives]
            if len(bodies) > ALTERNATIVES_LIMIT:
                self.diagnostics.append(
                    Diagnostic(
                        code="rule-too-large",
                        message=f"inlining makes more than {ALTERNATIVES_LIMIT} rules of this one",
                        span=rule.span,
                        hint="take `inline` away from the relations it reads",
                    )
                )
                return [rule]
        head = replace(rule.head, terms=tuple(self.term(term, fresh) for term in rule.head.terms))
        return [merge_variables(replace(rule, head=head, body=body, plan=None)) for body in bodies]

    def is_inlined(self, atom: nodes.Atom) -> bool:
        """Say whether an atom is to be replaced; one of wrong arity is reported elsewhere."""
        rules = self.rules.get(atom.relation)
        return rules is not None and all(len(rule.head.terms) == len(atom.terms) for rule in rules)

    def literal(self, literal: nodes.Literal, fresh: FreshNames) -> Iterator[Body]:
        """Yield the alternatives for one literal."""
        if isinstance(literal, nodes.Atom) and self.is_inlined(literal):
            for rule in self.rules[literal.relation]:
                yield inline_positive(literal, rule, fresh, self.declarations.types)
            return
        if isinstance(literal, nodes.NegatedAtom) and self.is_inlined(literal.atom):
            yield from self.negated(literal, fresh)
            return
        yield (map_literal(literal, lambda term: self.term(term, fresh)),)

    def negated(self, literal: nodes.NegatedAtom, fresh: FreshNames) -> Iterator[Body]:
        """Yield the alternatives for a negated atom, or the atom of a relation that stays."""
        name = literal.atom.relation
        rules = self.rules[name]
        if all(is_total(rule) for rule in rules) or not self.is_safe(name):
            alternatives = inline_negated(literal.atom, rules, fresh, self.declarations.types)
            if alternatives is not None:
                yield from alternatives
                return
        self.kept.add(name)
        yield (literal,)

    def term(self, term: nodes.Term, fresh: FreshNames) -> nodes.Term:
        """Return the term with the relations in its aggregates inlined."""
        if not isinstance(term, nodes.Aggregate):
            return map_parts(term, lambda part: self.term(part, fresh))
        body: list[nodes.Literal] = []
        for literal in term.body:
            body.extend(self.aggregated(literal, fresh))
        target = None if term.target is None else self.term(term.target, fresh)
        init = None if term.init is None else self.term(term.init, fresh)
        return replace(term, target=target, init=init, body=tuple(body))

    def aggregated(self, literal: nodes.Literal, fresh: FreshNames) -> Body:
        """Return what stands for a literal in an aggregate, where every derivation counts once."""
        match literal:
            case nodes.Atom() if self.is_inlined(literal):
                rules = self.rules[literal.relation]
                # One rule without variables of its own has one derivation for each fact.
                if len(rules) == 1 and is_determined(rules[0]) and not has_wildcard(rules[0]):
                    return inline_positive(literal, rules[0], fresh, self.declarations.types)
                self.kept.add(literal.relation)
                return (literal,)
            case nodes.NegatedAtom() if self.is_inlined(literal.atom):
                alternatives = list(self.negated(literal, fresh))
                if len(alternatives) == 1:
                    return alternatives[0]
                self.kept.add(literal.atom.relation)
                return (literal,)
            case _:
                return (map_literal(literal, lambda term: self.term(term, fresh)),)

    def is_safe(self, name: str) -> bool:
        """Say whether the rules of a relation bind all their variables by themselves."""
        return not any(True for rule in self.rules[name] for _ in unbound_variables(rule))
