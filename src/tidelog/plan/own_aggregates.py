"""Delta rules for aggregates that read relations of their own stratum.

An aggregate's value may have moved for the groups that a new fact belongs to. So for each atom of the
stratum inside the aggregate the rule is applied again where a copy of the aggregate's body, with that
atom reading the delta, holds:

    controls(x, y) :- owner(x, y), s = sum n : { share(x, y, n) }, s > 50.

    controls(x, y) :- delta share(x, y, n'), owner(x, y), s = sum n : { full share(x, y, n) }, s > 50.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tidelog.plan.flatten import variables_of
from tidelog.plan.operators import View
from tidelog.program.nodes import Aggregate, Atom, Constraint, Literal, Rule, Stratum, Term, Variable
from tidelog.program.walk_nodes import deep_variables, map_literal, map_parts, terms_of


@dataclass(frozen=True, slots=True)
class OwnDelta:
    """A body to plan: its literals, the view of each atom, and which atom reads the delta."""

    literals: tuple[Literal, ...]
    views: tuple[View, ...]
    delta: int


def own_deltas(flat: Rule, stratum: Stratum) -> Iterator[OwnDelta]:
    """Yield a delta rule for each atom of the stratum inside an aggregate of a flat rule."""
    first = sum(isinstance(literal, Atom) for literal in flat.body)
    for literal in flat.body:
        if not isinstance(literal, Constraint) or not isinstance(literal.right, Aggregate):
            continue
        copied = copy_body(literal.right)
        atoms = [x for x in copied if isinstance(x, Atom)]
        for number, atom in enumerate(atoms):
            if atom.relation in stratum.relations:
                views = [View.FULL] * (first + len(atoms))
                views[first + number] = View.DELTA
                yield OwnDelta((*flat.body, *copied), tuple(views), first + number)


def copy_body(aggregate: Aggregate) -> tuple[Literal, ...]:
    """Return the body of an aggregate with other names for its own variables."""
    outer = variables_of(aggregate)
    names = {v.name for literal in aggregate.body for term in terms_of(literal) for v in deep_variables(term)}
    renamed = {name: f"{name}%again" for name in names - outer}

    def change(term: Term) -> Term:
        if isinstance(term, Variable):
            return replace(term, name=renamed.get(term.name, term.name))
        return map_parts(term, change)

    return tuple(map_literal(literal, change) for literal in aggregate.body)
