"""Every relation a rule names is declared."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program.draft import Draft
from tidelog.program.flat_terms import literals_of
from tidelog.program.suggest import undeclared_relation
from tidelog.syntax.walk_tree import deep_atoms


def check_relations(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each atom of a relation nobody declares."""
    known = draft.declarations.relations
    for rule in draft.flat:
        for atom in deep_atoms(literals_of(rule)):
            if atom.relation not in known:
                yield undeclared_relation(atom.relation, known, atom.span)
