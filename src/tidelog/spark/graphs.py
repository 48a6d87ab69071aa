"""Questions about graphs in data frames, for people who write no Datalog.

Every function takes a frame of edges and the names of two columns of it, and returns a frame. Nodes are
integers or strings. Further options are those of `evaluate`: `spark_options`, `iteration_limit`, ...
"""

from typing import TYPE_CHECKING, Any, Final

from tidelog.errors import Diagnostic, TidelogError
from tidelog.spark.columns import as_relation, find_columns, is_frame, kinds_of, quoted
from tidelog.spark.evaluation import evaluate
from tidelog.values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

_CLOSURE: Final = """
.decl edge(c0: NODE, c1: NODE)
.decl path(c0: NODE, c1: NODE)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
_REACHABLE: Final = """
.decl edge(c0: NODE, c1: NODE)
.decl start(c0: NODE)
.decl reached(c0: NODE)
.output reached
reached(y) :- start(x), edge(x, y).
reached(y) :- reached(x), edge(x, y).
"""
# The least number of all nodes that are connected finds its way to each of them.
_COMPONENTS: Final = """
.type Label <: number
.lattice Label<> { Lub -> min(_, _) }
.decl edge(c0: NODE, c1: NODE)
.decl part(c0: NODE, c1: Label<>)
.output part
part(x, as(NUMBER, Label)) :- edge(x, _).
part(x, as(NUMBER, Label)) :- edge(_, x).
part(y, c) :- part(x, c), edge(x, y).
part(x, c) :- part(y, c), edge(x, y).
"""
_DISTANCES: Final = """
.type Length <: WEIGHT
.lattice Length<> { Lub -> min(_, _) }
.decl edge(c0: NODE, c1: NODE, c2: WEIGHT)
.decl start(c0: NODE)
.decl distance(c0: NODE, c1: NODE, c2: Length<>)
.output distance
distance(s, s, as(ZERO, Length)) :- start(s).
distance(s, y, d + w) :- distance(s, x, d), edge(x, y, w).
"""


def closure(edges: "DataFrame", src: str, dst: str, **options: Any) -> "DataFrame":
    """Return every pair of nodes with a path of one or more edges from the first to the second.

    The frame has the columns `src` and `dst`, and each pair once, however many paths there are; cycles
    do no harm.

        closure(edges, "src", "dst").where("src = 'ann'").show()
    """
    graph, node = _graph(edges, src, dst)
    found = evaluate(_text(_CLOSURE, NODE=node), {"edge": graph}, **options)["path"]
    return found.toDF(src, dst)


def reachable_from(
    edges: "DataFrame", src: str, dst: str, starts: "DataFrame | Iterable[object]", **options: Any
) -> "DataFrame":
    """Return the nodes that a path of one or more edges leads to from any of `starts`.

    `starts` is a frame with one column, or values. The frame has one column, `node`.

        reachable_from(edges, "src", "dst", ["ann"]).show()
    """
    graph, node = _graph(edges, src, dst)
    frames = {"edge": graph, "start": _nodes("starts", starts, node)}
    return evaluate(_text(_REACHABLE, NODE=node), frames, **options)["reached"].toDF("node")


def connected_components(edges: "DataFrame", src: str, dst: str, **options: Any) -> "DataFrame":
    """Return the component of every node: nodes share one if edges connect them, in either direction.

    The frame has the columns `node` and `component`, which is the least node of the component. A node
    without neighbours is in the answer if it has an edge to itself.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as everybody calls it

    graph, node = _graph(edges, src, dst)
    number = "x" if node is Kind.NUMBER else "ord(x)"
    found = evaluate(_text(_COMPONENTS, NODE=node, NUMBER=number), {"edge": graph}, **options)["part"]
    found = found.toDF("node", "part")
    if node is Kind.NUMBER:
        return found.withColumnRenamed("part", "component")
    least = found.groupBy("part").agg(F.min("node").alias("component"))
    return found.join(least, "part").select("node", "component")


def shortest_paths(
    edges: "DataFrame",
    src: str,
    dst: str,
    weight: str | None = None,
    *,
    starts: "DataFrame | Iterable[object] | None" = None,
    **options: Any,
) -> "DataFrame":
    """Return the length of the shortest path from every start to every node that it reaches.

    The frame has the columns `src`, `dst` and `distance`, which is 0 from a start to itself. A path's
    length is the sum of the column `weight`, or the number of its edges. Without `starts` every node is
    one. Weights may be negative, cycles of them may not.

        shortest_paths(roads, "from", "to", "miles", starts=["Rome"]).orderBy("distance").show()
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as everybody calls it

    graph, node = _graph(edges, src, dst, weight)
    length = Kind.NUMBER
    if weight is None:
        graph = graph.withColumn("c2", F.lit(1).cast("bigint"))
    else:
        (length,) = kinds_of("the edges", edges, find_columns("the edges", edges, [weight]))
        if length is Kind.SYMBOL:
            raise TidelogError([_no_weight(weight)])
    found: DataFrame | list[tuple[object]]
    if starts is None:
        found = graph.select("c0").union(graph.select("c1")).distinct()
    else:
        found = _nodes("starts", starts, node)
    zero = "0" if length is Kind.NUMBER else "0.0"
    text = _text(_DISTANCES, NODE=node, WEIGHT=length, ZERO=zero)
    answer = evaluate(text, {"edge": graph, "start": found}, **options)["distance"]
    return answer.toDF(src, dst, "distance")


def _text(program: str, **words: object) -> str:
    """Return a program with words in capitals replaced."""
    for name, word in words.items():
        program = program.replace(name, word.value if isinstance(word, Kind) else str(word))
    return program


def _graph(edges: "DataFrame", src: str, dst: str, weight: str | None = None) -> "tuple[DataFrame, Kind]":
    """Return the edges as a relation, and the kind of their nodes."""
    wanted = [src, dst] if weight is None else [src, dst, weight]
    names = find_columns("the edges", edges, wanted)
    kinds = kinds_of("the edges", edges, names)
    if kinds[0] is not kinds[1]:
        message = f"`{src}` holds a {kinds[0].value} and `{dst}` a {kinds[1].value}"
        hint = "both ends of an edge are nodes of one graph: cast one column to the type of the other"
        raise TidelogError([Diagnostic("spark-frame", message, hint=hint)])
    return as_relation(edges, names, kinds), kinds[0]


def _nodes(what: str, nodes: "DataFrame | Iterable[object]", kind: Kind) -> "DataFrame | list[tuple[object]]":
    """Return nodes as a relation with one column."""
    if not is_frame(nodes):
        return [(node,) for node in nodes]  # type: ignore[union-attr]
    frame: DataFrame = nodes  # type: ignore[assignment]
    if len(frame.columns) != 1:
        message = f"{what} must have one column, and have {', '.join(map(quoted, frame.columns)) or 'none'}"
        raise TidelogError([Diagnostic("spark-frame", message, hint="select the column with the nodes")])
    kinds = kinds_of(what, frame, frame.columns)
    if kinds[0] is not kind:
        message = f"{what} hold a {kinds[0].value}, and the nodes of the graph are a {kind.value}"
        raise TidelogError([Diagnostic("spark-frame", message, hint="cast the column")])
    return as_relation(frame, frame.columns, kinds)


def _no_weight(name: str) -> Diagnostic:
    return Diagnostic(
        code="spark-frame",
        message=f"the weight `{name}` is a string",
        hint="a weight is an integer or a float",
    )
