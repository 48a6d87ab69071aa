"""Frames of Spark Connect go in and out; in a process of its own, where no ordinary session is."""

import subprocess
import sys

import pytest

from support.spark_session import why_not

SCRIPT = '''
from pyspark.sql import SparkSession
import tidelog
from tidelog import TidelogError
from tidelog.spark import closure, connected_components, evaluate, recursive_sql

builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
try:
    edges = spark.createDataFrame([("a", "b"), ("b", "c"), ("c", "a"), ("x", "y")], "src string, dst string")
    assert "connect" in type(edges).__module__
    found = closure(edges, "src", "dst")
    assert "connect" in type(found).__module__
    print(sorted(map(tuple, found.where("src = 'x'").collect())), found.count())
    print(sorted(map(tuple, connected_components(edges, "src", "dst").collect())))
    query = """WITH RECURSIVE p(a, b) AS (
        SELECT src, dst FROM e UNION SELECT p.a, q.b FROM p JOIN p q ON p.b = q.a
    ) SELECT count(*) FROM p"""
    print(recursive_sql(query, {"e": edges}).collect()[0][0])
    declared = ".decl edge(src: symbol, dst: symbol)\\n.decl n(c: number)\\n.output n\\n"
    program = declared + "n(c) :- c = count : { edge(_, _) }."
    print(evaluate(program, {"edge": edges})["n"].collect()[0][0])
    with tidelog.open(program, facts={"edge": edges}) as db:
        print(db["n"].to_spark(spark).collect()[0][0])
    for wrong in (
        lambda: tidelog.open(program, engine="spark", spark=spark),
        lambda: evaluate(program, {"edge": edges}, spark_options={"partners": 2}),
        lambda: recursive_sql(query.replace("FROM e", "FROM nowhere"), {"e": edges}),
    ):
        try:
            wrong()
        except TidelogError as error:
            print(error.diagnostics[0].code)
finally:
    spark.stop()
'''


@pytest.mark.timeout(280)
def test_frames_of_spark_connect():
    """Functions over frames work, the engine `spark` is refused with a remedy, mistakes are diagnostics."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    pytest.importorskip("grpc", reason="Spark Connect: pip install 'pyspark[connect]'")

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=200
    )

    assert done.stdout.splitlines() == [
        "[('x', 'y')] 10",
        "[('a', 'a'), ('b', 'a'), ('c', 'a'), ('x', 'x'), ('y', 'x')]",
        "10",
        "4",
        "4",
        "spark-connect",
        "spark-connect",
        "recursive-sql",
    ], done.stderr[-3000:]
