"""`python -m benchmarks recursion`: recursion over data frames beside what Spark itself offers.

Every question is asked of `tidelog.spark`, of Spark's own `WITH RECURSIVE`, and of a loop of joins as people
write it; each once to warm up and then as often as asked for. Medians of wall and CPU seconds are printed
with the number of rows, or what a peer said in its place.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from benchmarks.pipeline.command import cpu_seconds, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LINEAR: Final = """
WITH RECURSIVE path(src, dst) AS (
    SELECT src, dst FROM edge {union} SELECT p.src, e.dst FROM path p JOIN edge e ON p.dst = e.src
) SELECT src, dst FROM path
"""
NON_LINEAR: Final = """
WITH RECURSIVE path(src, dst) AS (
    SELECT src, dst FROM edge {union} SELECT p.src, q.dst FROM path p JOIN path q ON p.dst = q.src
) SELECT src, dst FROM path
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--repeat", type=int, default=3, help="runs after the first")
    parser.add_argument("--depth", type=int, default=13, help="levels of the tree")
    parser.add_argument("--nodes", type=int, default=20_000, help="of the graphs with cycles")


def run_recursion(options: argparse.Namespace) -> int:
    """Measure and print; return 0."""
    with spark_session() as spark:
        for graph, edges in _graphs(options):
            frame = spark.createDataFrame(edges, "src int, dst int").cache()
            frame.createOrReplaceTempView("edge")
            frame.count()
            for what, ask in _questions(spark, graph, frame):
                print(
                    f"| {graph}, {len(edges):,} edges | {what} | {_measure(ask, options.repeat)} |",
                    flush=True,
                )
            frame.unpersist()
    return 0


def _graphs(options: argparse.Namespace) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    chosen = random.Random(1)  # noqa: S311 - the same graphs every time
    yield "tree", [(node // 2, node) for node in range(2, 2**options.depth)]
    nodes = options.nodes // 20
    yield (
        "small graph with cycles",
        [(chosen.randrange(nodes), chosen.randrange(nodes)) for _ in range(nodes * 2)],
    )
    nodes = options.nodes
    yield "graph with cycles", [(chosen.randrange(nodes), chosen.randrange(nodes)) for _ in range(nodes * 3)]


def _questions(spark: Any, graph: str, frame: "DataFrame") -> Iterator[tuple[str, Callable[[], int]]]:
    from tidelog.spark import closure, connected_components, recursive_sql  # noqa: PLC0415 - brings Spark

    if graph != "graph with cycles":
        yield "closure: tidelog.spark.closure", lambda: closure(frame, "src", "dst").count()
        yield "closure: recursive_sql, linear", lambda: recursive_sql(LINEAR.format(union="UNION")).count()
        yield (
            "closure: recursive_sql, non-linear",
            lambda: recursive_sql(NON_LINEAR.format(union="UNION")).count(),
        )
        yield "closure: Spark, linear, UNION ALL", lambda: spark.sql(LINEAR.format(union="UNION ALL")).count()
        yield "closure: Spark, linear, UNION", lambda: spark.sql(LINEAR.format(union="UNION")).count()
        yield "closure: Spark, non-linear", lambda: spark.sql(NON_LINEAR.format(union="UNION ALL")).count()
        yield "closure: a loop of joins", lambda: _closure_loop(frame)
    if graph != "tree":
        yield "components: tidelog.spark", lambda: connected_components(frame, "src", "dst").count()
        yield "components: a loop of joins", lambda: _components_loop(frame)


def _closure_loop(edges: "DataFrame") -> int:
    """Return the size of the closure by joins and differences, until nothing is new."""
    known = edges.distinct().localCheckpoint()
    fresh = known
    while not fresh.isEmpty():
        step = (
            fresh.withColumnRenamed("dst", "mid").join(edges.toDF("mid", "dst"), "mid").select("src", "dst")
        )
        fresh = step.distinct().exceptAll(known).localCheckpoint()
        known = known.union(fresh).localCheckpoint()
    return int(known.count())


def _components_loop(edges: "DataFrame") -> int:
    """Return the number of nodes, each labelled with the least one it is connected with."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as everybody calls it

    both = edges.union(edges.select("dst", "src")).distinct().localCheckpoint()
    labels = both.groupBy("src").agg(F.least(F.col("src"), F.min("dst")).alias("label")).localCheckpoint()
    while True:
        near = both.join(labels.toDF("dst", "other"), "dst").groupBy("src").agg(F.min("other").alias("other"))
        after = (
            labels.join(near, "src").select("src", F.least("label", "other").alias("label")).localCheckpoint()
        )
        if after.agg(F.sum("label")).collect() == labels.agg(F.sum("label")).collect():
            return int(after.count())
        labels = after


def _measure(ask: Callable[[], int], repeat: int) -> str:
    from tidelog.engine.spark.java_errors import java_errors, java_reason, quiet_queries  # noqa: PLC0415

    walls, cpus, rows = [], [], 0
    for _ in range(repeat + 1):
        wall, cpu = time.perf_counter(), cpu_seconds()
        try:
            with quiet_queries():
                rows = ask()
        except java_errors() as error:
            return f"refused: {java_reason(error)[:160]} | | "
        walls.append(time.perf_counter() - wall)
        cpus.append(cpu_seconds() - cpu)
    return f"{rows:,} | {statistics.median(walls[1:]):.2f} | {statistics.median(cpus[1:]):.2f}"
