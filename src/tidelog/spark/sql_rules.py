"""Recursive branches as rules of a program."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NoReturn

from tidelog.dataclass import dataclass
from tidelog.errors import TidelogError
from tidelog.program.suggest import did_you_mean
from tidelog.source import Span
from tidelog.spark.sql_select import SqlItem, SqlSelect
from tidelog.spark.sql_terms import (
    CallTerm,
    CastTerm,
    ColumnTerm,
    ConstantTerm,
    SqlComparison,
    SqlTerm,
    alternatives,
)
from tidelog.spark.sql_tokens import sql_mistake
from tidelog.values import Kind

_NAMES: Final = {Kind.NUMBER: "an integer", Kind.FLOAT: "a float", Kind.SYMBOL: "a string"}
_ARITHMETIC: Final = {"+": "+", "-": "-", "*": "*", "%": "%", "div": "/"}
_EXTREMES: Final = {"least": "min", "greatest": "max"}
_GREATEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class SqlSchema:
    """A relation with the names and kinds of its columns."""

    relation: str
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class SqlTyped:
    """A term as text of a program, and its kind."""

    text: str
    kind: Kind


def output_columns(
    select: SqlSelect, schemas: Mapping[str, SqlSchema]
) -> tuple[tuple[str, ...], tuple[Kind, ...]]:
    """Return the names and kinds of what a branch selects."""
    rules = _Rules(select, schemas)
    terms = [rules.typed(term) for term, _ in rules.selected()]
    names = [name or f"col{place}" for place, (_, name) in enumerate(rules.selected())]
    return tuple(names), tuple(term.kind for term in terms)


def write_rules(head: SqlSchema, select: SqlSelect, schemas: Mapping[str, SqlSchema]) -> Iterator[str]:
    """Yield the rules of a branch, one for each way in which its condition can hold.

    `schemas` has what each table of the branch is, by its alias.
    """
    rules = _Rules(select, schemas)
    selected = rules.selected()
    if len(selected) != len(head.kinds):
        message = f"this branch has {len(selected)} columns, and the first one has {len(head.kinds)}"
        _refuse(message, select.span, "all branches of a union have the same columns")
    terms = []
    for (term, _), kind, name in zip(selected, head.kinds, head.names, strict=True):
        found = rules.typed(term)
        if found.kind is not kind and not (found.kind is Kind.NUMBER and kind is Kind.FLOAT):
            message = f"column `{name}` is {_NAMES[kind]} in the first branch and {_NAMES[found.kind]} here"
            _refuse(message, term.span, "cast it in one of them, as in CAST(x AS STRING)")
        terms.append(_as_kind(found, kind).text)
    body = [rules.atom(place) for place in range(len(select.tables))]
    for comparisons in alternatives(select.condition):
        constraints = [rules.constraint(each) for each in comparisons]
        yield f"{head.relation}({', '.join(terms)}) :- {', '.join([*body, *constraints])}."


class _Rules:
    """One branch, with what its tables are."""

    def __init__(self, select: SqlSelect, schemas: Mapping[str, SqlSchema]) -> None:
        self._select = select
        self._schemas = [schemas[table.alias] for table in select.tables]
        self._names: list[tuple[str, ...]] = []
        for table, schema in zip(select.tables, self._schemas, strict=True):
            names = table.columns or schema.names
            if len(names) != len(schema.names):
                message = f"`{table.alias}` has {len(schema.names)} columns, not {len(names)}"
                _refuse(message, table.span)
            self._names.append(tuple(name.lower() for name in names))

    def atom(self, place: int) -> str:
        """Return the atom of a table, with a variable for each column."""
        schema = self._schemas[place]
        return f"{schema.relation}({', '.join(_variable(place, i) for i in range(len(schema.names)))})"

    def selected(self) -> list[tuple[SqlTerm, str | None]]:
        """Return what the branch selects, with `*` written out, and the names of that."""
        return [pair for item in self._select.items for pair in self._terms_of(item)]

    def _terms_of(self, item: SqlItem) -> Iterator[tuple[SqlTerm, str | None]]:
        if item.term is not None:
            yield item.term, item.name
            return
        known = [table.alias for table in self._select.tables]
        if item.table is not None and item.table not in known:
            hint = did_you_mean(item.table, known, f"there are {', '.join(known)}")
            _refuse(f"there is no table `{item.table}`", item.span, hint)
        for table, names in zip(self._select.tables, self._names, strict=True):
            if item.table in (None, table.alias):
                for name in names:
                    yield ColumnTerm(table.alias, name, item.span), name

    def constraint(self, comparison: SqlComparison) -> str:
        """Return a comparison as text of a program."""
        left, right = self.typed(comparison.left), self.typed(comparison.right)
        left, right = _alike([left, right], comparison.span)
        operator = "!=" if comparison.operator == "<>" else comparison.operator
        return f"{left.text} {operator} {right.text}"

    def typed(self, term: SqlTerm) -> SqlTyped:
        """Return a term as text of a program, with its kind."""
        match term:
            case ColumnTerm():
                return self._column(term)
            case ConstantTerm(value, span):
                return _constant(value, span)
            case CastTerm(inner, kind, span):
                return _cast(self.typed(inner), kind, span)
            case CallTerm(name, terms, span):
                return _call(name, [self.typed(each) for each in terms], span)

    def _column(self, term: ColumnTerm) -> SqlTyped:
        places = [
            (place, names.index(term.name))
            for place, (table, names) in enumerate(zip(self._select.tables, self._names, strict=True))
            if term.table in (None, table.alias) and term.name in names
        ]
        if not places:
            known = [name for names in self._names for name in names]
            table = f" of `{term.table}`" if term.table else ""
            hint = did_you_mean(term.name, known, f"there are {', '.join(dict.fromkeys(known))}")
            _refuse(f"there is no column `{term.name}`{table}", term.span, hint)
        if len(places) > 1:
            tables = ", ".join(self._select.tables[place].alias for place, _ in places)
            hint = f"write the table before it, as in {self._select.tables[places[0][0]].alias}.{term.name}"
            _refuse(f"several tables have a column `{term.name}`: {tables}", term.span, hint)
        place, column = places[0]
        return SqlTyped(_variable(place, column), self._schemas[place].kinds[column])


def _variable(table: int, column: int) -> str:
    return f"v{table}_{column}"


def _constant(value: float | str, span: Span) -> SqlTyped:
    if isinstance(value, str):
        return SqlTyped(written_text(value), Kind.SYMBOL)
    if isinstance(value, float):
        return SqlTyped(repr(value) if "e" not in repr(value) else f'to_float("{value!r}")', Kind.FLOAT)
    if not -_GREATEST - 1 <= value <= _GREATEST:
        _refuse(f"{value} is beyond the range of 64-bit integers", span)
    return SqlTyped(f"({value})" if value < 0 else str(value), Kind.NUMBER)


def written_text(value: str) -> str:
    """Return a text as a constant of a program."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") + '"'


