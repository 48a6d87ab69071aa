"""`WITH RECURSIVE` with set semantics: the answers of SQLite, of plain Python and of the reference engine."""

import random
import sqlite3

import pytest

import tidelog
from tidelog import TidelogError
from tidelog.spark import recursive_sql
from tidelog.spark.sql_query import parse_query, tables_of
from tidelog.spark.sql_rules import SqlSchema, write_rules
from tidelog.spark.sql_select import parse_select
from tidelog.values import Kind

# Each is linear and free of what only one of the two has, so that SQLite can answer it too.
SHARED = {
    "closure": """
        WITH RECURSIVE path(a, b) AS (
            SELECT a, b FROM edge UNION SELECT p.a, e.b FROM path p JOIN edge e ON p.b = e.a
        ) SELECT * FROM path""",
    "conditions": """
        WITH RECURSIVE walk(node, steps) AS (
            SELECT a, 0 FROM edge WHERE a < 3
            UNION
            SELECT e.b, w.steps + 1 FROM walk AS w, edge e
            WHERE w.node = e.a AND w.steps < 5
                AND (e.w BETWEEN 2 AND 7 OR NOT (e.b <> 4 AND e.b IN (1, 2, 3)))
        ) SELECT node, max(steps) FROM walk GROUP BY node""",
    "arithmetic": """
        WITH RECURSIVE n(i, j) AS (
            SELECT 1, 1 UNION SELECT i + 1, (j * 3 - i) % 7 FROM n WHERE i < 30 AND -j < 5
        ) SELECT * FROM n""",
    "texts": """
        WITH RECURSIVE t(node, way) AS (
            SELECT a, '/' FROM edge WHERE a = 0
            UNION
            SELECT e.b, t.way || CAST(e.b AS STRING) || '"\\' FROM t JOIN edge e ON t.node = e.a
            WHERE t.way < '/5' AND e.b > t.node
        ) SELECT * FROM t""",
    "inner query": """
        WITH RECURSIVE heavy AS (SELECT a, b FROM edge WHERE w > 3),
        path AS (
            SELECT a, b FROM heavy
            UNION
            SELECT p.a, h.b FROM path p CROSS JOIN (SELECT DISTINCT a, b FROM heavy) h WHERE h.a = p.b
        ) SELECT count(*) FROM path""",
    "two recursions": """
        WITH RECURSIVE up(x) AS (SELECT 0 UNION SELECT e.b FROM up JOIN edge e ON up.x = e.a),
        down(x) AS (SELECT x FROM up WHERE x > 5 UNION SELECT e.a FROM down d JOIN edge e ON d.x = e.b)
        SELECT x FROM down WHERE x IN (SELECT x FROM up)""",
}

NON_LINEAR = """
WITH RECURSIVE path(a, b) AS (
    SELECT a, b FROM edge UNION SELECT p.a, q.b FROM path p JOIN path q ON p.b = q.a
) SELECT a, b FROM path
"""

MUTUAL = """
WITH RECURSIVE odd(a, b) AS (
    SELECT x.a, e.b FROM even x JOIN edge e ON x.b = e.a UNION SELECT a, b FROM edge
),
even(a, b) AS (SELECT o.a, e.b FROM odd o JOIN edge e ON o.b = e.a)
SELECT 'odd', a, b FROM odd UNION ALL SELECT 'even', a, b FROM even
"""


def edges(seed: int) -> list[tuple[int, int, int]]:
    """Return a random graph with weights."""
    chosen = random.Random(seed)  # noqa: S311 - the same graph every time
    return [(chosen.randrange(10), chosen.randrange(10), chosen.randrange(10)) for _ in range(18)]


def rows(frame):
    """Return the rows of a frame in order."""
    return sorted(tuple(row) for row in frame.collect())


