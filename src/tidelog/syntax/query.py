"""Queries, facts and patterns as users write them: the body of a rule, with strings in either quotes."""

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError, raise_if_any
from tidelog.source import Source, Span
from tidelog.syntax.bodies import BodyParser
from tidelog.syntax.cursor import ParseError, begins_query
from tidelog.syntax.depth import check_depth
from tidelog.syntax.parser import judge, without_echoes
from tidelog.syntax.scanner import scan
from tidelog.syntax.tree import Atom, Body


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The body of a query, and the text that was typed."""

    source: Source
    body: Body

    @property
    def atom(self) -> Atom | None:
        """Return the atom that the query is, None if it is anything else."""
        elements = [element for each in self.body.alternatives for element in each.elements]
        return elements[0] if len(elements) == 1 and isinstance(elements[0], Atom) else None


def parse_query(source: Source) -> ParsedQuery:
    """Return the body that the query stands for.

    Strings may be in single quotes, since the query itself is often inside double ones; `?-` before it
    and a final `.` are allowed.

        parse_query(Source("query", "path('a', x), x != 'b'."))
    """
    tokens, found = judge(scan(source, single_quotes=True))
    parser = BodyParser(tokens[2:] if begins_query(tokens) else tokens)
    try:
        body = parser.body()
        has_dot = parser.accept(".")
        if parser.token.kind != "end" and not has_dot:
            is_rule = parser.token.text == ":-"
            hint = (
                "a query has no head: ask its body, or add it as a rule" if is_rule else "is a `,` missing?"
            )
            parser.fail_expected("`,`, `;` or the end", hint)
    except ParseError as error:
        mistakes = [*parser.diagnostics, error.diagnostic]
        raise TidelogError([*found, *without_echoes(mistakes, found)]) from None
    several = [_several(source)] if parser.token.kind != "end" else []
    raise_if_any([*found, *parser.diagnostics, *several, *check_depth([body])])
    return ParsedQuery(source, body)


def parse_atom(text: str, name: str = "query") -> Atom:
    """Return the one atom of a text; anything else is a diagnostic.

    parse_atom("path('a', x)") -> Atom("path", (StringLiteral("a"), Variable("x")))
    """
    query = parse_query(Source(name, text))
    if query.atom is None:
        raise TidelogError([_no_atom(query.source)])
    return query.atom


def _no_atom(source: Source) -> Diagnostic:
    return Diagnostic(
        code="not-a-fact",
        message="this is not one fact",
        span=Span(source, 0, len(source.text)),
        hint="write for example path(1, 3), or path(x, 3) for all that match",
    )


def _several(source: Source) -> Diagnostic:
    return Diagnostic(
        code="bad-query",
        message="a query is one atom, or several atoms and constraints with commas between them",
        span=Span(source, 0, len(source.text)),
        hint="ask for example path(1, x), x > 3",
    )
