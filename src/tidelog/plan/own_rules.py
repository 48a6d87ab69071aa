"""Rules with aggregates over their own stratum: their delta rules, and how maintenance follows them.

An aggregate's value may have changed for the groups that a new fact belongs to. So for each atom of the
stratum inside the aggregate the rule is applied again where a copy of the aggregate's body, with that
atom reading the delta, holds:

    controls(x, y) :- owner(x, y), s = sum n : { share(x, y, n) }, s > 50.

    controls(x, y) :- delta share(x, y, n'), owner(x, y), s = sum n : { full share(x, y, n) }, s > 50.

Maintenance follows such a rule in three forms:

    exact    as written; it finds derivations that hold
    loose    without the aggregates and what depends on them; it finds every head that may be affected
    copies   both forms again with a copy of an aggregate's body, from whose atoms they can start
"""

from collections.abc import Iterator
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.plan.flatten import FlatRule, flatten_rule
from tidelog.program import nodes
from tidelog.program.substitute import substitute_literal
from tidelog.program.walk_nodes import (
    aggregates_in,
    children,
    deep_variables,
    keeps_state,
    relations_read,
    terms_of,
    variables_of,
    walk,
)


def own_deltas(flat: FlatRule, stratum: nodes.Stratum) -> Iterator[tuple[FlatRule, int]]:
    """Yield a rule for each atom of the stratum inside an aggregate, and the atom that reads the delta."""
    for aggregate in flat.aggregates:
        copied = copy_body(aggregate)
        atoms = [literal for literal in copied if isinstance(literal, nodes.Atom)]
        for number, atom in enumerate(atoms, start=len(flat.atoms)):
            if atom.relation in stratum.relations:
                yield replace(flat, body=(*flat.body, *copied)), number


def copy_body(aggregate: nodes.Aggregate) -> tuple[nodes.Literal, ...]:
    """Return the body of an aggregate with other names for its own variables."""
    outer = variables_of(aggregate)
    renamed = {
        variable.name: replace(variable, name=f"{variable.name}%again")
        for variable in deep_variables(aggregate.body)
        if variable.name not in outer
    }
    return tuple(substitute_literal(literal, renamed) for literal in aggregate.body)


@dataclass(frozen=True)
class OwnForm:
    """An exact and a loose form of a rule, with the literals from which on derivations may start."""

    exact: FlatRule
    loose: FlatRule
    first_exact: int = 0
    first_loose: int = 0


def own_forms(stratum: nodes.Stratum, program: nodes.Program) -> tuple[OwnForm, ...] | None:
    """Return the forms of all rules of a stratum, or None if one of them cannot be followed.

    A rule cannot be followed if an aggregate reads no relation of the stratum (such aggregates have
    relations of their own where possible), if a relation has a law of its own, or if an aggregate's value is
    in a head.
    """
    keeping = (keeps_state(part, program) for part in walk(stratum.rules, into_aggregates=False))
    if program.law_of(stratum) is not None or any(keeping):
        return None
    forms: list[OwnForm] = []
    for rule in stratum.rules:
        found = tuple(_forms(flatten_rule(rule, program), stratum))
        if not found:
            return None
        forms.extend(found)
    return tuple(forms) if any(form.first_exact for form in forms) else None


def _forms(flat: FlatRule, stratum: nodes.Stratum) -> Iterator[OwnForm]:
    """Yield a rule's own form and that of each copy; nothing if it cannot be followed."""
    moving = _moving(flat.body)
    loose = _loosened(flat.body, moving)
    names = variables_of(flat.head)
    nested = any(True for each in flat.aggregates for _ in aggregates_in(children(each)))
    is_foreign = any(relations_read((each,)).isdisjoint(stratum.relations) for each in flat.aggregates)
    is_open = any(_has_open_negation(each.body) for each in flat.aggregates)
    if nested or is_foreign or is_open or names & moving or not flat.body:
        return
    yield OwnForm(flat, replace(flat, body=loose))
    for aggregate in flat.aggregates:
        copied = copy_body(aggregate)
        exact, loosened = ((*body, *copied) for body in (flat.body, loose))
        yield OwnForm(replace(flat, body=exact), replace(flat, body=loosened), len(flat.body), len(loose))


def _has_open_negation(body: tuple[nodes.Literal, ...]) -> bool:
    """Say whether a negated atom has a wildcard, so that no single fact makes it false."""
    negated = [literal.atom for literal in body if isinstance(literal, nodes.NegatedAtom)]
    return any(isinstance(term, nodes.Wildcard) for atom in negated for term in atom.terms)


def _moving(body: tuple[nodes.Literal, ...]) -> frozenset[str]:
    """Return the variables whose values come from aggregates."""
    moving: set[str] = set()
    before = -1
    while len(moving) > before:
        before = len(moving)
        for literal in body:
            if not isinstance(literal, nodes.Constraint) or literal.op != "=":
                continue
            for left, right in ((literal.left, literal.right), (literal.right, literal.left)):
                is_moved = isinstance(right, nodes.Aggregate) or variables_of(right) & moving
                if isinstance(left, nodes.Variable) and is_moved:
                    moving.add(left.name)
    return frozenset(moving)


def _loosened(body: tuple[nodes.Literal, ...], moving: frozenset[str]) -> tuple[nodes.Literal, ...]:
    """Return a body without what depends on aggregates."""
    return tuple(
        literal
        for literal in body
        if not variables_of(literal) & moving
        and not any(isinstance(term, nodes.Aggregate) for term in terms_of(literal))
    )
