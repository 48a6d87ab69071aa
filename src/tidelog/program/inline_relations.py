"""Rules of `inline` relations put where the relations are used."""

from dataclasses import replace
from itertools import product
from math import inf, prod
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, Severity
from tidelog.program import nodes
from tidelog.program.check_safety import unbound_variables
from tidelog.program.declare_relations import Declarations
from tidelog.program.flatten_bodies import ALTERNATIVES_LIMIT, LITERALS_LIMIT
from tidelog.program.inline_atom import (
    Body,
    TooManyAlternativesError,
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
from tidelog.program.virtual_relations import PREFIX
from tidelog.program.walk_nodes import map_literal, map_parts, relations_read

# What inlining may make of one body and of a whole program, in literals.
BODY_LIMIT: Final = 500
PROGRAM_LIMIT: Final = 1_000_000

# For each literal of a body the alternatives for it; None if there are too many.
Choices = list[list[Body] | None]


@dataclass(frozen=True, slots=True)
class Inlined:
    """The rules after inlining, and the relations that are inlined."""

    rules: TypedRules
    relations: frozenset[str]


def inline_relations(typed: TypedRules, declarations: Declarations) -> tuple[Inlined, list[Diagnostic]]:
    """Return the rules in which no atom of an inlined relation is left.

    An inlined relation stays, with its rules, where it is read in a way that cannot be replaced
    without changing the answer: in an aggregate, or negated with variables of its own. It must then
    bind its variables like any other relation. A relation that does so also stays where inlining it would
    make too many rules of one.
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
    inlined = frozenset(inliner.rules) - kept
    return Inlined(replace(typed, rules=(*others, *expanded_rules)), inlined), diagnostics


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
    return frozenset(
        relation.name
        for relation in declarations.relations.values()
        if "inline" in relation.qualifiers
        and "no_inline" not in relation.qualifiers
        and relation.name in derived - subsumed - wrong
        and not relation.keys
        and relation.law is None
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
                hint="remove `inline` from one of the relations",
            )
        )
    return order, diagnostics


def _weight(choice: list[Body] | None) -> tuple[float, int]:
    """Return how much the alternatives of a literal make of a rule."""
    return (inf, 0) if choice is None else (len(choice), sum(map(len, choice)))


class _Inliner:
    """Expands rules one by one; `rules` has the expanded rules of inlined relations."""

    def __init__(self, declarations: Declarations, diagnostics: list[Diagnostic]) -> None:
        self.declarations = declarations
        self.diagnostics = diagnostics
        self.rules: dict[str, list[TypedRule]] = {}
        self.kept: set[str] = set()
        self.made = 0

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

        def change(term: nodes.Term) -> nodes.Term:
            return self.term(term, fresh)

        head = map_literal(rule.head, change)
        greater = None if rule.greater is None else map_literal(rule.greater, change)
        body = tuple(map_literal(literal, change) for literal in rule.body)
        choices = [self.literal(literal, fresh) for literal in body]
        while not self.fits(choices):
            place = self.largest(body, choices)
            if place is None:
                self.report(rule, choices)
                return [rule]
            choices[place] = [self.keep(body[place])]
        bodies = [
            tuple(literal for part in chosen for literal in part)
            for chosen in product(*(choice or () for choice in choices))
        ]
        self.made += sum(map(len, bodies))
        changed = replace(rule, head=head, greater=greater, plan=None)
        return [merge_variables(replace(changed, body=each)) for each in bodies]

    # --- how much a rule may become ------------------------------------------------------------

    def fits(self, choices: Choices) -> bool:
        """Say whether the alternatives for the literals of a body make few enough rules together."""
        if any(choice is None for choice in choices):
            return False
        known = [choice for choice in choices if choice is not None]
        rules = prod(map(len, known))
        literals = sum(rules // len(choice) * sum(map(len, choice)) for choice in known if rules)
        longest = sum(max(map(len, choice), default=0) for choice in known)
        return (
            rules <= ALTERNATIVES_LIMIT
            and longest <= max(BODY_LIMIT, len(choices))
            and literals <= min(LITERALS_LIMIT, PROGRAM_LIMIT - self.made)
        )

    def largest(self, body: Body, choices: Choices) -> int | None:
        """Return the place of the largest atom that may as well stay; None if there is none."""
        stays = [
            (_weight(choice), -place)
            for place, (literal, choice) in enumerate(zip(body, choices, strict=True))
            if choice != [(literal,)]
            and (name := self.inlined_name(literal)) is not None
            and self.is_safe(name)
        ]
        return -max(stays)[1] if stays else None

    def keep(self, literal: nodes.Literal) -> Body:
        """Leave an atom as it is: inlining its relation would only have saved time."""
        name = self.inlined_name(literal)
        assert name is not None
        self.kept.add(name)
        # Relations that nobody declared as `inline` are inlined by our own choice.
        if not name.startswith(PREFIX):
            self.diagnostics.append(
                Diagnostic(
                    code="not-inlined",
                    message=f"`{name}` is not inlined here: that would turn this rule into too many rules, "
                    "or make it too long",
                    span=literal.span,
                    hint=f"remove `inline` from `{name}`",
                    severity=Severity.WARNING,
                )
            )
        return (literal,)

    def report(self, rule: TypedRule, choices: Choices) -> None:
        """Report a rule that inlining would blow up."""
        weights = [
            (_weight(choice), name)
            for literal, choice in zip(rule.body, choices, strict=True)
            if (name := self.inlined_name(literal)) is not None and _weight(choice) > (1, 1)
        ]
        names = list(dict.fromkeys(name for _, name in sorted(weights, reverse=True)))
        shown = ", ".join(f"`{name}`" for name in names)
        self.diagnostics.append(
            Diagnostic(
                code="rule-too-large",
                message=f"inlining {shown} turns this rule into too many rules, or makes it too long",
                span=rule.span,
                hint=f"bind the variables of `{names[0]}` with positive atoms in its own rules, "
                "and remove `inline` from it",
            )
        )

    # --- one literal -----------------------------------------------------------------------------

    def inlined_name(self, literal: nodes.Literal) -> str | None:
        """Return the relation of an atom, perhaps negated, that is to be replaced."""
        atom = literal.atom if isinstance(literal, nodes.NegatedAtom) else literal
        return atom.relation if isinstance(atom, nodes.Atom) and self.is_inlined(atom) else None

    def is_inlined(self, atom: nodes.Atom) -> bool:
        """Say whether an atom is to be replaced; one of wrong arity is reported elsewhere."""
        rules = self.rules.get(atom.relation)
        return rules is not None and all(len(rule.head.terms) == len(atom.terms) for rule in rules)

    def literal(self, literal: nodes.Literal, fresh: FreshNames) -> list[Body] | None:
        """Return the alternatives for one literal; None if there are too many of them."""
        if isinstance(literal, nodes.Atom) and self.is_inlined(literal):
            rules = self.rules[literal.relation]
            return [inline_positive(literal, rule, fresh, self.declarations.types) for rule in rules]
        if isinstance(literal, nodes.NegatedAtom) and self.is_inlined(literal.atom):
            return self.negated(literal, fresh, ALTERNATIVES_LIMIT)
        return [(literal,)]

    def negated(self, literal: nodes.NegatedAtom, fresh: FreshNames, limit: int) -> list[Body] | None:
        """Return the alternatives for a negated atom, or the atom of a relation that stays.

        None if there are too many of them.
        """
        name = literal.atom.relation
        rules = self.rules[name]
        if all(is_total(rule) for rule in rules) or not self.is_safe(name):
            try:
                alternatives = inline_negated(literal.atom, rules, fresh, self.declarations.types, limit)
            except TooManyAlternativesError:
                return None
            if alternatives is not None:
                return alternatives
        self.kept.add(name)
        return [(literal,)]

    def term(self, term: nodes.Term, fresh: FreshNames) -> nodes.Term:
        """Return the term with the relations in its aggregates inlined."""
        if not isinstance(term, nodes.Aggregate):
            return map_parts(term, lambda part: self.term(part, fresh))
        body: list[nodes.Literal] = []
        for literal in term.body:
            changed = map_literal(literal, lambda part: self.term(part, fresh))
            body.extend(self.aggregated(changed, fresh))
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
                alternatives = self.negated(literal, fresh, limit=1)
                if alternatives is not None and len(alternatives) == 1:
                    return alternatives[0]
                self.kept.add(literal.atom.relation)
                return (literal,)
            case _:
                return (literal,)

    def is_safe(self, name: str) -> bool:
        """Say whether the rules of a relation bind all their variables by themselves."""
        return not any(True for rule in self.rules[name] for _ in unbound_variables(rule))
