"""What stands in a flat rule, whose aggregates hold alternatives of plain conjunctions."""

from collections.abc import Callable, Iterator

from tidelog.program.flatten_bodies import Alternative, FlatLiteral
from tidelog.program.flatten_rules import ConjunctiveRule
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import children, map_atom, map_element


def terms_of(literal: FlatLiteral) -> tuple[tree.Term, ...]:
    """Return the terms directly in an atom, negated atom or constraint."""
    # Below an atom and a constraint there are only terms.
    return children(literal.element if isinstance(literal, tree.Negation) else literal)  # type: ignore[return-value]


def literals_of(rule: ConjunctiveRule) -> Iterator[FlatLiteral]:
    """Yield the head, the greater atom of a subsumption, and the literals of the body."""
    yield rule.head
    if rule.greater is not None:
        yield rule.greater
    yield from rule.body


def inside(aggregate: tree.Aggregate) -> Iterator[tree.Term]:
    """Yield the terms directly inside an aggregate: target, init and those of its body."""
    for term in (aggregate.target, aggregate.init):
        if term is not None:
            yield term
    for alternative in bodies(aggregate):
        for literal in alternative:
            yield from terms_of(literal)


def bodies(aggregate: tree.Aggregate) -> list[Alternative]:
    """Return the alternatives of a flattened aggregate body."""
    found: list[Alternative] = []
    for conjunction in aggregate.body.alternatives:
        elements: list[FlatLiteral] = []
        for element in conjunction.elements:
            assert isinstance(element, tree.Atom | tree.Negation | tree.Constraint)
            elements.append(element)
        found.append(tuple(elements))
    return found


def map_literal(literal: FlatLiteral, change: Callable[[tree.Term], tree.Term]) -> FlatLiteral:
    """Return the literal with every direct term replaced by `change(term)`."""
    changed = map_element(literal, lambda atom: map_atom(atom, change), change)
    assert isinstance(changed, FlatLiteral)
    return changed
