"""Relational algebra as SQL, and what DuckDB makes of it."""

import json

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from test_algebra import PATHS, evaluated, rows

from support.programs import build
from support.strategies import RandomProgram, dense_programs, programs
from tidelog import TidelogError
from tidelog.algebra import Algebra, Dialect

LINES = """
.decl edge(x: number, y: number)
.decl two(x: number, y: number)
two(x, z + 1) :- edge(x, y), edge(y, z), z != 5, !edge(z, x).
"""


def run_query(query: str, tables: dict[str, pa.Table]) -> list[str]:
    """Return the rows that DuckDB gives for a query over tables, as texts."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        answer = connection.execute(query)
        names = [column[0] for column in answer.description]
        return sorted(repr(dict(zip(names, row, strict=True))) for row in answer.fetchall())


def refusal(algebra: Algebra, relation: str, dialect: Dialect = "duckdb") -> str:
    """Return the message with which the SQL of a relation is refused."""
    with pytest.raises(TidelogError) as caught:
        algebra.sql(relation, dialect)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "no-sql"
    return diagnostic.message


# --- the text --------------------------------------------------------------------------------------


def test_a_rule_is_one_select():
    """Scans are joined, constraints are conditions, a negated atom asks that there be no row."""
    (rule,) = build(LINES).algebra().rules.values()

    assert rule.sql() == (
        'SELECT DISTINCT t0."x" AS "x", CAST((t1."y" + 1) AS BIGINT) AS "y"\n'
        'FROM "edge" AS t0\n'
        'JOIN "edge" AS t1 ON t1."x" = t0."y"\n'
        'WHERE t1."y" <> 5\n'
        "  AND NOT EXISTS (\n"
        "    SELECT 1\n"
        '    FROM "edge" AS t2\n'
        '    WHERE t2."x" = t1."y"\n'
        '      AND t2."y" = t0."x"\n'
        "  )"
    )


def test_a_linear_recursion_is_a_recursive_query():
    """The rules that do not read the relation come first, those that do after them."""
    assert build(PATHS).algebra()["path"].sql() == (
        'WITH RECURSIVE "path"("x", "y") AS (\n'
        "  (\n"
        '    SELECT DISTINCT t0."x" AS "x", t0."y" AS "y"\n'
        '    FROM "edge" AS t0\n'
        "  )\n"
        "  UNION\n"
        "  (\n"
        '    SELECT DISTINCT t1."x" AS "x", t2."y" AS "y"\n'
        '    FROM "path" AS t1\n'
        '    JOIN "edge" AS t2 ON t2."x" = t1."y"\n'
        "  )\n"
        ")\n"
        'SELECT * FROM "path"'
    )


def test_texts_are_quoted():
    """Nothing in a program's texts ends a literal, and a literal has no line break."""
    text = 'it\'s\\n \n "b" \u2028é'
    program = build(f".decl s(x: symbol)\ns({json.dumps(text, ensure_ascii=False)}).")

    query = program.algebra().sql("s")

    assert run_query(query, {}) == [repr({"x": text})]
    assert len(query.split("\n")) == 4


# --- what DuckDB gives -----------------------------------------------------------------------------


def test_duckdb_runs_rules_and_fixpoints():
    """A query of an expression reads the relations it names as tables."""
    edges = pa.table({"x": [1, 2, 3], "y": [2, 3, 1]})
    algebra = build(PATHS).algebra()

    found = run_query(algebra["path"].sql(), {"edge": edges})

    assert found == rows(algebra["path"].evaluate({"edge": edges}))
    assert len(found) == 9


def test_input_facts_of_a_recursive_relation_are_its_table():
    """What a query defines is not called as the table that it reads."""
    algebra = build(".decl up(x: number)\n.input up\nup(x + 1) :- up(x), x < 3.").algebra()

    found = run_query(algebra.sql("up"), {"up": pa.table({"x": [1, 7]})})

    assert found == rows(pa.table({"x": [1, 2, 3, 7]}))


