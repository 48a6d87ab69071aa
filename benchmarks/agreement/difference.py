"""Why two tools differ: classes that a look at the source decides."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from benchmarks.agreement.finding import Finding
from benchmarks.agreement.source import Source

UNEXPLAINED = "unexplained"


class DifferenceClass(NamedTuple):
    """A reason why one of the tools says nothing."""

    name: str
    kind: str
    is_ours: bool
    applies: Callable[[Source, Finding], bool]


def explain(finding: Finding, source: Source, classes: Iterable[DifferenceClass], *, is_ours: bool) -> str:
    """Return the class of a difference."""
    for each in classes:
        if (each.kind, each.is_ours) == (finding.kind, is_ours) and each.applies(source, finding):
            return each.name
    return UNEXPLAINED
