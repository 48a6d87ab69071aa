"""Negation and aggregation read only what is complete."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program.check_monotone import is_monotone_aggregate
from tidelog.program.draft import Draft
from tidelog.program.stratify import unstratifiable
from tidelog.program.walk_nodes import aggregates_in, deep_atoms


def check_strata(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each negated or aggregated atom that depends on its own head."""
    yield from unstratifiable(draft.relations, draft.rules, _monotone_atoms(draft))


def _monotone_atoms(draft: Draft) -> frozenset[int]:
    """Return the ids of the atoms in aggregates that may read their own stratum."""
    found: set[int] = set()
    for stratum in draft.strata:
        inside = frozenset(stratum.relations)
        for rule in stratum.rules if stratum.is_recursive else ():
            for aggregate in aggregates_in((rule,)):
                if is_monotone_aggregate(aggregate, inside, draft.relations, draft.lattices):
                    found.update(id(atom) for atom, _ in deep_atoms(aggregate.body))
    return frozenset(found)
