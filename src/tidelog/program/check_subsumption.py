"""A subsumption compares facts of one relation."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program.draft import Draft


def check_subsumption(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each subsumption over two relations or an equivalence."""
    for rule in draft.flat:
        if rule.greater is None:
            continue
        if rule.head.relation != rule.greater.relation:
            yield Diagnostic(
                code="bad-subsumption",
                message=f"`{rule.head.relation}` and `{rule.greater.relation}` are different relations",
                span=rule.span,
                hint="a fact is deleted in favour of another fact of the same relation",
            )
        relation = draft.declarations.relations.get(rule.head.relation)
        if relation is not None and relation.is_equivalence:
            yield Diagnostic(
                code="bad-subsumption",
                message=f"`{relation.name}` is an equivalence, from which no fact can be deleted",
                span=rule.span,
                hint="copy its facts into an ordinary relation and subsume there",
            )