def _call(name: str, terms: Sequence[SqlTyped], span: Span) -> SqlTyped:
    if name in ("||", "concat"):
        texts = [_cast(term, Kind.SYMBOL, span).text for term in terms]
        return SqlTyped(texts[0] if len(texts) == 1 else f"cat({', '.join(texts)})", Kind.SYMBOL)
    if any(term.kind is Kind.SYMBOL for term in terms):
        _refuse(f"`{name}` takes numbers, and one of its values is a string", span, "cast it first")
    if name == "/":
        left, right = (_as_kind(term, Kind.FLOAT).text for term in terms)
        return SqlTyped(f"({left} / {right})", Kind.FLOAT)
    if name == "negative":
        return SqlTyped(f"(-{terms[0].text})", terms[0].kind)
    alike = _alike(terms, span)
    kind = alike[0].kind
    if name in _EXTREMES:
        return SqlTyped(f"{_EXTREMES[name]}({', '.join(term.text for term in alike)})", kind)
    if kind is Kind.FLOAT and name in ("%", "div"):
        _refuse(f"`{name}` takes integers here", span, "cast them, as in CAST(x AS BIGINT)")
    left, right = (term.text for term in alike)
    return SqlTyped(f"({left} {_ARITHMETIC[name]} {right})", kind)


def _cast(term: SqlTyped, kind: Kind, span: Span) -> SqlTyped:
    if term.kind is kind:
        return term
    if kind is Kind.FLOAT and term.kind is Kind.NUMBER:
        return _as_kind(term, kind)
    if kind is Kind.SYMBOL and term.kind is Kind.NUMBER:
        return SqlTyped(f"to_string({term.text})", kind)
    message = f"{_NAMES[term.kind]} cannot be cast to {_NAMES[kind]} in a recursive branch"
    return _refuse(message, span, "cast it in a separate query first")


def _alike(terms: Sequence[SqlTyped], span: Span) -> list[SqlTyped]:
    """Return terms of one kind; integers become floats beside floats."""
    kinds = {term.kind for term in terms}
    if kinds == {Kind.NUMBER, Kind.FLOAT}:
        return [_as_kind(term, Kind.FLOAT) for term in terms]
    if len(kinds) > 1:
        words = " and ".join(sorted(_NAMES[kind] for kind in kinds))
        _refuse(f"{words} cannot be compared", span, "cast one of them, as in CAST(x AS STRING)")
    return list(terms)


def _as_kind(term: SqlTyped, kind: Kind) -> SqlTyped:
    return term if term.kind is kind else SqlTyped(f"to_float({term.text})", kind)


def _refuse(message: str, span: Span, hint: str | None = None) -> NoReturn:
    raise TidelogError([sql_mistake(message, span, hint)])
