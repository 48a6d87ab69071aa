"""Negation and aggregation read only what is complete."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program.draft import Draft
from tidelog.program.stratify import unstratifiable


def check_strata(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each negated or aggregated atom that depends on its own head."""
    yield from unstratifiable(draft.relations, draft.rules)
