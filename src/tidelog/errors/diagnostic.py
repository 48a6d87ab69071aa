"""One message about a user's mistake, and the exception that carries all of them."""

from collections.abc import Iterable
from enum import Enum

from tidelog.dataclass import dataclass
from tidelog.source import Span


class Severity(Enum):
    """How bad it is: an error stops the work, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A message with a stable code, the place it is about, and what to try.

    `related` points at further places, each with a few words ("first declared here").
    A diagnostic about a fact file builds its `Source` from the offending line alone and
    says where that line is with `line_offset` (the number of lines before it).
    """

    code: str
    message: str
    span: Span | None = None
    hint: str | None = None
    related: tuple[tuple[str, Span], ...] = ()
    severity: Severity = Severity.ERROR
    line_offset: int = 0


class TidelogError(Exception):
    """Raised with every diagnostic that was found; nothing was changed or written."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        from tidelog.errors.render import render  # noqa: PLC0415 - render imports Diagnostic

        return "\n".join(render(diagnostic) for diagnostic in self.diagnostics)


def raise_if_any(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Raise all diagnostics if one of them is an error; otherwise return the warnings."""
    found = tuple(diagnostics)
    if any(diagnostic.severity is Severity.ERROR for diagnostic in found):
        raise TidelogError(found)
    return found
