"""Delta rules for aggregates that read relations of their own stratum.

An aggregate's value may have moved for the groups that a new fact belongs to. So for each atom of the
stratum inside the aggregate the rule is applied again where a copy of the aggregate's body, with that
atom reading the delta, holds:

    controls(x, y) :- owner(x, y), s = sum n : { share(x, y, n) }, s > 50.

    controls(x, y) :- delta share(x, y, n'), owner(x, y), s = sum n : { full share(x, y, n) }, s > 50.
"""

from collections.abc import Iterator
from dataclasses import replace

from tidelog.plan.flatten import FlatRule, variables_of
from tidelog.program.nodes import Aggregate, Atom, Literal, Stratum
from tidelog.program.substitute import substitute_literal
from tidelog.program.walk_nodes import deep_variables


def own_deltas(flat: FlatRule, stratum: Stratum) -> Iterator[tuple[FlatRule, int]]:
    """Yield a rule for each atom of the stratum inside an aggregate, and the atom that reads the delta."""
    for aggregate in flat.aggregates:
        copied = copy_body(aggregate)
        atoms = [literal for literal in copied if isinstance(literal, Atom)]
        for number, atom in enumerate(atoms, start=len(flat.atoms)):
            if atom.relation in stratum.relations:
                yield replace(flat, body=(*flat.body, *copied)), number


def copy_body(aggregate: Aggregate) -> tuple[Literal, ...]:
    """Return the body of an aggregate with other names for its own variables."""
    outer = variables_of(aggregate)
    renamed = {
        variable.name: replace(variable, name=f"{variable.name}%again")
        for variable in deep_variables(aggregate.body)
        if variable.name not in outer
    }
    return tuple(substitute_literal(literal, renamed) for literal in aggregate.body)
