"""Rules with one head and a plain conjunction as body."""

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from itertools import product
from typing import Final, assert_never

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.source import Span
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import Node, children, map_atom, map_body, map_term

# Terms of most facts, of which there may be very many.
PLAIN: Final = tree.NumberLiteral | tree.StringLiteral | tree.FloatLiteral | tree.UnsignedLiteral

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

# What disjunctions or inlined relations may make of one rule: rules, and literals in all of them.
ALTERNATIVES_LIMIT: Final = 4096
LITERALS_LIMIT: Final = 100_000


@dataclass(frozen=True, slots=True)
class ConjunctiveRule:
    """A rule without disjunction, still as written.

    `Negation` holds an atom. Aggregates inside keep their disjunctions, themselves in the form of
    alternatives of plain conjunctions. For a subsumption `greater` is set and `head` is `less`.
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
    """
    rules: list[ConjunctiveRule] = []
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
                    message=f"the disjunctions of this rule make more than {ALTERNATIVES_LIMIT} rules, "
                    f"or more than {LITERALS_LIMIT} literals",
                    span=item.span,
                    hint="give the disjunctions relations of their own",
                )
            )
    return rules, diagnostics


class _TooManyError(Exception):
    """The alternatives of one rule multiply beyond the limit."""


def _flatten(item: tree.Rule | tree.Subsumption) -> list[ConjunctiveRule]:
    if isinstance(item, tree.Subsumption):
        less, greater = _flat_atom(item.less), _flat_atom(item.greater)
        bodies = alternatives(item.body)
        _check_size((less, greater), bodies)
        return [ConjunctiveRule(less, body, greater, item.plan, span=item.span) for body in bodies]
    bodies = [()] if item.body is None else alternatives(item.body)
    heads = tuple(_flat_atom(head) for head in item.heads)
    if item.body is not None or not all(isinstance(term, PLAIN) for head in heads for term in head.terms):
        _check_size(heads, bodies)
    return [ConjunctiveRule(head, body, None, item.plan, span=item.span) for head in heads for body in bodies]


def _check_size(heads: tuple[tree.Atom, ...], bodies: list[Alternative]) -> None:
    """Give up if the rules have too many literals, those of their aggregates counted for each rule."""
    sizes = _Sizes()
    of_heads = sum(map(sizes.of, heads))
    of_bodies = sum(sizes.of(literal) for body in bodies for literal in body)
    if of_heads * len(bodies) + of_bodies * len(heads) > LITERALS_LIMIT:
        raise _TooManyError


class _Sizes:
    """Counts literals; alternatives share nodes, and each is looked at once."""

    def __init__(self) -> None:
        self.known: dict[int, int] = {}

    def of(self, node: Node) -> int:
        """Return how many literals there are in a node, itself included."""
        size = self.known.get(id(node))
        if size is None:
            size = sum(map(self.of, children(node))) + isinstance(node, tree.Atom | tree.Constraint)
            self.known[id(node)] = size
        return size


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
