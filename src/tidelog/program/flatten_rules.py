"""Rules with one head and a plain conjunction as body."""

from collections.abc import Iterable
from dataclasses import field
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.program.flatten_bodies import (
    ALTERNATIVES_LIMIT,
    LITERALS_LIMIT,
    Alternative,
    LiteralCounts,
    RuleTooLargeError,
    alternatives,
    flat_atom,
    settled_atom,
)
from tidelog.source import Span
from tidelog.syntax import tree

# Terms of most facts, of which there may be very many.
PLAIN: Final = tree.NumberLiteral | tree.StringLiteral | tree.FloatLiteral | tree.UnsignedLiteral


@dataclass(frozen=True, slots=True)
class ConjunctiveRule:
    """A rule without disjunction, still as written.

    `Negation` holds an atom. A negated conjunction with variables of its own is `0 = none : { body }`.
    Aggregates inside keep their disjunctions, themselves in the form of alternatives of plain conjunctions.
    For a subsumption `greater` is set and `head` is `less`.
    """

    head: tree.Atom
    body: Alternative
    greater: tree.Atom | None = None
    plan: tree.PlanOrder | None = None
    span: Span = field(compare=False, repr=False, kw_only=True)


def flatten_rules(items: Iterable[tree.Item]) -> tuple[list[ConjunctiveRule], list[Diagnostic]]:
    """Return one flat rule for each head and each alternative of every rule.

    p(x), q(x) :- a(x), (b(x) ; !(c(x), x < 3)).

    p(x) :- a(x), b(x).
    p(x) :- a(x), !c(x).
    p(x) :- a(x), x >= 3.      and the same three for q

    A negated conjunction with variables of its own stays whole: see `flatten_bodies`.
    """
    rules: list[ConjunctiveRule] = []
    diagnostics: list[Diagnostic] = []
    for item in items:
        if not isinstance(item, tree.Rule | tree.Subsumption):
            continue
        try:
            rules.extend(_flatten(item))
        except RuleTooLargeError:
            diagnostics.append(
                Diagnostic(
                    code="rule-too-large",
                    message=f"the disjunctions of this rule make more than {ALTERNATIVES_LIMIT} rules, "
                    f"or more than {LITERALS_LIMIT} literals",
                    span=item.span,
                    hint="move the disjunctions into separate relations",
                )
            )
    return rules, diagnostics


def _flatten(item: tree.Rule | tree.Subsumption) -> list[ConjunctiveRule]:
    if isinstance(item, tree.Subsumption):
        less, greater = flat_atom(item.less), flat_atom(item.greater)
        bodies = alternatives(item.body, (*less.terms, *greater.terms))
        _check_size((less, greater), bodies)
        return [
            ConjunctiveRule(
                settled_atom(less, (greater, *body)),
                body,
                settled_atom(greater, (less, *body)),
                item.plan,
                span=item.span,
            )
            for body in bodies
        ]
    heads = tuple(flat_atom(head) for head in item.heads)
    outside = tuple(term for head in heads for term in head.terms)
    bodies = [()] if item.body is None else alternatives(item.body, outside)
    if item.body is not None or not all(isinstance(term, PLAIN) for head in heads for term in head.terms):
        _check_size(heads, bodies)
    return [
        ConjunctiveRule(settled_atom(head, body), body, None, item.plan, span=item.span)
        for head in heads
        for body in bodies
    ]


def _check_size(heads: tuple[tree.Atom, ...], bodies: list[Alternative]) -> None:
    """Give up if the rules have too many literals, those of their aggregates counted for each rule."""
    sizes = LiteralCounts()
    of_heads = sum(map(sizes.of, heads))
    of_bodies = sum(sizes.of(literal) for body in bodies for literal in body)
    if of_heads * len(bodies) + of_bodies * len(heads) > LITERALS_LIMIT:
        raise RuleTooLargeError
