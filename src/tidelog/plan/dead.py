"""Pass: leave out what no wanted relation depends on."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from tidelog.program.nodes import Aggregate, Literal, Program, Stratum, Term
from tidelog.program.walk_nodes import deep_atoms, inside, subterms, terms_of


def wanted_relations(program: Program) -> frozenset[str]:
    """Return the relations that a run shows: outputs and those whose size is printed."""
    return frozenset(d.relation for d in program.directives if d.kind in ("output", "printsize"))


def remove_dead(program: Program, wanted: Collection[str]) -> Program:
    """Return the program with only the relations and rules that the wanted relations depend on.

    Input relations stay, so that mistakes in their facts are still found; the rules of those that
    nobody needs go. A stratum stays whole if one of its relations is needed: its size limits and
    iterations are for all of them. Wanting nothing gives the program unchanged.
    """
    if not wanted:
        return program
    needed = set(wanted)
    strata: list[Stratum] = []
    for stratum in reversed(program.strata):
        if needed.isdisjoint(stratum.relations):
            inputs = tuple(name for name in stratum.relations if program.is_input(name))
            if inputs:
                strata.append(Stratum(inputs, (), (), is_recursive=False))
            continue
        strata.append(stratum)
        needed.update(stratum.relations)
        for rule in stratum.rules:
            needed.update(read_relations(rule.body, rule.head.terms))
        for subsumption in stratum.subsumptions:
            needed.update(read_relations(subsumption.body, ()))
    kept = {name for stratum in strata for name in stratum.relations}
    return replace(
        program,
        relations={name: relation for name, relation in program.relations.items() if name in kept},
        strata=tuple(reversed(strata)),
        directives=tuple(d for d in program.directives if d.relation in kept),
    )


def read_relations(body: tuple[Literal, ...], head: Iterable[Term]) -> Iterator[str]:
    """Yield every relation that a rule reads, those in aggregates of its head included."""
    for atom, _ in deep_atoms(body):
        yield atom.relation
    terms = [*head, *(term for literal in body for term in terms_of(literal))]
    for term in terms:
        for part in subterms(term):
            if isinstance(part, Aggregate):
                # An aggregate may stand in the target of another, where a walk over bodies does not come.
                yield from read_relations(part.body, inside(part))
