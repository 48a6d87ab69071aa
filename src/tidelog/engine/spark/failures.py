"""Failures of partners as text, and back: diagnostics as JSON, anything else as its words.

Nothing is unpickled: whoever could send a pickle could run code where it is read.
"""

import json
from typing import Final

from tidelog.engine.local.state import NeedsWideCodes
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.source import Source, Span

FAILED: Final = "failed:"
UNFIT: Final = "unfit:"
# The one signal between partners and driver that is not a failure for the user.
_WIDE: Final = FAILED + "wide codes"


def failure_text(error: Exception) -> str:
    """Return a failure as text that `raise_failure` raises again elsewhere."""
    if isinstance(error, NeedsWideCodes):
        return _WIDE
    if isinstance(error, TidelogError):
        found: object = [_plain(each) for each in error.diagnostics]
    else:
        found = f"{type(error).__name__}: {error}"
    return FAILED + json.dumps(found)


def raise_failure(text: str) -> None:
    """Raise the failure in a text, if it is one."""
    if text == _WIDE:
        raise NeedsWideCodes
    if text.startswith(FAILED):
        raise _failure(text.removeprefix(FAILED))
    if text.startswith(UNFIT):
        raise TidelogError([unfit_worker(text.removeprefix(UNFIT))])


def is_failure(text: str) -> bool:
    """Say whether `raise_failure` raises."""
    return text.startswith((FAILED, UNFIT))


def unfit_worker(reason: str) -> Diagnostic:
    """Return the diagnostic for a worker that cannot take part."""
    return Diagnostic(
        code="spark-unfit-worker",
        message=reason,
        hint="install the same tidelog, with Numba, where the executors' Python looks for it",
    )


def _failure(text: str) -> Exception:
    try:
        found = json.loads(text)
        if isinstance(found, list) and found:
            return TidelogError([_diagnostic(each) for each in found])
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        found = text
    return RuntimeError(str(found))


def _plain(diagnostic: Diagnostic) -> dict[str, object]:
    return {
        "code": diagnostic.code,
        "message": diagnostic.message,
        "span": _plain_span(diagnostic.span),
        "hint": diagnostic.hint,
        "related": [[words, _plain_span(span)] for words, span in diagnostic.related],
        "severity": diagnostic.severity.value,
        "line_offset": diagnostic.line_offset,
    }


def _plain_span(span: Span | None) -> list[object] | None:
    return None if span is None else [span.source.name, span.source.text, span.start, span.end]


def _diagnostic(plain: dict[str, object]) -> Diagnostic:
    related = plain["related"]
    if not isinstance(related, list):
        raise TypeError("related places are a list")
    places = ((str(words), _span(span)) for words, span in related)
    hint = plain["hint"]
    return Diagnostic(
        code=str(plain["code"]),
        message=str(plain["message"]),
        span=_span(plain["span"]),
        hint=None if hint is None else str(hint),
        related=tuple((words, span) for words, span in places if span is not None),
        severity=Severity(plain["severity"]),
        line_offset=int(str(plain["line_offset"])),
    )


def _span(plain: object) -> Span | None:
    match plain:
        case None:
            return None
        case [str(name), str(text), int(start), int(end)] if 0 <= start <= end <= len(text):
            return Span(Source(name, text), start, end)
        case _:
            raise TypeError("a span has a source, a start and an end")
