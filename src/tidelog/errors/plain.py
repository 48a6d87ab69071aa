"""Diagnostics as JSON objects."""

from collections.abc import Iterable

from tidelog.errors.diagnostic import Diagnostic
from tidelog.errors.render import render


def plain_diagnostics(diagnostics: Iterable[Diagnostic]) -> list[dict[str, object]]:
    """Return diagnostics as JSON objects; `text` is what a terminal would show."""
    return [
        {
            "code": each.code,
            "severity": each.severity.value,
            "message": each.message,
            "hint": each.hint,
            "place": None
            if each.span is None
            else {
                "source": each.span.source.name,
                "line": each.span.line + each.line_offset,
                "column": each.span.column,
            },
            "text": render(each),
        }
        for each in diagnostics
    ]
