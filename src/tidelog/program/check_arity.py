"""Every atom has as many terms as its relation has columns."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program.draft import Draft
from tidelog.program.flat_terms import literals_of
from tidelog.program.suggest import wrong_arity
from tidelog.syntax.walk_tree import deep_atoms


def check_arity(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each atom with too few or too many terms."""
    for rule in draft.flat:
        for atom in deep_atoms(literals_of(rule)):
            relation = draft.declarations.relations.get(atom.relation)
            if relation is None or relation.arity == len(atom.terms):
                continue
            yield wrong_arity(relation, len(atom.terms), atom.span)
