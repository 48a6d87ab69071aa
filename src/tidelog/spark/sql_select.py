"""A recursive branch of a query: SELECT ... FROM ... WHERE, read into terms and conditions.

Only what recursion needs is read here. All other queries, those inside FROM too, are Spark's.
"""

from collections.abc import Sequence
from typing import Final, NoReturn

from tidelog.dataclass import dataclass
from tidelog.errors import TidelogError
from tidelog.source import Span
from tidelog.spark.sql_expressions import SqlExpressions
from tidelog.spark.sql_query import closing, tables_of, text_of
from tidelog.spark.sql_terms import AllOf, ColumnTerm, SqlComparison, SqlCondition, SqlTerm, SqlTruth
from tidelog.spark.sql_tokens import SqlToken, sql_mistake

_LATER: Final = "do it in the last query, over the complete recursive one"
_REFUSED: Final = {
    **dict.fromkeys(("GROUP", "HAVING"), "use shortest_paths for the least, or group in the last query"),
    **dict.fromkeys(
        ("ORDER", "LIMIT", "OFFSET", "WINDOW", "QUALIFY", "SORT", "CLUSTER", "DISTRIBUTE"), _LATER
    ),
    **dict.fromkeys(("LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "OUTER", "NATURAL"), "write an inner join"),
    **dict.fromkeys(("EXCEPT", "INTERSECT", "MINUS"), "filter with WHERE, or in the last query"),
    "LATERAL": "explode arrays in a separate query, and join that",
}
_ENDS_ALIAS: Final = (*_REFUSED, "WHERE", "JOIN", "INNER", "CROSS", "ON", "USING")


@dataclass(frozen=True, slots=True)
class SqlItem:
    """What a branch selects: a term with a name, or every column, of one table or all."""

    term: SqlTerm | None
    name: str | None
    table: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class SqlTable:
    """What a branch reads under a name: a table, or a query in brackets."""

    alias: str
    name: str | None
    query: str | None
    columns: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class SqlSelect:
    """A branch; `using` has pairs of the table before which a column was joined and the column."""

    items: tuple[SqlItem, ...]
    tables: tuple[SqlTable, ...]
    condition: SqlCondition
    span: Span


def parse_select(tokens: Sequence[SqlToken], recursive: Sequence[str]) -> SqlSelect:
    """Return a branch that reads recursive queries.

    Raises `TidelogError` for what cannot be part of a recursion.
    """
    return _SelectReader(tokens, recursive).read()


class _SelectReader(SqlExpressions):
    """A way through one branch."""

    def __init__(self, tokens: Sequence[SqlToken], recursive: Sequence[str]) -> None:
        super().__init__(tokens)
        self._recursive = recursive
        self._tables: list[SqlTable] = []
        self._conditions: list[SqlCondition] = []

    def read(self) -> SqlSelect:
        if not self.takes("SELECT"):
            self.refuse("a recursive branch begins with SELECT", self.token.span)
        self.takes("DISTINCT")
        items = [self._item()]
        while self.takes(","):
            items.append(self._item())
        if not self.takes("FROM"):
            self._refuse_here("FROM is expected here")
        self._from()
        if self.takes("WHERE"):
            self._conditions.append(self.condition())
        if not self.at_end:
            self._refuse_here(f"`{self.token.text}` is not expected here")
        span = Span(self.tokens[0].span.source, self.tokens[0].span.start, self.tokens[-1].span.end)
        condition = AllOf(tuple(self._conditions)) if self._conditions else SqlTruth(holds=True)
        return SqlSelect(tuple(items), tuple(self._tables), condition, span)

    def _item(self) -> SqlItem:
        first = self.token
        if self.takes("*"):
            return SqlItem(None, None, None, first.span)
        following = [token.text for token in self.tokens[self.place + 1 : self.place + 3]]
        if first.is_name and following == [".", "*"]:
            self.place += 3
            return SqlItem(None, None, first.value, first.span)
        term = self.term()
        name = term.name if isinstance(term, ColumnTerm) else None
        if self.takes("AS") or (not self.at_end and self.token.is_name and not self.token.is_word("FROM")):
            name = self.name().value
        return SqlItem(term, name, None, first.span)

    def _from(self) -> None:
        self._tables.append(self._table())
        while True:
            if self.takes(","):
                self._tables.append(self._table())
                continue
            is_cross = self.takes("CROSS")
            if not is_cross:
                self.takes("INNER")
            if not self.takes("JOIN"):
                return
            self._tables.append(self._table())
            if self.takes("ON"):
                self._conditions.append(self.condition())
            elif self.takes("USING"):
                self._using()

    def _table(self) -> SqlTable:
        first = self.token
        name, query = None, None
        if first.text == "(":
            end = closing(self.tokens, self.place)
            if end is None:
                self.refuse("this bracket is never closed", first.span)
            inner = self.tokens[self.place + 1 : end]
            for table in tables_of(inner):
                if table.value in self._recursive:
                    hint = "read it in FROM itself, and filter with WHERE"
                    self.refuse(f"an inner query reads `{table.value}`, which is recursive", table.span, hint)
            query = text_of(inner)
            self.place = end + 1
            alias = f"query {len(self._tables)}"
        else:
            parts = [self.name()]
            while self.takes("."):
                parts.append(self.name())
            if not self.at_end and self.token.text == "(":
                self.refuse("functions that make tables are not part of a recursion", first.span)
            name = ".".join(part.text for part in parts)
            alias = parts[-1].value
        columns: tuple[str, ...] = ()
        if self.takes("AS") or (
            not self.at_end and self.token.is_name and not self.token.is_word(*_ENDS_ALIAS)
        ):
            alias = self.name().value
            if self.takes("("):
                columns = self._names()
        if alias in (table.alias for table in self._tables):
            self.refuse(f"two tables are called `{alias}`", first.span, "give one an alias")
        return SqlTable(alias, name, query, columns, first.span)

    def _using(self) -> None:
        start = self.token
        self.expect("(")
        joined = self._tables[-1].alias
        before = self._tables[-2].alias
        for name in self._names():
            left, right = ColumnTerm(before, name, start.span), ColumnTerm(joined, name, start.span)
            self._conditions.append(SqlComparison("=", left, right, start.span))

    def _names(self) -> tuple[str, ...]:
        """Read names up to a closing bracket; the opening one was read."""
        names = [self.name().value]
        while self.takes(","):
            names.append(self.name().value)
        self.expect(")")
        return tuple(names)

    def _refuse_here(self, message: str) -> NoReturn:
        token = self.token
        hint = _REFUSED.get(token.text.upper())
        if hint is not None:
            message = f"{token.text.upper()} cannot be part of a recursive branch"
        raise TidelogError([sql_mistake(message, token.span, hint)])