@pytest.mark.parametrize("name", SHARED)
def test_linear_recursion_is_as_in_sqlite(spark, name):
    """Queries that SQLite can answer have the same answers, over a frame or a temporary view."""
    facts = edges(len(name))
    frame = spark.createDataFrame(facts, "a int, b int, w int")
    other = sqlite3.connect(":memory:")
    other.execute("CREATE TABLE edge(a, b, w)")
    other.executemany("INSERT INTO edge VALUES (?, ?, ?)", facts)
    query = SHARED[name]
    expected = sorted(other.execute(query.replace("STRING", "TEXT").replace("\\\\", "\\")))
    other.close()

    found = recursive_sql(query.replace('"\\', '"\\\\'), {"edge": frame})

    assert rows(found) == expected


@pytest.mark.parametrize("options", [{}, {"driver_facts": -1, "partners": 2}])
def test_a_query_may_join_itself(spark, options):
    """Non-linear recursion is complete, in the driver and on workers; no view is left behind."""
    facts = edges(7)
    spark.createDataFrame(facts, "a int, b int, w int").createOrReplaceTempView("edge")
    before = {table.name for table in spark.catalog.listTables()}

    found = rows(recursive_sql(NON_LINEAR, spark=spark, spark_options=options))

    reference = """
        .decl edge(a: number, b: number, w: number)
        .decl path(a: number, b: number)
        path(a, b) :- edge(a, b, _).
        path(a, c) :- path(a, b), path(b, c)."""
    with tidelog.open(reference, engine="reference", facts={"edge": facts}) as db:
        assert found == sorted(db["path"])
    assert {table.name for table in spark.catalog.listTables()} == before
    spark.catalog.dropTempView("edge")


def test_queries_may_read_each_other(spark):
    """Paths of odd and of even length in a cycle; the second query has no rows of its own to begin with."""
    facts = [(0, 1, 0), (1, 2, 0), (2, 0, 0), (5, 6, 0)]

    found = rows(recursive_sql(MUTUAL, {"edge": spark.createDataFrame(facts, "a int, b int, w int")}))

    lengths = {(a, b, n) for a in range(3) for n in range(1, 10) for b in [(a + n) % 3]} | {(5, 6, 1)}
    assert found == sorted({("odd" if n % 2 else "even", a, b) for a, b, n in lengths})


def test_floats(spark):
    """Integers become floats beside floats, and division gives one."""
    query = """WITH RECURSIVE half(x) AS (SELECT double(8) UNION SELECT x / 2 FROM half WHERE x > 1)
        SELECT x FROM half"""

    assert rows(recursive_sql(query, spark=spark)) == [(1.0,), (2.0,), (4.0,), (8.0,)]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT 1", "does not begin with WITH RECURSIVE"),
        ("WITH RECURSIVE t AS (SELECT 1 UNION SELECT x FROM t", "this bracket is never closed"),
        ("WITH RECURSIVE t AS (SELECT 1)", "a query over the named ones is missing"),
        ("WITH RECURSIVE t AS (SELECT 1), t AS (SELECT 2) SELECT 1", "two queries are called `t`"),
        ("WITH RECURSIVE t AS () SELECT 1", "the query `t` is empty"),
        ("WITH RECURSIVE t (SELECT 1) SELECT 1", "AS is expected here"),
        ("WITH RECURSIVE t AS (SELECT 1 ? 2) SELECT 1", r"`\?` is not expected here"),
    ],
)
def test_queries_that_cannot_be_read(query, words):
    """A query that is not `WITH RECURSIVE` over named queries is told, at its place."""
    with pytest.raises(TidelogError, match=words):
        parse_query(query)


