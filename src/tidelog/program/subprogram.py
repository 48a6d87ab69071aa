"""Some strata of a program as a program of their own."""

from collections.abc import Sequence
from dataclasses import replace

from tidelog.program.nodes import Program, Stratum
from tidelog.program.walk_nodes import earlier_relations


def subprogram(program: Program, strata: Sequence[Stratum]) -> Program:
    """Return the program of these strata, in which whatever else they read is input."""
    own = {name for stratum in strata for name in stratum.relations}
    read = {name for stratum in strata for name in earlier_relations(stratum)} - own
    inputs = tuple(Stratum((name,), (), (), is_recursive=False) for name in sorted(read))
    relations = {
        name: relation if name in own else relation.without_law()
        for name, relation in program.relations.items()
        if name in own | read
    }
    return replace(program, relations=relations, strata=(*inputs, *strata), directives=())
