"""Diagnostics of programs as the protocol has them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from lsprotocol import types

from tidelog.errors import Diagnostic, Severity
from tidelog.lsp.positions import Positions
from tidelog.lsp.texts import Document, Texts, resolved
from tidelog.source import Span

SOURCE: Final = "tidelog"
_SEVERITIES: Final = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
}


def to_protocol(found: Iterable[Diagnostic], document: Document, texts: Texts) -> list[types.Diagnostic]:
    """Return diagnostics of a document; the hint is part of the message, and its data."""
    return [
        types.Diagnostic(
            range=span_range(document.positions, each.span),
            message=each.message if each.hint is None else f"{each.message}\nhint: {each.hint}",
            severity=_SEVERITIES[each.severity],
            code=each.code,
            source=SOURCE,
            data={"hint": each.hint},
            related_information=[
                types.DiagnosticRelatedInformation(span_location(span, texts), words)
                for words, span in each.related
            ],
        )
        for each in found
    ]


def span_range(positions: Positions, span: Span | None) -> types.Range:
    """Return the range of a span; an empty one is shown on the character before it."""
    if span is None:
        return types.Range(types.Position(0, 0), types.Position(0, 0))
    start = span.start - 1 if span.start == span.end and span.start > 0 else span.start
    return positions.range(start, span.end)


def span_location(span: Span, texts: Texts) -> types.Location:
    """Return where a span is."""
    path = resolved(Path(span.source.name))
    positions = Positions(span.source.text, texts.encoding)
    return types.Location(texts.uri(path), positions.range(span.start, span.end))
