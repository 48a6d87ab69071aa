"""Bodies as plain conjunctions: no disjunction is left, and no negation but of an atom."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Final, assert_never, cast

from tidelog.source import Span
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import (
    Node,
    children,
    deep_variables,
    map_atom,
    map_body,
    map_element,
    map_term,
    subterms,
    walk,
)

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

# The aggregate that a negated conjunction with variables of its own becomes: 0 where its body has no
# derivation. Nobody can write it.
NONE: Final = "none"

# What disjunctions or inlined relations may make of one rule: rules, and literals in all of them.
ALTERNATIVES_LIMIT: Final = 4096
LITERALS_LIMIT: Final = 100_000


class RuleTooLargeError(Exception):
    """The alternatives of one rule multiply beyond the limit."""


def alternatives(body: tree.Body, outside: Iterable[tree.Term] = ()) -> list[Alternative]:
    """Return the plain conjunctions whose disjunction is the body, those in its aggregates included.

    A variable of a negated conjunction that is in none of the terms `outside`, nor elsewhere in its
    conjunction, belongs to the negation.
    """
    names = direct_names(outside)
    flat = _alternatives(map_body(body, flat_atom, _flat_term))
    if not any(_is_negated_conjunction(node) for node in walk((body,))):
        return flat
    sizes = LiteralCounts()
    if sum(sizes.of(literal) for conjunction in flat for literal in conjunction) > LITERALS_LIMIT:
        raise RuleTooLargeError
    return _within_limit(each for conjunction in flat for each in _settled(conjunction, names))


def settled_atom(atom: tree.Atom, beside: Iterable[FlatLiteral]) -> tree.Atom:
    """Return an atom whose aggregates are flat, with their negated conjunctions settled.

    `beside` are the other literals of its rule.
    """
    if not any(_is_negated_conjunction(node) for node in walk(atom.terms)):
        return atom
    terms = (*atom.terms, *(term for literal in beside for term in _terms(literal)))
    return _settle_terms(direct_names(terms))[0](atom)


def _alternatives(body: tree.Body) -> list[Alternative]:
    """Return the plain conjunctions whose disjunction is a body with flat terms.

    `true` disappears from a conjunction and `false` takes its conjunction away.
    """
    return _within_limit(alternative for each in body.alternatives for alternative in _conjunction(each))


def _within_limit(found: Iterable[Alternative]) -> list[Alternative]:
    kept = list(islice(found, ALTERNATIVES_LIMIT + 1))
    if len(kept) > ALTERNATIVES_LIMIT:
        raise RuleTooLargeError
    return kept


def _conjunction(conjunction: tree.Conjunction) -> list[Alternative]:
    return _product([_element(element, positive=True) for element in conjunction.elements])


def _product(parts: Sequence[list[Alternative]]) -> list[Alternative]:
    total = 1
    for part in parts:
        total *= len(part)
        if total > ALTERNATIVES_LIMIT:
            raise RuleTooLargeError
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
            # Not (a ; b) is (not a) and (not b); what becomes of not (a, b) depends on what is around it.
            return [tuple(_negated(each) for each in element.alternatives)]
        case _:
            assert_never(element)


def _negated(conjunction: tree.Conjunction) -> tree.Negation:
    """Return the negation of a conjunction, to be settled when all of its alternative is known."""
    span = conjunction.span
    return tree.Negation(tree.Disjunction((conjunction,), span=span), span=span)


class LiteralCounts:
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


# --- negated conjunctions ------------------------------------------------------------------


def _settled(alternative: Alternative, outside: frozenset[str]) -> list[Alternative]:
    """Return what an alternative becomes once its negated conjunctions are settled, outermost first.

    With variables of its own, one asks that its body has no derivation; otherwise one of its literals fails.
    """
    conjunctions = [_conjunction_in(literal) for literal in alternative]
    plain = [each for each, negated in zip(alternative, conjunctions, strict=True) if negated is None]
    names = outside | direct_names(term for each in plain for term in _terms(each))
    if len(plain) == len(alternative):
        settled = (map_element(each, *_settle_terms(names)) for each in alternative)
        return [tuple(part for each in settled for part in _one_body_each(each))]
    twice = [frozenset() if each is None else _negated_inside(each) for each in conjunctions]
    times = Counter(name for each in twice for name in each)
    choices: list[list[Alternative]] = []
    for literal, conjunction, mine in zip(alternative, conjunctions, twice, strict=True):
        if conjunction is None:
            choices.append([(literal,)])
            continue
        own = _bindable(conjunction) - names
        if all(times[name] > (name in mine) for name in own):
            # Not (a, b) is (not a) or (not b).
            parts = conjunction.elements
            choices.append([each for part in parts for each in _element(part, positive=False)])
        else:
            choices.append([tuple(_none(each, literal.span) for each in _conjunction(conjunction))])
    return _within_limit(each for chosen in _product(choices) for each in _settled(chosen, outside))


def _none(body: Alternative, span: Span) -> tree.Constraint:
    """Return a literal that holds where a body has no derivation; negations in it are not settled yet."""
    inside = tree.Disjunction((tree.Conjunction(body, span=span),), span=span)
    return tree.Constraint(
        "=", tree.NumberLiteral(0, span=span), tree.Aggregate(NONE, None, inside, span=span), span=span
    )


def _one_body_each(literal: tree.Element) -> Iterator[FlatLiteral]:
    """Yield a literal; not (a ; b) is (not a) and (not b) also where negation inside it made the choice."""
    assert isinstance(literal, FlatLiteral)
    match literal:
        case tree.Constraint(right=tree.Aggregate(functor=functor, body=body) as none) if functor == NONE:
            for each in body.alternatives:
                one = replace(none, body=replace(body, alternatives=(each,)))
                yield replace(literal, right=one)
        case _:
            yield literal


def _settle_terms(
    names: frozenset[str],
) -> tuple[Callable[[tree.Atom], tree.Atom], Callable[[tree.Term], tree.Term]]:
    """Return what settles the aggregates in an atom and in a term, with these names outside them."""

    def settle(term: tree.Term) -> tree.Term:
        if not isinstance(term, tree.Aggregate):
            return map_term(term, settle)
        aimed = direct_names(each for each in (term.target, term.init) if each is not None)
        # What terms hold is flat already.
        flat = [cast("Alternative", each.elements) for each in term.body.alternatives]
        bodies = _within_limit(each for body in flat for each in _settled(body, names | aimed))
        span = term.body.span
        conjunctions = tuple(tree.Conjunction(each, span=span) for each in bodies)
        return replace(term, body=replace(term.body, alternatives=conjunctions))

    return lambda atom: map_atom(atom, settle), settle


def _conjunction_in(literal: FlatLiteral) -> tree.Conjunction | None:
    """Return the conjunction that a literal negates, None if it is another literal."""
    if isinstance(literal, tree.Negation) and isinstance(literal.element, tree.Disjunction):
        (conjunction,) = literal.element.alternatives
        return conjunction
    return None


def _is_negated_conjunction(node: Node) -> bool:
    return isinstance(node, tree.Negation) and not isinstance(node.element, tree.Atom | tree.Constraint)


def _bindable(conjunction: tree.Conjunction) -> frozenset[str]:
    """Return the variables in the positive atoms of a conjunction, inside disjunctions too."""
    found: frozenset[str] = frozenset()
    for element in conjunction.elements:
        if isinstance(element, tree.Atom):
            found |= direct_names(element.terms)
        elif isinstance(element, tree.Disjunction):
            found = found.union(*map(_bindable, element.alternatives))
    return found


def _negated_inside(conjunction: tree.Conjunction) -> frozenset[str]:
    """Return the variables of what a conjunction negates: its own negation may make that positive."""
    negated = (part for part in conjunction.elements if isinstance(part, tree.Negation))
    return frozenset(variable.name for variable in deep_variables(negated))


def _terms(literal: FlatLiteral) -> tuple[tree.Term, ...]:
    return children(literal.element if isinstance(literal, tree.Negation) else literal)  # type: ignore[return-value]


def direct_names(terms: Iterable[tree.Term]) -> frozenset[str]:
    """Return the variables in terms, without those inside aggregates."""
    return frozenset(
        part.name for term in terms for part in subterms(term) if isinstance(part, tree.Variable)
    )


def flat_atom(atom: tree.Atom) -> tree.Atom:
    """Return the atom with the bodies of the aggregates in it flattened."""
    return map_atom(atom, _flat_term)


def _flat_term(term: tree.Term) -> tree.Term:
    """Return the term with the bodies of its aggregates flattened."""
    flat = map_term(term, _flat_term)
    if isinstance(flat, tree.Aggregate):
        span = flat.body.span
        bodies = (tree.Conjunction(each, span=span) for each in _alternatives(flat.body))
        return replace(flat, body=tree.Disjunction(tuple(bodies), span=span))
    return flat