@pytest.mark.parametrize(
    ("branch", "words"),
    [
        ("SELECT a FROM t GROUP BY a", "GROUP cannot be part of a recursive branch"),
        ("SELECT a FROM t LEFT JOIN e ON t.a = e.a", "LEFT cannot be part"),
        ("SELECT max(a) FROM t", "`max` is an aggregate"),
        ("SELECT upper(a) FROM t", "the function `upper` cannot be part"),
        ("SELECT CASE WHEN 1 = 1 THEN 2 END FROM t", "CASE cannot be part"),
        ("SELECT a FROM t WHERE a LIKE 'x'", "a comparison is expected here"),
        ("SELECT a FROM t WHERE a IN (SELECT 1)", "IN takes values here"),
        ("SELECT a FROM t WHERE EXISTS (SELECT 1)", "EXISTS cannot be part"),
        ("SELECT (SELECT 1) FROM t", "a query cannot be a value here"),
        ("SELECT a FROM (SELECT * FROM t) x", "an inner query reads `t`"),
        ("SELECT a FROM t, t", "two tables are called `t`"),
        ("SELECT a FROM explode(x), t", "functions that make tables"),
        ("SELECT b FROM t", "there is no column `b`"),
        ("SELECT a FROM t, t u", "several tables have a column `a`"),
        ("SELECT u.* FROM t", "there is no table `u`"),
        ("SELECT a, a FROM t", "this branch has 2 columns"),
        ("SELECT 'x' FROM t", "is an integer in the first branch and a string here"),
        ("SELECT a FROM t WHERE a = 'x'", "a string and an integer cannot be compared"),
        ("SELECT a + 'x' FROM t", "takes numbers"),
        ("SELECT CAST('1' AS INT) FROM t", "a string cannot be cast to an integer"),
        ("SELECT CAST(a AS DATE) FROM t", "`DATE` is not a type"),
        ("SELECT 99999999999999999999 FROM t", "beyond the range"),
        ("SELECT a FROM t u(x, y)", "`u` has 1 columns, not 2"),
    ],
)
def test_branches_that_cannot_recurse(branch, words):
    """What a recursive branch cannot have is told at its place, before Spark does anything."""
    tokens = parse_query(f"WITH RECURSIVE t(a) AS ({branch}) SELECT 1").named[0].tokens
    schema = SqlSchema("r", ("a",), (Kind.NUMBER,))

    def translate() -> None:
        select = parse_select(tokens, ["t"])
        list(write_rules(schema, select, {table.alias: schema for table in select.tables}))

    with pytest.raises(TidelogError, match=words) as raised:
        translate()

    assert all(each.code == "recursive-sql" and each.span for each in raised.value.diagnostics)


def test_other_mistakes(spark):
    """Bags instead of sets, queries without a beginning and tables that are not there are diagnostics."""
    cases = [
        (NON_LINEAR.replace("UNION", "UNION ALL"), "UNION ALL keeps equal rows"),
        ("WITH RECURSIVE t(a) AS (SELECT a FROM t) SELECT * FROM t", "every branch of `t` reads it"),
        (NON_LINEAR.replace("FROM edge", "FROM edgy"), "Spark refuses a query"),
        (NON_LINEAR.replace("FROM path\n", "FROM pat\n"), "Spark refuses a query"),
        (
            NON_LINEAR.replace("SELECT a, b FROM edge", "SELECT a FROM edge"),
            "has 2 columns, and this branch has 1",
        ),
        (
            NON_LINEAR.replace("SELECT a, b FROM edge", "SELECT a, date'2020-01-01' FROM edge"),
            "the type date",
        ),
    ]
    frame = spark.createDataFrame([(1, 2)], "a int, b int")

    for query, words in cases:
        with pytest.raises(TidelogError, match=words):
            recursive_sql(query, {"edge": frame})
    with pytest.raises(TidelogError, match="`edge` must be a Spark data frame, not a list"):
        recursive_sql(NON_LINEAR, {"edge": [(1, 2)]})


def test_names_of_tables():
    """Tables are what stands after FROM and JOIN; columns and aliases of the same name are not."""
    text = (
        "SELECT t.a, u FROM a AS t, (SELECT u FROM b WHERE c IN (SELECT 1 FROM d)) x JOIN e ON f = g, h.i, j"
    )
    query = parse_query(f"WITH RECURSIVE q AS ({text}) SELECT 1").named[0]

    assert [token.value for token in tables_of(query.tokens)] == ["a", "b", "d", "e", "j"]
