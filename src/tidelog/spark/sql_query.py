"""The parts of a `WITH RECURSIVE` query: named queries, each a union of branches, and the last query."""

from collections.abc import Iterator, Sequence

from tidelog.dataclass import dataclass
from tidelog.errors import TidelogError
from tidelog.source import Source, Span
from tidelog.spark.sql_tokens import SqlToken, scan_sql, sql_mistake

_NAMED = "name it: WITH RECURSIVE t(a, b) AS (SELECT ... UNION SELECT ...) SELECT ..."
# These end a FROM clause.
_AFTER_FROM = (
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "WINDOW",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "SELECT",
)


@dataclass(frozen=True, slots=True)
class SqlBranch:
    """One query of a union; `union` is the word before it, None for the first."""

    tokens: tuple[SqlToken, ...]
    union: SqlToken | None = None
    is_all: bool = False

    @property
    def span(self) -> Span:
        """Return where the branch is."""
        return span_of(self.tokens)

    @property
    def text(self) -> str:
        """Return the branch as it is written."""
        return text_of(self.tokens)


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A query with a name, `columns` if they are named, and the names of all tables that it reads."""

    name: str
    columns: tuple[str, ...]
    tokens: tuple[SqlToken, ...]
    span: Span

    @property
    def text(self) -> str:
        """Return the query as it is written."""
        return text_of(self.tokens)

    def branches(self) -> tuple[SqlBranch, ...]:
        """Return the queries that a union combines."""
        return tuple(_branches(self.tokens))


@dataclass(frozen=True, slots=True)
class RecursiveQuery:
    """Named queries and the query that reads them."""

    named: tuple[NamedQuery, ...]
    last: str


def parse_query(text: str) -> RecursiveQuery:
    """Return the parts of a query; raises `TidelogError` where it is not `WITH RECURSIVE`."""
    source = Source("query", text)
    tokens = scan_sql(source)
    if not (len(tokens) > 1 and tokens[0].is_word("WITH") and tokens[1].is_word("RECURSIVE")):
        span = tokens[0].span if tokens else Span(source, 0, 0)
        raise TidelogError([sql_mistake("the query does not begin with WITH RECURSIVE", span, _NAMED)])
    reader = _Reader(tokens, 2)
    named = [reader.named_query()]
    while reader.at is not None and reader.at.is_word(","):
        reader.place += 1
        named.append(reader.named_query())
    names = [each.name for each in named]
    for place, each in enumerate(named):
        if each.name in names[:place]:
            raise TidelogError([sql_mistake(f"two queries are called `{each.name}`", each.span)])
    if reader.at is None:
        span = tokens[-1].span
        raise TidelogError([sql_mistake("a query over the named ones is missing", span, _NAMED)])
    return RecursiveQuery(tuple(named), text[reader.at.span.start : tokens[-1].span.end])


def tables_of(tokens: Sequence[SqlToken]) -> Iterator[SqlToken]:
    """Yield the names of tables that a query reads, those of inner queries too."""
    # For each open bracket whether a FROM clause is around it.
    inside = [False]
    expects = False
    for place, token in enumerate(tokens):
        if token.text == "(":
            inside.append(False)
            expects = False
        elif token.text == ")":
            inside = inside[:-1] or [False]
            expects = False
        elif token.is_word("FROM", "JOIN"):
            inside[-1] = expects = True
        elif token.is_word(*_AFTER_FROM):
            inside[-1] = expects = False
        elif token.text == ",":
            expects = inside[-1]
        elif expects and token.is_name:
            expects = False
            following = tokens[place + 1].text if place + 1 < len(tokens) else ""
            if following not in (".", "("):
                yield token
        else:
            expects = False


def span_of(tokens: Sequence[SqlToken]) -> Span:
    """Return where tokens are, from the first to the last."""
    return Span(tokens[0].span.source, tokens[0].span.start, tokens[-1].span.end)


def text_of(tokens: Sequence[SqlToken]) -> str:
    """Return tokens as they are written, with all between them."""
    span = span_of(tokens)
    return span.source.text[span.start : span.end]


def without_brackets(tokens: Sequence[SqlToken]) -> tuple[SqlToken, ...]:
    """Return a query without brackets around the whole of it."""
    while len(tokens) > 1 and tokens[0].text == "(" and closing(tokens, 0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    return tuple(tokens)


def closing(tokens: Sequence[SqlToken], place: int) -> int | None:
    """Return where the bracket that opens at a place is closed."""
    depth = 0
    for end in range(place, len(tokens)):
        if tokens[end].text == "(":
            depth += 1
        elif tokens[end].text == ")":
            depth -= 1
            if not depth:
                return end
    return None


def _branches(tokens: Sequence[SqlToken]) -> Iterator[SqlBranch]:
    depth, start, place = 0, 0, 0
    union: SqlToken | None = None
    is_all = False
    while place < len(tokens):
        token = tokens[place]
        depth += (token.text == "(") - (token.text == ")")
        if not depth and token.is_word("UNION"):
            yield _branch(tokens[start:place], token, union, is_all=is_all)
            union = token
            following = tokens[place + 1] if place + 1 < len(tokens) else token
            is_all = following.is_word("ALL")
            place += following.is_word("ALL", "DISTINCT")
            start = place + 1
        place += 1
    yield _branch(tokens[start:], tokens[-1], union, is_all=is_all)


def _branch(tokens: Sequence[SqlToken], near: SqlToken, union: SqlToken | None, *, is_all: bool) -> SqlBranch:
    if not tokens:
        raise TidelogError([sql_mistake("a query is missing next to UNION", near.span)])
    return SqlBranch(without_brackets(tokens), union, is_all)


class _Reader:
    """A way through the named queries."""

    def __init__(self, tokens: Sequence[SqlToken], place: int) -> None:
        self._tokens = tokens
        self.place = place

    @property
    def at(self) -> SqlToken | None:
        return self._tokens[self.place] if self.place < len(self._tokens) else None

    def named_query(self) -> NamedQuery:
        """Read `name(columns) AS (query)`."""
        name = self._take("a name", is_name=True)
        columns: tuple[str, ...] = ()
        if self.at is not None and self.at.text == "(":
            columns = tuple(token.value for token in self._bracket() if token.text != ",")
        self._take("AS")
        inner = self._bracket()
        if not inner:
            raise TidelogError([sql_mistake(f"the query `{name.value}` is empty", name.span)])
        return NamedQuery(name.value, columns, inner, name.span)

    def _take(self, wanted: str, *, is_name: bool = False) -> SqlToken:
        token = self.at
        if token is None or not (token.is_name if is_name else token.is_word(wanted)):
            span = self._tokens[min(self.place, len(self._tokens) - 1)].span
            raise TidelogError([sql_mistake(f"{wanted} is expected here", span, _NAMED)])
        self.place += 1
        return token

    def _bracket(self) -> tuple[SqlToken, ...]:
        """Return what is inside the brackets that open here."""
        start = self._take("(")
        end = closing(self._tokens, self.place - 1)
        if end is None:
            raise TidelogError([sql_mistake("this bracket is never closed", start.span)])
        inner = tuple(self._tokens[self.place : end])
        self.place = end + 1
        return inner
