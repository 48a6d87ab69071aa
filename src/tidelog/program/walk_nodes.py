"""Walks over the terms and literals of a checked program."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from tidelog.program import nodes


def parts(term: nodes.Term) -> tuple[nodes.Term, ...]:
    """Return the terms directly inside a term; an aggregate's inside is not part of it."""
    match term:
        case nodes.RecordTerm() | nodes.BranchTerm() | nodes.Application() | nodes.UserApplication():
            return term.terms
        case _:
            return ()


def subterms(term: nodes.Term) -> Iterator[nodes.Term]:
    """Yield the term and all terms inside it, except what is inside an aggregate."""
    yield term
    for part in parts(term):
        yield from subterms(part)


def terms_of(literal: nodes.Literal) -> tuple[nodes.Term, ...]:
    """Return the terms directly in a literal."""
    match literal:
        case nodes.Atom():
            return literal.terms
        case nodes.NegatedAtom():
            return literal.atom.terms
        case nodes.Constraint():
            return (literal.left, literal.right)
        case nodes.Generator():
            step = () if literal.step is None else (literal.step,)
            return (literal.target, literal.start, literal.stop, *step)


def inside(aggregate: nodes.Aggregate) -> Iterator[nodes.Term]:
    """Yield the terms directly inside an aggregate: target, init and those of its body."""
    for term in (aggregate.target, aggregate.init):
        if term is not None:
            yield term
    for literal in aggregate.body:
        yield from terms_of(literal)


def aggregates_of(literal: nodes.Literal) -> Iterator[nodes.Aggregate]:
    """Yield the aggregates in a literal, without those inside other aggregates."""
    for term in terms_of(literal):
        for part in subterms(term):
            if isinstance(part, nodes.Aggregate):
                yield part


def needed_variables(term: nodes.Term) -> Iterator[nodes.Variable]:
    """Yield the variables that must be bound to compute a term: outer ones of an aggregate too."""
    for part in subterms(term):
        if isinstance(part, nodes.Variable):
            yield part
        elif isinstance(part, nodes.Aggregate):
            outer = frozenset(part.outer)
            for direct in inside(part):
                yield from (variable for variable in deep_variables(direct) if variable.name in outer)


def deep_variables(term: nodes.Term) -> Iterator[nodes.Variable]:
    """Yield every variable in a term, those inside aggregates included."""
    for part in subterms(term):
        if isinstance(part, nodes.Variable):
            yield part
        elif isinstance(part, nodes.Aggregate):
            for direct in inside(part):
                yield from deep_variables(direct)


def deep_atoms(body: tuple[nodes.Literal, ...]) -> Iterator[tuple[nodes.Atom, bool]]:
    """Yield every atom of a body, and whether it is read positively outside aggregates."""
    for literal in body:
        if isinstance(literal, nodes.Atom):
            yield literal, True
        elif isinstance(literal, nodes.NegatedAtom):
            yield literal.atom, False
        for aggregate in aggregates_of(literal):
            for atom, _ in deep_atoms(aggregate.body):
                yield atom, False


def map_literal(literal: nodes.Literal, change: Callable[[nodes.Term], nodes.Term]) -> nodes.Literal:
    """Return the literal with every direct term replaced by `change(term)`."""
    match literal:
        case nodes.Atom():
            return replace(literal, terms=tuple(change(term) for term in literal.terms))
        case nodes.NegatedAtom():
            terms = tuple(change(term) for term in literal.atom.terms)
            return replace(literal, atom=replace(literal.atom, terms=terms))
        case nodes.Constraint():
            return replace(literal, left=change(literal.left), right=change(literal.right))
        case nodes.Generator():
            return replace(
                literal,
                target=change(literal.target),
                start=change(literal.start),
                stop=change(literal.stop),
                step=None if literal.step is None else change(literal.step),
            )


def map_parts(term: nodes.Term, change: Callable[[nodes.Term], nodes.Term]) -> nodes.Term:
    """Return the term with the terms directly inside it replaced; aggregates stay as they are."""
    match term:
        case nodes.RecordTerm() | nodes.BranchTerm() | nodes.Application() | nodes.UserApplication():
            return replace(term, terms=tuple(change(part) for part in term.terms))
        case _:
            return term


def deep_literals(body: tuple[nodes.Literal, ...]) -> Iterator[nodes.Literal]:
    """Yield every literal of a body, those inside aggregates included."""
    for literal in body:
        yield literal
        for aggregate in aggregates_of(literal):
            yield from deep_literals(aggregate.body)