def test_a_converted_column_is_cast():
    """A number turned into a text is compared with texts."""
    algebra = build("""
        .decl n(x: number)
        .decl s(x: symbol)
        .decl r(x: number, y: float)
        r(x, itof(x)) :- n(x), s(to_string(x)).
    """).algebra()

    found = run_query(algebra.sql("r"), {"n": pa.table({"x": [1, 2]}), "s": pa.table({"x": ["2", "a"]})})

    assert found == [repr({"x": 2, "y": 2.0})]


def test_literals_are_computed_in_64_bits():
    """A variable that stands for a literal is a number like others, also with two signs before it."""
    algebra = build(".decl r(x: number, y: number)\nr(x * x, -y) :- x = 100000, y = -3 * 7 - -x.").algebra()

    assert run_query(algebra.sql("r"), {}) == [repr({"x": 10**10, "y": 21 - 10**5})]


def assert_duckdb_agrees(program: RandomProgram) -> None:
    """Compare every relation that has SQL with the reference engine."""
    duckdb = pytest.importorskip("duckdb")
    built, _, tables = evaluated(program)
    try:
        algebra = built.algebra()
    except TidelogError:
        assume(False)
    inputs = {name: tables[name] for name in program.inputs}
    compared = 0
    for relation in built.relations:
        try:
            query = algebra.sql(relation)
        except TidelogError as error:
            assert [each.code for each in error.diagnostics] == ["no-sql"]  # noqa: PT017 - most have SQL
            continue
        try:
            found = run_query(query, inputs)
        except duckdb.OutOfRangeException:
            # A number wraps, and a BIGINT does not.
            continue
        assert found == rows(tables[relation]), query
        compared += 1
    assume(compared)


@settings(max_examples=60)
@given(program=programs(column_types=("number", "symbol"), max_facts=5))
def test_duckdb_agrees_with_the_reference_engine(program: RandomProgram):
    """Numbers and symbols through joins, negation, aggregates and recursion: the same facts."""
    assert_duckdb_agrees(program)


@settings(max_examples=40)
@given(program=dense_programs())
def test_duckdb_agrees_where_most_rules_derive(program: RandomProgram):
    """The same over numbers, with more facts."""
    assert_duckdb_agrees(program)


# --- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            ".decl r(x: number, y: number)\nr(1, 2). r(x, z) :- r(x, y), r(y, z).",
            "recursion that reads `r` twice or in an aggregate",
        ),
        (
            ".decl r(x: number)\n.decl s(x: number)\nr(1). r(x) :- s(x). s(x) :- r(x).",
            "recursion through `r` and `s` together",
        ),
        (".decl r()\nr().", "a relation without columns"),
        (".decl r(x: number)\nr(x) :- x = range(0, 3).", "`range`"),
        (".type P = [a: number]\n.decl p(x: P)\n.decl r(x: number)\nr(a) :- p([a]).", "taking records"),
        ('.decl s(x: symbol)\n.decl r(x: symbol)\nr(x) :- s(x), match("a.*", x).', '`match("a.*", x)`'),
        (".decl r(x: number)\n.decl R(x: number)\nr(x) :- R(x).", "`R` and `r`"),
    ],
)
def test_what_has_no_sql_is_refused(text: str, reason: str):
    """The message says what has no SQL, and why a recursion has none."""
    assert reason in refusal(build(text).algebra(), "r")


def test_spark_has_no_unsigned():
    """A type that a dialect does not have is refused there alone."""
    algebra = build(".decl r(x: unsigned)\nr(1u).").algebra()

    assert "UBIGINT" in algebra.sql("r")
    assert "unsigned in the dialect spark" in refusal(algebra, "r", "spark")


def test_dialects_and_relations_are_known():
    """A misspelt dialect or relation is a mistake."""
    algebra = build(PATHS).algebra()

    with pytest.raises(TidelogError, match="duckdb or spark"):
        algebra["path"].sql("sqlite")
    with pytest.raises(TidelogError, match="did you mean `path`"):
        algebra.sql("paht")
