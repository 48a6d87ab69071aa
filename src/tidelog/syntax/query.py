"""The text of a query as the body of a rule."""

from dataclasses import dataclass, replace

from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.source import Source, Span
from tidelog.syntax import parse, tree

_HEAD = "query() :- "
_FOUND_DOT = "found `.`"


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The body of a query, and the way from places in it back to the text that was typed."""

    source: Source
    body: tree.Body
    offsets: tuple[int, ...]

    def point_at_query(self, error: TidelogError) -> TidelogError:
        """Return the error with its spans moved to the query as it was typed."""
        return _point_at_query(error, self.source, self.offsets)


def parse_query(source: Source) -> ParsedQuery:
    """Return the body of the rule that the query stands for.

    Strings may be in single quotes, since the query itself is often inside double ones; a final
    `.` is allowed.
    """
    text, offsets = _as_rule(source.text)
    try:
        items = parse(Source(source.name, text)).items
    except TidelogError as error:
        raise _point_at_query(error, source, offsets) from None
    match items:
        case (tree.Rule((_,), tree.Disjunction() as body, None),):
            return ParsedQuery(source, body, offsets)
    raise TidelogError(
        [
            Diagnostic(
                code="bad-query",
                message="a query is one atom, or several atoms and constraints with commas between them",
                span=Span(source, 0, len(source.text)),
                hint="ask for example path(1, x), x > 3",
            )
        ]
    )


def _as_rule(query: str) -> tuple[str, tuple[int, ...]]:
    """Return the text of a rule, and for each of its characters where it stands in the query."""
    body = query.rstrip()
    body = body.removesuffix(".")
    text = list(_HEAD)
    offsets = [0] * len(_HEAD)
    quote = ""
    offset = 0
    while offset < len(body):
        char = body[offset]
        # One line, so that no line of a query is read as a directive of the preprocessor.
        piece = " " if char in "\r\n" else char
        if quote and char == "\\" and offset + 1 < len(body):
            piece = "'" if body[offset + 1] == "'" else body[offset : offset + 2]
        elif quote == "'" and char == '"':
            piece = '\\"'
        elif char == quote:
            piece, quote = '"', ""
        elif not quote and char in "'\"":
            piece, quote = '"', char
        text += piece
        offsets += [offset] * len(piece)
        offset += 2 if char == "\\" and quote and offset + 1 < len(body) else 1
    text += "\n."
    offsets += [len(body)] * 3
    return "".join(text), tuple(offsets)


def _point_at_query(error: TidelogError, source: Source, offsets: tuple[int, ...]) -> TidelogError:
    def moved(span: Span) -> Span:
        if span.source.name != source.name:
            return span
        last = len(offsets) - 1
        start = offsets[min(span.start, last)]
        return Span(source, start, max(start + 1, offsets[min(span.end, last)]))

    def worded(diagnostic: Diagnostic) -> str:
        # The dot that ends the rule was not typed.
        at_end = diagnostic.span is not None and moved(diagnostic.span).start >= offsets[-1]
        is_added = at_end and diagnostic.message.endswith(_FOUND_DOT)
        return (
            diagnostic.message.removesuffix(_FOUND_DOT) + "found the end" if is_added else diagnostic.message
        )

    return TidelogError(
        replace(
            diagnostic,
            message=worded(diagnostic),
            span=diagnostic.span and moved(diagnostic.span),
            related=tuple((words, moved(span)) for words, span in diagnostic.related),
        )
        for diagnostic in error.diagnostics
        # The head that a query lacks would make every variable look unused.
        if diagnostic.severity is Severity.ERROR
    )
