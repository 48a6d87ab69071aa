"""Relational algebra as SQL that Spark runs."""

import tidelog

PROGRAM = """
.decl edge(x: number, y: number)
.decl name(x: number, text: symbol)
.decl path(x: number, y: number)
.decl back(x: number, y: number)
.decl last(x: number, text: symbol)
.decl out(x: number, n: number)
.decl most(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
back(y / 2 - 7 % x, x) :- path(x, y), x + y != 5.
last(y, cat("it's ", text)) :- path(_, y), !edge(y, _), name(y, text), contains("d", text).
out(x, n) :- edge(x, _), n = count : { path(x, _) }.
out(x, n) :- edge(x, _), n = sum y : { path(x, y), y < x + 2 }.
most(x, y) :- edge(x, _), y = max z : { path(x, z), z > x }.
"""
FACTS = {
    "edge": [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)],
    "name": [(4, "d"), (5, "é d\\"), (5, "e")],
}


def test_spark_runs_what_the_algebra_writes(spark):
    """Joins, negation, aggregates and linear recursion have the facts that a session has.

    The graph has two ways to some nodes, which Spark's recursion finds twice and aggregates must not.
    """
    with tidelog.open(PROGRAM, facts=FACTS, engine="reference") as db:
        algebra = db.program.algebra()
        for name in FACTS:
            db[name].to_spark(spark).createOrReplaceTempView(name)

        for name in ("path", "back", "last", "out", "most"):
            frame = spark.sql(algebra.sql(name, dialect="spark"))

            assert frame.columns == list(db[name].columns)
            assert sorted(tuple(row) for row in frame.collect()) == sorted(db[name])
