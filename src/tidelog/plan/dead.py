"""Pass: leave out what no wanted relation depends on."""

from collections.abc import Collection
from dataclasses import replace

from tidelog.program.nodes import Program, Stratum
from tidelog.program.walk_nodes import counts, earlier_relations


def wanted_relations(program: Program) -> frozenset[str]:
    """Return the relations that a run shows: outputs and those whose size is printed."""
    return frozenset(d.relation for d in program.directives if d.kind in ("output", "printsize"))


def needed_relations(program: Program, wanted: Collection[str]) -> frozenset[str]:
    """Return the relations that the wanted ones depend on; all of them if nothing is wanted.

    A stratum is needed as a whole. Rules with `autoinc()` are needed: the numbers that one gives depend
    on how many another gave.
    """
    if not wanted:
        return frozenset(program.relations)
    needed = set(wanted) | {rule.head.relation for rule in program.rules if counts(rule)}
    for stratum in reversed(program.strata):
        if not needed.isdisjoint(stratum.relations):
            needed.update(stratum.relations, earlier_relations(stratum))
    return frozenset(needed)


def remove_dead(program: Program, wanted: Collection[str]) -> Program:
    """Return the program with only the relations and rules that the wanted relations depend on.

    Input relations stay, so that mistakes in their facts are still found; the rules of those that are not
    needed are dropped. A stratum stays whole if one of its relations is needed: its size limits and
    iterations apply to all of them. Wanting nothing gives the program unchanged.
    """
    if not wanted:
        return program
    needed = needed_relations(program, wanted)
    strata: list[Stratum] = []
    for stratum in program.strata:
        if needed.isdisjoint(stratum.relations):
            inputs = tuple(name for name in stratum.relations if program.is_input(name))
            if inputs:
                strata.append(Stratum(inputs, (), (), is_recursive=False))
            continue
        strata.append(stratum)
    kept = {name for stratum in strata for name in stratum.relations}
    return replace(
        program,
        relations={name: relation for name, relation in program.relations.items() if name in kept},
        strata=tuple(strata),
        directives=tuple(d for d in program.directives if d.relation in kept),
    )
