"""A tool that finds some of what our analyses find, and how to compare the two."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from benchmarks.agreement.difference import DifferenceClass
from benchmarks.agreement.finding import Finding


class Comparison(NamedTuple):
    """The programs that find each kind, what the other tool finds in files, and the known differences."""

    tool: str
    programs: Mapping[str, tuple[str, ...]]
    find: Callable[[Mapping[str, str]], AbstractSet[Finding]]
    classes: tuple[DifferenceClass, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of findings that both make."""
        return tuple(kind for kinds in self.programs.values() for kind in kinds)
