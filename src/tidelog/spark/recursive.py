"""`WITH RECURSIVE` with set semantics: Spark runs the queries, Tidelog the recursion between them.

Each group of named queries that read each other becomes one program: branches that read none of them
are queries of Spark and give the first facts, the others are rules. Whatever comes after reads the
answer as a view.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self

from tidelog.engine.spark.connect import is_connect
from tidelog.engine.spark.java_errors import java_errors, java_reason, quiet_queries
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.strongly_connected import strongly_connected
from tidelog.spark.columns import as_relation, is_frame, kinds_of, placed, quoted
from tidelog.spark.evaluation import evaluate
from tidelog.spark.sql_query import NamedQuery, SqlBranch, parse_query, tables_of
from tidelog.spark.sql_rules import SqlSchema, output_columns, write_rules
from tidelog.spark.sql_select import SqlSelect, SqlTable, parse_select
from tidelog.spark.sql_tokens import sql_mistake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_UNION: Final = "write UNION: every row is kept once, so cycles end and no path is counted twice"


def recursive_sql(
    query: str,
    frames: "Mapping[str, DataFrame] | None" = None,
    *,
    spark: "SparkSession | None" = None,
    **options: Any,
) -> "DataFrame":
    """Return the answer to a `WITH RECURSIVE` query, evaluated with set semantics.

    Recursion may be non-linear (a query that joins itself) and mutual (queries that read each other), and
    it ends on cycles. Tables are those of `frames` by name, temporary views, and tables of the catalog.
    Everything but the recursive branches is Spark's own SQL, the last query too; the options are those
    of `evaluate`.

        recursive_sql('''
            WITH RECURSIVE path(src, dst) AS (
                SELECT src, dst FROM edge
                UNION
                SELECT p.src, q.dst FROM path p JOIN path q ON p.dst = q.src
            )
            SELECT src, count(*) FROM path GROUP BY src
        ''', {"edge": edges})
    """
    parsed = parse_query(query)
    session = spark or _session_of(frames or {})
    with _Views(session) as views:
        for name, frame in (frames or {}).items():
            views.define(name.lower(), frame)
        by_name = {each.name: each for each in parsed.named}
        reads = {
            name: [t.value for t in tables_of(each.tokens) if t.value in by_name]
            for name, each in by_name.items()
        }
        for group in strongly_connected(reads):
            if len(group) == 1 and group[0] not in reads[group[0]]:
                views.add_query(by_name[group[0]])
            else:
                _Recursion(views, [by_name[name] for name in group], options).evaluate()
        return views.run(parsed.last)


class _Views:
    """What a query can read by name: each name with the query that stands for it."""

    def __init__(self, spark: "SparkSession") -> None:
        self.spark = spark
        self._named: list[str] = []
        self._made: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Frames that were made of a view keep what it stood for, but those of Spark Connect its name.
        for view in [] if is_connect(self.spark) else self._made:
            self.spark.catalog.dropTempView(view)

    def define(self, name: str, frame: "DataFrame") -> None:
        """Let a name stand for a frame."""
        view = f"tidelog_{uuid.uuid4().hex}"
        frame.createOrReplaceTempView(view)
        self._made.append(view)
        self._named.append(f"{quoted(name)} AS (SELECT * FROM {view})")  # noqa: S608 - a name of our own

    def add_query(self, query: NamedQuery) -> None:
        """Let a name stand for a query."""
        columns = f"({', '.join(map(quoted, query.columns))})" if query.columns else ""
        self._named.append(f"{quoted(query.name)}{columns} AS ({query.text})")

    def run(self, query: str) -> "DataFrame":
        """Return the answer to a query of Spark over all that has a name."""
        text = f"WITH {', '.join(self._named)} {query}" if self._named else query
        with _spark_mistakes():
            frame = self.spark.sql(text)
            # Spark Connect looks at a query when something about its answer is asked.
            _ = frame.columns
            return frame

    def inner(self, query: str) -> "DataFrame":
        """Return the answer to a query that may itself begin with WITH."""
        return self.run(f"SELECT * FROM ({query})")  # noqa: S608 - the user's own query


class _Recursion:
    """Named queries that read each other, as one program."""

    def __init__(self, views: _Views, queries: Sequence[NamedQuery], options: Mapping[str, Any]) -> None:
        self._views = views
        self._options = options
        self._queries = {query.name: query for query in queries}
        self._frames: dict[str, DataFrame] = {}
        self._schemas: dict[str, SqlSchema] = {}
        self._lines: list[str] = []

    def evaluate(self) -> None:
        """Evaluate the recursion, and let the names stand for what it found."""
        steps: list[tuple[str, SqlSelect, dict[str, SqlSchema | str]]] = []
        for name, query in self._queries.items():
            for branch in query.branches():
                if not any(token.value in self._queries for token in tables_of(branch.tokens)):
                    self._add_base(query, branch)
                    continue
                if branch.is_all and branch.union is not None:
                    raise TidelogError([sql_mistake("UNION ALL keeps equal rows", branch.union.span, _UNION)])
                select = parse_select(branch.tokens, list(self._queries))
                steps.append((name, select, {each.alias: self._read(each) for each in select.tables}))
        self._name_the_rest(steps)
        for name, select, tables in steps:
            self._lines += write_rules(self._schemas[name], select, self._resolved(tables))
        wanted = {self._schemas[name].relation: name for name in self._queries}
        program = "\n".join([*self._declarations(), *self._lines])
        frames = {**self._frames}
        found = evaluate(program, frames, outputs=list(wanted), spark=self._views.spark, **self._options)
        for relation, name in wanted.items():
            self._views.define(name, found[relation].toDF(*self._schemas[name].names))

    def _add_base(self, query: NamedQuery, branch: SqlBranch) -> None:
        """Let Spark answer a branch without recursion: its rows are the first facts."""
        frame = self._views.inner(branch.text)
        what = f"the first rows of `{query.name}`"
        names = query.columns or tuple(frame.columns)
        if len(names) != len(frame.columns):
            message = f"`{query.name}` has {len(names)} columns, and this branch has {len(frame.columns)}"
            raise TidelogError([sql_mistake(message, branch.span)])
        frame = placed(frame)
        kinds = kinds_of(what, frame, frame.columns, names)
        known = self._schemas.setdefault(query.name, SqlSchema(f"r_{len(self._schemas)}", names, kinds))
        if known.kinds != kinds:
            message = f"the branches of `{query.name}` have columns of different types"
            raise TidelogError([sql_mistake(message, branch.span, "cast them to the same types")])
        relation = self._add_frame(frame, SqlSchema("", names, kinds)).relation
        variables = ", ".join(f"v{place}" for place in range(len(names)))
        self._lines.append(f"{known.relation}({variables}) :- {relation}({variables}).")

    def _read(self, table: SqlTable) -> SqlSchema | str:
        """Return what a table of a branch is: a recursive query by its name, or a relation."""
        if table.name is not None and table.name.strip("`").lower() in self._queries:
            return table.name.strip("`").lower()
        if table.query is not None:
            frame = self._views.inner(table.query)
        else:
            frame = self._views.run(f"SELECT * FROM {table.name}")  # noqa: S608 - the user's own table
        names, frame = tuple(frame.columns), placed(frame)
        kinds = kinds_of(f"`{table.alias}`", frame, frame.columns, names)
        return self._add_frame(frame, SqlSchema("", names, kinds))

    def _add_frame(self, frame: "DataFrame", schema: SqlSchema) -> SqlSchema:
        relation = f"b_{len(self._frames)}"
        self._frames[relation] = as_relation(frame, frame.columns, schema.kinds)
        self._lines.insert(0, _declaration(relation, schema))
        return SqlSchema(relation, schema.names, schema.kinds)

    def _name_the_rest(self, steps: "Sequence[tuple[str, SqlSelect, dict[str, SqlSchema | str]]]") -> None:
        """Find the columns of queries whose every branch reads another query of the recursion."""
        while missing := [name for name in self._queries if name not in self._schemas]:
            for name, select, tables in steps:
                if name in missing and all(
                    isinstance(each, SqlSchema) or each in self._schemas for each in tables.values()
                ):
                    names, kinds = output_columns(select, self._resolved(tables))
                    names = self._queries[name].columns or names
                    self._schemas[name] = SqlSchema(f"r_{len(self._schemas)}", names, kinds)
                    break
            else:
                query = self._queries[missing[0]]
                hint = "begin with a branch that does not read it: SELECT ... UNION SELECT ..."
                raise TidelogError(
                    [sql_mistake(f"every branch of `{query.name}` reads it", query.span, hint)]
                )

    def _resolved(self, tables: Mapping[str, SqlSchema | str]) -> dict[str, SqlSchema]:
        return {
            alias: each if isinstance(each, SqlSchema) else self._schemas[each]
            for alias, each in tables.items()
        }

    def _declarations(self) -> Iterator[str]:
        for schema in self._schemas.values():
            yield _declaration(schema.relation, schema)


def _declaration(relation: str, schema: SqlSchema) -> str:
    columns = ", ".join(f"c{place}: {kind.value}" for place, kind in enumerate(schema.kinds))
    return f".decl {relation}({columns})"


@contextmanager
def _spark_mistakes() -> Iterator[None]:
    """Raise what Spark says against a query as a diagnostic."""
    try:
        with quiet_queries():
            yield
    except java_errors() as cause:
        raise TidelogError([sql_mistake(f"Spark refuses a query: {java_reason(cause)}", None)]) from cause


def _session_of(frames: "Mapping[str, DataFrame]") -> "SparkSession":
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional package

    for name, frame in frames.items():
        if not is_frame(frame):
            message = f"`{name}` must be a Spark data frame, not a {type(frame).__name__}"
            raise TidelogError([Diagnostic("spark-frame", message)])
    found = next((frame.sparkSession for frame in frames.values()), None) or SparkSession.getActiveSession()
    if found is None:
        message, hint = "there is no active Spark session", "pass one: recursive_sql(query, spark=spark)"
        raise TidelogError([Diagnostic("spark-no-session", message, hint=hint)])
    return found
