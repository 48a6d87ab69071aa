# ruff: noqa: S608 - every name and text is quoted
"""Expressions as SQL.

Selections, projections, renamings and joins become one SELECT. Only the outermost projection is made
distinct: duplicate rows matter to aggregates alone, and the body of an aggregate keeps every column
that tells its rows apart.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Final, assert_never

from tidelog.algebra import nodes
from tidelog.algebra.nodes import Dialect, Expression, relations_read, schema_of, types_of
from tidelog.algebra.sql_terms import TermWriter, no_sql, quote_name
from tidelog.dataclass import dataclass
from tidelog.errors.arguments import Arguments
from tidelog.program.nodes import Aggregate, Variable
from tidelog.values import TypeTable

_AGGREGATES: Final = {"sum": "SUM", "min": "MIN", "max": "MAX", "mean": "AVG"}


def write_expression(expression: Expression, dialect: Dialect) -> str:
    """Return a query for the rows of an expression over the relations that it reads."""
    _check_case(relations_read(expression))
    return _Writer.of(dialect, types_of(expression)).query(expression)


def write_program(relations: Mapping[str, Expression], relation: str, dialect: Dialect) -> str:
    """Return a query for one of the relations that begins with definitions of all but the inputs."""
    _check_case(relations)
    derived = {name: each for name, each in relations.items() if not isinstance(each, nodes.Scan)}
    return _Writer.of(dialect, types_of(relations[relation])).query_with(derived, relation)


@dataclass
class _Query:
    """A SELECT under construction: every column of its type, where rows come from, and conditions."""

    columns: dict[str, str] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    where: list[str] = field(default_factory=list)

    def equalities(self, other: "_Query") -> list[str]:
        """Return that this query agrees with another on all columns of the same name."""
        return [
            f"{text} = {other.columns[name]}" for name, text in self.columns.items() if name in other.columns
        ]

    def narrowed(self, conditions: list[str]) -> "_Query":
        """Return the rows that satisfy more conditions."""
        return replace(self, where=[*self.where, *conditions])

    def text(self, selected: str, *, is_distinct: bool = False) -> str:
        lines = [f"SELECT {'DISTINCT ' if is_distinct else ''}{selected}"]
        lines += [f"FROM {self.sources[0]}", *self.sources[1:]] if self.sources else []
        lines += ["WHERE " + "\n  AND ".join(map(_deeper, dict.fromkeys(self.where)))] if self.where else []
        return "\n".join(lines)


@dataclass
class _Writer:
    """Writes one query; `names` are those of relations that it defines itself."""

    dialect: Dialect
    terms: TermWriter
    names: dict[str, str] = field(default_factory=dict)
    tables: int = 0

    @classmethod
    def of(cls, dialect: Dialect, types: TypeTable) -> "_Writer":
        with Arguments() as arguments:
            arguments.expect("dialect", dialect, "duckdb or spark", is_right=dialect in ("duckdb", "spark"))
        return cls(dialect, TermWriter(dialect, types))

    # --- whole queries -------------------------------------------------------------------------

    def query_with(self, definitions: Mapping[str, Expression], relation: str) -> str:
        """Return a query for a relation that begins with definitions."""
        for name, expression in definitions.items():
            scans = (node for node in nodes.walk_expression(expression) if isinstance(node, nodes.Scan))
            # The table with the relation's input facts has the relation's own name.
            has_table = any(scan.is_input and scan.relation.name == name for scan in scans)
            self.names[name] = f"all {name}" if has_table else name
        texts = [text for name, each in definitions.items() for text in self.define(name, each)]
        beginning = f"WITH RECURSIVE {', '.join(texts)}\n" if texts else ""
        return f"{beginning}SELECT * FROM {self.quoted(self.names.get(relation, relation))}"

    def define(self, relation: str, expression: Expression) -> list[str]:
        """Return `name(columns) AS (query)`, after what the query needs for itself."""
        name, columns = self.names[relation], self.columns_of(expression)
        if not isinstance(expression, nodes.Fixpoint):
            return [self.definition(name, columns, self.query(expression))]
        if self.dialect == "duckdb":
            return [self.definition(name, columns, self.recursion(expression, "UNION"))]
        # Spark cannot drop duplicates during recursion, so a second definition does.
        self.names[relation] = f"{name} rows"
        rows = self.definition(self.names[relation], columns, self.recursion(expression, "UNION ALL"))
        self.names[relation] = name
        distinct = f"SELECT DISTINCT * FROM {self.quoted(f'{name} rows')}"
        return [rows, self.definition(name, columns, distinct)]

    def definition(self, name: str, columns: Iterable[str], query: str) -> str:
        return f"{self.quoted(name)}({', '.join(map(self.quoted, columns))}) AS {_nested(query)}"

    def query(self, expression: Expression) -> str:
        """Return a query for the rows of an expression, each once."""
        if isinstance(expression, nodes.Fixpoint):
            return self.query_with({expression.relation: expression}, expression.relation)
        if isinstance(expression, nodes.Union):
            return "\nUNION\n".join(self.query(source) for source in expression.sources)
        query = self.select(expression)
        columns = {name: query.columns[name] for name in self.columns_of(expression)}
        return query.text(self.named(columns), is_distinct=True)

    def named(self, columns: Mapping[str, str]) -> str:
        _check_case(columns)
        return ", ".join(f"{text} AS {self.quoted(name)}" for name, text in columns.items())

    def recursion(self, fixpoint: nodes.Fixpoint, union: str) -> str:
        """Return the rules that do not read the relation, united with those that read it once."""
        (relation, definition), *others = fixpoint.definitions
        if others:
            together = " and ".join(f"`{name}`" for name, _ in fixpoint.definitions)
            raise no_sql(f"recursion through {together} together: SQL recursion has one relation")
        sources = definition.sources if isinstance(definition, nodes.Union) else (definition,)
        counts = {source: _own_scans(source, relation) for source in sources}
        if max(counts.values()) > 1:
            raise no_sql(
                f"recursion that reads `{relation}` twice or in an aggregate: SQL recursion is linear"
            )
        base = [self.query(source) for source in sources if not counts[source]]
        steps = [self.query(source) for source in sources if counts[source]]
        nothing = ", ".join(self.terms.cast("NULL", each) for each in schema_of(definition).values())
        first = "\nUNION\n".join(base) or f"SELECT {nothing} WHERE 1 = 0"
        following = "\nUNION ALL\n".join(steps)
        return f"{_nested(first)}\n{union}\n{_nested(following)}"

    def columns_of(self, expression: Expression) -> nodes.Schema:
        schema = schema_of(expression)
        if not schema:
            raise no_sql("a relation without columns")
        return schema

    def quoted(self, name: str) -> str:
        return quote_name(name, self.dialect)

    # --- one SELECT ----------------------------------------------------------------------------

    def select(self, expression: Expression, outer: _Query | None = None) -> _Query:
        """Return the SELECT of an expression; `outer` is the one around an aggregate."""
        match expression:
            case nodes.Unit():
                return _Query()
            case nodes.Outer():
                if outer is None:
                    raise no_sql("the body of an aggregate without the rows around it")
                columns = {name: outer.columns[name] for name in expression.columns}
                return self.table(_nested(outer.text(self.named(columns), is_distinct=True)), columns)
            case nodes.Scan():
                name = expression.relation.name
                name = name if expression.is_input else self.names.get(name, name)
                return self.table(self.quoted(name), expression.columns)
            case nodes.NaturalJoin():
                return self.join(self.select(expression.left, outer), self.select(expression.right, outer))
            case nodes.Antijoin():
                left, right = self.select(expression.left, outer), self.select(expression.right, outer)
                right.where += right.equalities(left)
                return left.narrowed([f"NOT EXISTS {_nested(right.text('1'))}"])
            case nodes.Group():
                return self.group(expression, self.select(expression.source, outer))
            case nodes.Union() | nodes.Fixpoint():
                return self.table(_nested(self.query(expression)), expression.columns)
            case _:
                return self.row_by_row(expression, self.select(expression.source, outer))

    def row_by_row(self, expression: nodes.RowByRow, source: _Query) -> _Query:
        match expression:
            case nodes.Select():
                tests = (self.terms.constraint(each, source.columns) for each in expression.constraints)
                return source.narrowed([text for each in tests for text in each])
            case nodes.Project():
                columns, conditions = self.terms.many(expression.terms, source.columns)
                return replace(source.narrowed(conditions), columns=columns)
            case nodes.Rename():
                return replace(source, columns={new: source.columns[old] for old, new in expression.names})
            case nodes.Extend():
                new, conditions = self.terms.many([(expression.column, expression.term)], source.columns)
                return replace(source.narrowed(conditions), columns=source.columns | new)
            case nodes.TakeApart():
                raise no_sql("taking records and branches apart", expression.pattern.span)
            case nodes.Expand():
                raise no_sql("`range`", expression.generator.span)
        assert_never(expression)

    def table(self, text: str, columns: Iterable[str]) -> _Query:
        """Return all rows of a table or of a query in parentheses."""
        alias = f"t{self.tables}"
        self.tables += 1
        return _Query({name: f"{alias}.{self.quoted(name)}" for name in columns}, [f"{text} AS {alias}"])

    def join(self, left: _Query, right: _Query) -> _Query:
        """Return the rows of two queries that agree; the right one has one source."""
        shared, columns = right.equalities(left), right.columns | left.columns
        if not left.sources:
            return _Query(columns, right.sources, [*left.where, *right.where, *shared])
        (source,) = right.sources
        joined = f"JOIN {source} ON {' AND '.join(shared)}" if shared else f"CROSS JOIN {source}"
        return _Query(columns, [*left.sources, joined], [*left.where, *right.where])

    def group(self, group: nodes.Group, source: _Query) -> _Query:
        """Return the rows of a query, each with the aggregate of the rows that agree with it."""
        body = self.select(group.body, source)
        columns = {name: body.columns[name] for name in group.by}
        keys = f"\nGROUP BY {', '.join(columns.values())}" if columns else ""
        columns[group.column] = self.aggregate(group.aggregate, body)
        grouped = self.table(_nested(body.text(self.named(columns)) + keys), columns)
        value = grouped.columns.pop(group.column)
        on = " AND ".join(grouped.equalities(source)) or "1 = 1"
        has_zero = group.aggregate.functor in ("count", "sum")
        joined = f"{'LEFT JOIN' if has_zero else 'JOIN'} {grouped.sources[0]} ON {on}"
        found = self.terms.cast(f"COALESCE({value}, 0)", group.aggregate.type) if has_zero else value
        made = replace(
            source,
            columns=source.columns | {group.column: found},
            sources=[*(source.sources or self.table("(SELECT 1)", ()).sources), joined],
        )
        return made if has_zero else made.narrowed([f"{value} IS NOT NULL"])

    def aggregate(self, aggregate: Aggregate, body: _Query) -> str:
        if aggregate.functor == "count":
            return "COUNT(*)"
        assert isinstance(aggregate.target, Variable), "the target of a flat aggregate is a variable"
        return f"{_AGGREGATES[aggregate.functor]}({body.columns[aggregate.target.name]})"


def _check_case(names: Iterable[str]) -> None:
    """Refuse names that differ only in case: SQL takes them for the same."""
    known: dict[str, str] = {}
    for name in names:
        if known.setdefault(name.casefold(), name) != name:
            raise no_sql(f"`{known[name.casefold()]}` and `{name}`, which differ only in case")


def _nested(query: str) -> str:
    return "(" + _deeper(f"\n{query}") + "\n)"


def _deeper(text: str) -> str:
    """Return a text with its lines but the first indented; literals have no line breaks."""
    return text.replace("\n", "\n  ")


def _own_scans(expression: Expression, relation: str) -> int:
    """Return how often an expression reads a relation, counting each read in an aggregate twice."""
    match expression:
        case nodes.Scan():
            return int(expression.relation.name == relation and not expression.is_input)
        case nodes.Group():
            return _own_scans(expression.source, relation) + 2 * _own_scans(expression.body, relation)
        case _:
            return sum(_own_scans(part, relation) for part in nodes.parts(expression))
