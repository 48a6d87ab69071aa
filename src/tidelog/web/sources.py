"""The program's text, and where in it each rule stands."""

from tidelog.session import Session
from tidelog.source import Source, Span
from tidelog.web.schema import PlaceReply, ProgramReply


def plain_rules(session: Session) -> ProgramReply:
    """Return the sources and the rules as JSON; places are lines and columns from 1."""
    rules = session.rules
    sources: dict[str, Source] = {}
    spans = [relation.span for relation in session.program.relations.values()]
    for span in [*(rule.span for rule in rules), *spans]:
        if span is not None:
            sources.setdefault(span.source.name, span.source)
    heads = {rule.span: rule.head.relation for rule in session.program.rules}
    return {
        "sources": [{"name": source.name, "text": source.text} for source in sources.values()],
        "rules": [
            {"id": rule.id, "text": rule.text, "head": heads.get(rule.span), "place": plain_span(rule.span)}
            for rule in rules
        ],
        "declarations": {
            name: plain_span(relation.span)
            for name, relation in session.program.relations.items()
            if relation.span is not None
        },
    }


def plain_span(span: Span) -> PlaceReply:
    """Return a span as JSON: its source, first and last line, and first and last column."""
    source, end = span.source, max(span.start, span.end - 1)
    last = source.line_of(end)
    return {
        "source": source.name,
        "line": span.line,
        "column": span.column,
        "end_line": last,
        "end_column": end - source.line_starts[last - 1] + 1,
    }
