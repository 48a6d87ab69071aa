"""Columns and qualifiers of a relation fit together."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program.draft import Draft
from tidelog.program.nodes import Relation


def check_columns(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each relation whose columns or qualifiers contradict each other."""
    for relation in draft.declarations.relations.values():
        yield from _repeated_names(relation)
        if relation.is_equivalence:
            yield from _equivalence(relation)


def _repeated_names(relation: Relation) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for column in relation.columns:
        if column.name in seen:
            yield Diagnostic(
                code="redefined-column",
                message=f"`{relation.name}` has two columns called `{column.name}`",
                span=relation.span,
                hint="rename one of them",
            )
        seen.add(column.name)


def _equivalence(relation: Relation) -> Iterator[Diagnostic]:
    if relation.arity != 2 or relation.columns[0].type != relation.columns[1].type:
        yield Diagnostic(
            code="bad-eqrel",
            message=f"`{relation.name}` is an equivalence, so it must have two columns of one type",
            span=relation.span,
            hint=f"declare it as `.decl {relation.name}(a: T, b: T) eqrel`",
        )
    other = "choice-domain" if relation.choices else None
    if relation.lattice_columns:
        other = "a lattice column"
    if other is not None:
        yield Diagnostic(
            code="conflicting-qualifiers",
            message=f"`{relation.name}` is an equivalence and has {other}: they exclude each other",
            span=relation.span,
            hint="keep one of them; copy the facts into a second relation for the other",
        )
