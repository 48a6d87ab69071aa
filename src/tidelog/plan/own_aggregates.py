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
from tidelog.program.nodes import Aggregate, Atom, Constraint, Literal, Rule, Stratum
from tidelog.program.substitute import substitute_literal
from tidelog.program.walk_nodes import deep_variables


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
    renamed = {
        variable.name: replace(variable, name=f"{variable.name}%again")
        for variable in deep_variables(aggregate.body)
        if variable.name not in outer
    }
    return tuple(substitute_literal(literal, renamed) for literal in aggregate.body)
