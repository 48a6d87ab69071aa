"""Values of lattice columns that meet in a rule."""

from collections.abc import Mapping
from dataclasses import replace

from tidelog.program import nodes
from tidelog.program.declare_relations import Declarations
from tidelog.program.resolve_rules import TypedRule
from tidelog.program.substitute import FreshNames, names_in
from tidelog.values import Kind


def meet_lattices(
    rule: TypedRule, declarations: Declarations, lattices: Mapping[str, nodes.Lattice]
) -> TypedRule:
    """Return the rule in which a variable read from several lattice columns is their greatest lower bound.

    With a lattice that has `Glb -> @glb(_, _)` and `Bottom -> b`:

        r(v) :- p(v), q(v).

        r(v) :- p(_v'1), q(_v'2), v = @glb(_v'1, _v'2), v != b.

    Without `Glb` and `Bottom` such a variable asks for equal values, as everywhere.
    """
    places = _lattice_places(rule, declarations.relations, lattices)
    repeated = {name: lattice for name, (times, lattice) in places.items() if times > 1}
    if not repeated or rule.greater is not None:
        return rule
    fresh = FreshNames(names_in((rule.head, *rule.body)))
    parts: dict[str, list[nodes.Variable]] = {name: [] for name in repeated}
    body: list[nodes.Literal] = []
    for literal in rule.body:
        if not isinstance(literal, nodes.Atom):
            body.append(literal)
            continue
        terms: list[nodes.Term] = []
        for term in literal.terms:
            if isinstance(term, nodes.Variable) and term.name in repeated:
                renamed = replace(term, name=fresh.like(term.name))
                parts[term.name].append(renamed)
                terms.append(renamed)
            else:
                terms.append(term)
        body.append(replace(literal, terms=tuple(terms)))
    for name, lattice in repeated.items():
        body.extend(_meet(name, parts[name], lattice, declarations.types.kind(lattice.type)))
    return replace(rule, body=tuple(body))


def _lattice_places(
    rule: TypedRule, relations: Mapping[str, nodes.Relation], lattices: Mapping[str, nodes.Lattice]
) -> dict[str, tuple[int, nodes.Lattice]]:
    """Return how often each variable of a lattice column stands in positive atoms, and its lattice."""
    times: dict[str, int] = {}
    found: dict[str, nodes.Lattice] = {}
    for literal in rule.body:
        relation = relations.get(literal.relation) if isinstance(literal, nodes.Atom) else None
        if relation is None or not isinstance(literal, nodes.Atom) or relation.arity != len(literal.terms):
            continue
        for term, column in zip(literal.terms, relation.columns, strict=True):
            if not isinstance(term, nodes.Variable):
                continue
            times[term.name] = times.get(term.name, 0) + 1
            lattice = lattices.get(column.type)
            if column.is_lattice and lattice is not None and lattice.glb and lattice.bottom is not None:
                found[term.name] = lattice
    return {name: (times[name], lattice) for name, lattice in found.items()}


def _meet(name: str, parts: list[nodes.Variable], lattice: nodes.Lattice, kind: Kind) -> list[nodes.Literal]:
    """Return `name = glb(glb(a, b), c), name != bottom`."""
    assert lattice.glb is not None
    assert lattice.bottom is not None
    span = parts[0].span
    met: nodes.Term = parts[0]
    for part in parts[1:]:
        if lattice.glb in nodes.INTRINSIC_JOINS:
            functor = nodes.INTRINSIC_JOINS[lattice.glb]
            met = nodes.Application(functor, kind, (met, part), lattice.type, span=part.span)
        else:
            met = nodes.UserApplication(lattice.glb, (met, part), lattice.type, span=part.span)
    variable = nodes.Variable(name, parts[0].type, span=span)
    return [
        nodes.Constraint("=", kind, variable, met, span=span),
        nodes.Constraint("!=", kind, variable, lattice.bottom, span=span),
    ]
