"""Walks over flat rules as written."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from tidelog.program.flatten_rules import Alternative, FlatLiteral, FlatRule
from tidelog.syntax import tree


def parts(term: tree.Term) -> tuple[tree.Term, ...]:
    """Return the terms directly inside a term; an aggregate's inside is not part of it."""
    match term:
        case tree.RecordTerm() | tree.BranchTerm() | tree.Application() | tree.UserApplication():
            return term.terms
        case tree.Cast():
            return (term.term,)
        case _:
            return ()


def terms_of(literal: FlatLiteral) -> tuple[tree.Term, ...]:
    """Return the terms directly in an atom, negated atom or constraint."""
    match literal:
        case tree.Atom():
            return literal.terms
        case tree.Negation():
            assert isinstance(literal.element, tree.Atom)
            return literal.element.terms
        case tree.Constraint():
            return (literal.left, literal.right)


def subterms(term: tree.Term) -> Iterator[tree.Term]:
    """Yield the term and all terms inside it, except what is inside an aggregate."""
    yield term
    for part in parts(term):
        yield from subterms(part)


def inside(aggregate: tree.Aggregate) -> Iterator[tree.Term]:
    """Yield the terms directly inside an aggregate: target, init and those of its body."""
    if aggregate.target is not None:
        yield aggregate.target
    if aggregate.init is not None:
        yield aggregate.init
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


def deep_variables(term: tree.Term) -> Iterator[tree.Variable]:
    """Yield every variable in a term, those inside aggregates included."""
    for part in subterms(term):
        if isinstance(part, tree.Variable):
            yield part
        elif isinstance(part, tree.Aggregate):
            for direct in inside(part):
                yield from deep_variables(direct)


def map_literal(literal: FlatLiteral, change: Callable[[tree.Term], tree.Term]) -> FlatLiteral:
    """Return the literal with every direct term replaced by `change(term)`."""
    match literal:
        case tree.Atom():
            return replace(literal, terms=tuple(change(term) for term in literal.terms))
        case tree.Negation():
            assert isinstance(literal.element, tree.Atom)
            changed = replace(literal.element, terms=tuple(change(term) for term in literal.element.terms))
            return replace(literal, element=changed)
        case tree.Constraint():
            return replace(literal, left=change(literal.left), right=change(literal.right))


def map_parts(term: tree.Term, change: Callable[[tree.Term], tree.Term]) -> tree.Term:
    """Return the term with the terms directly inside it replaced; aggregates stay as they are."""
    match term:
        case tree.RecordTerm() | tree.BranchTerm() | tree.Application() | tree.UserApplication():
            return replace(term, terms=tuple(change(part) for part in term.terms))
        case tree.Cast():
            return replace(term, term=change(term.term))
        case _:
            return term


def deep_atoms(rule: FlatRule) -> Iterator[tree.Atom]:
    """Yield every atom of a rule, those inside aggregates included."""
    atoms = (rule.head,) if rule.greater is None else (rule.head, rule.greater)
    waiting: list[FlatLiteral] = [*atoms, *rule.body]
    for literal in waiting:
        if isinstance(literal, tree.Atom):
            yield literal
        elif isinstance(literal, tree.Negation):
            assert isinstance(literal.element, tree.Atom)
            yield literal.element
        for term in terms_of(literal):
            for part in subterms(term):
                if isinstance(part, tree.Aggregate):
                    # The loop goes on over what is added here.
                    waiting.extend(each for body in bodies(part) for each in body)
                    waiting.extend(_targets(part))


def _targets(aggregate: tree.Aggregate) -> Iterator[tree.Constraint]:
    """Yield the target and init of an aggregate in the form of literals, for aggregates in them."""
    for term in (aggregate.target, aggregate.init):
        if term is not None:
            yield tree.Constraint("=", term, term, span=term.span)
