"""Rules with one head and a plain conjunction as body."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import assert_never

from tidelog.errors import Diagnostic
from tidelog.source import Span
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import map_atom, map_body, map_term

FlatLiteral = tree.Atom | tree.Negation | tree.Constraint
Alternative = tuple[FlatLiteral, ...]

INVERSE = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
    "match": "!match",
    "contains": "!contains",
    "!match": "match",
    "!contains": "contains",
}

ALTERNATIVES_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class FlatRule:
    """A rule without disjunction, still as written.

    `Negation` holds an atom. Aggregates inside keep their disjunctions, themselves in the form of
    alternatives of plain conjunctions. For a subsumption `greater` is set and `head` is `less`.
    """

    head: tree.Atom
    body: Alternative
    greater: tree.Atom | None = None
    plan: tree.PlanOrder | None = None
    span: Span = field(compare=False, repr=False, kw_only=True)


def flatten_rules(items: Iterable[tree.Item]) -> tuple[list[FlatRule], list[Diagnostic]]:
    """Return one flat rule for each head and each alternative of every rule.

    p(x), q(x) :- a(x), (b(x) ; !(c(x), x < 3)).

    p(x) :- a(x), b(x).
    p(x) :- a(x), !c(x).
    p(x) :- a(x), x >= 3.      and the same three for q
    """
    rules: list[FlatRule] = []
    diagnostics: list[Diagnostic] = []
    for item in items:
        if not isinstance(item, tree.Rule | tree.Subsumption):
            continue
        try:
            rules.extend(_flatten(item))
        except _TooManyError:
            diagnostics.append(
                Diagnostic(
                    code="rule-too-large",
                    message=f"the disjunctions of this rule make more than {ALTERNATIVES_LIMIT} rules",
                    span=item.span,
                    hint="give the disjunctions relations of their own",
                )
            )
    return rules, diagnostics


class _TooManyError(Exception):
    """The alternatives of one rule multiply beyond the limit."""


def _flatten(item: tree.Rule | tree.Subsumption) -> list[FlatRule]:
    if isinstance(item, tree.Subsumption):
        less, greater = _flat_atom(item.less), _flat_atom(item.greater)
        return [FlatRule(less, body, greater, item.plan, span=item.span) for body in alternatives(item.body)]
    bodies = [()] if item.body is None else alternatives(item.body)
    return [
        FlatRule(_flat_atom(head), body, None, item.plan, span=item.span)
        for head in item.heads
        for body in bodies
    ]


def alternatives(body: tree.Body) -> list[Alternative]:
    """Return the plain conjunctions whose disjunction is the body, those in its aggregates included."""
    return _alternatives(map_body(body, _flat_atom, _flat_term))


def _alternatives(body: tree.Body) -> list[Alternative]:
    """Return the plain conjunctions whose disjunction is a body with flat terms.

    `true` disappears from a conjunction and `false` takes its conjunction away.
    """
    found = [alternative for each in body.alternatives for alternative in _conjunction(each)]
    if len(found) > ALTERNATIVES_LIMIT:
        raise _TooManyError
    return found


def _conjunction(conjunction: tree.Conjunction) -> list[Alternative]:
    return _product([_element(element, positive=True) for element in conjunction.elements])


def _product(parts: Sequence[list[Alternative]]) -> list[Alternative]:
    total = 1
    for part in parts:
        total *= len(part)
        if total > ALTERNATIVES_LIMIT:
            raise _TooManyError
    return [tuple(literal for choice in choices for literal in choice) for choices in product(*parts)]


def _element(element: tree.Element, *, positive: bool) -> list[Alternative]:
    """Return the alternatives of an element, or of its negation (De Morgan)."""
    match element:
        case tree.Atom():
            return [(element if positive else tree.Negation(element, span=element.span),)]
        case tree.Constraint():
            return [(element if positive else replace(element, op=INVERSE[element.op]),)]
        case tree.Truth():
            return [()] if element.value is positive else []
        case tree.Negation():
            return _element(element.element, positive=not positive)
        case tree.Disjunction() if positive:
            return _alternatives(element)
        case tree.Disjunction():
            # Not (a ; b) is (not a) and (not b); not (a, b) is (not a) or (not b).
            return _product([_negated_conjunction(each) for each in element.alternatives])
        case _:
            assert_never(element)


def _negated_conjunction(conjunction: tree.Conjunction) -> list[Alternative]:
    return [
        alternative for element in conjunction.elements for alternative in _element(element, positive=False)
    ]


def _flat_atom(atom: tree.Atom) -> tree.Atom:
    return map_atom(atom, _flat_term)


def _flat_term(term: tree.Term) -> tree.Term:
    """Return the term with the bodies of its aggregates flattened."""
    flat = map_term(term, _flat_term)
    if isinstance(flat, tree.Aggregate):
        span = flat.body.span
        bodies = (tree.Conjunction(each, span=span) for each in _alternatives(flat.body))
        return replace(flat, body=tree.Disjunction(tuple(bodies), span=span))
    return flat
