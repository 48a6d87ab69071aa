"""Programs and recursion over data frames, and what sessions on Spark offer beside the rest."""

from typing import TYPE_CHECKING

from tidelog.lazily import lazily

if TYPE_CHECKING:
    from tidelog.engine.spark import SparkOptions, Tls
    from tidelog.spark.evaluation import evaluate
    from tidelog.spark.graphs import closure, connected_components, reachable_from, shortest_paths
    from tidelog.spark.once import apply_once
    from tidelog.spark.recursive import recursive_sql

__all__ = [
    "SparkOptions",
    "Tls",
    "apply_once",
    "closure",
    "connected_components",
    "evaluate",
    "reachable_from",
    "recursive_sql",
    "shortest_paths",
]

_GRAPHS = ("closure", "connected_components", "reachable_from", "shortest_paths")
_HOMES = {
    **dict.fromkeys(("SparkOptions", "Tls"), "tidelog.engine.spark"),
    **dict.fromkeys(_GRAPHS, "tidelog.spark.graphs"),
    "apply_once": "tidelog.spark.once",
    "evaluate": "tidelog.spark.evaluation",
    "recursive_sql": "tidelog.spark.recursive",
}

__getattr__ = lazily(__name__, _HOMES)
