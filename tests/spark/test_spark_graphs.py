"""Questions about graphs in data frames: the answers of plain Python, and of the reference engine."""

import random
from collections.abc import Callable, Iterable

import pytest

import tidelog
from tidelog import TidelogError
from tidelog.spark import closure, connected_components, reachable_from, shortest_paths

Edge = tuple[object, object]

REFERENCE = """
.decl edge(x: {kind}, y: {kind})
.decl path(x: {kind}, y: {kind})
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
.decl same(x: {kind}, y: {kind})
same(x, x) :- edge(x, _).
same(y, y) :- edge(_, y).
same(x, y) :- edge(x, y).
same(y, x) :- edge(x, y).
same(x, z) :- same(x, y), same(y, z).
.decl part(x: {kind}, least: {kind})
part(x, least) :- same(x, least), ! smaller(x, least).
.decl smaller(x: {kind}, y: {kind})
smaller(x, y) :- same(x, y), same(x, z), z < y.
"""


def graph(seed: int, name: Callable[[int], object]) -> list[Edge]:
    """Return a random graph with cycles, edges to themselves and edges that are there twice."""
    chosen = random.Random(seed)  # noqa: S311 - the same graph every time
    edges = [(name(chosen.randrange(12)), name(chosen.randrange(12))) for _ in range(14)]
    return [*edges, edges[0]]


def distances(edges: Iterable[tuple[object, object, float]], start: object) -> dict[object, float]:
    """Return the shortest distances from a node, by Bellman and Ford."""
    found = {start: 0}
    for _ in range(20):
        for x, y, weight in edges:
            if x in found and found[x] + weight < found.get(y, float("inf")):
                found[y] = found[x] + weight
    return found


def reached(edges: Iterable[Edge], starts: Iterable[object]) -> set[object]:
    """Return the nodes one or more edges away."""
    edges = list(edges)
    found: set[object] = set()
    fresh = set(starts)
    while fresh:
        fresh = {y for x, y in edges if x in fresh} - found
        found |= fresh
    return found


def rows(frame):
    """Return the rows of a frame as a list without order; each must be there once."""
    found = [tuple(row) for row in frame.collect()]
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.parametrize(("seed", "kind"), [(1, "number"), (2, "symbol"), (3, "number"), (4, "symbol")])
def test_answers_are_those_of_python_and_of_the_reference_engine(spark, seed, kind):
    """Closure, reachable nodes, components and distances of random graphs are exact."""
    edges = graph(seed, int if kind == "number" else lambda n: f"n{n:02}")
    column = "int" if kind == "number" else "string"
    frame = spark.createDataFrame(edges, f"a {column}, b {column}")
    nodes = {node for edge in edges for node in edge}
    start = min(nodes)

    pairs = rows(closure(frame, "a", "b"))
    below = rows(reachable_from(frame, "a", "b", [start]))
    parts = rows(connected_components(frame, "a", "b"))
    lengths = rows(shortest_paths(frame, "a", "b"))

    with tidelog.open(REFERENCE.format(kind=kind), engine="reference", facts={"edge": edges}) as db:
        assert pairs == set(db["path"])
        assert parts == set(db["part"])
    assert pairs == {(x, y) for x in nodes for y in reached(edges, [x])}
    assert below == {(y,) for y in reached(edges, [start])}
    weighted = [(x, y, 1) for x, y in edges]
    assert lengths == {(x, y, d) for x in nodes for y, d in distances(weighted, x).items()}


@pytest.mark.parametrize("weight", ["int", "double"])
def test_weights(spark, weight):
    """The length of a path is the sum of its weights, integers or floats, negative ones too."""
    chosen = random.Random(5)  # noqa: S311 - the same graph every time
    edges = [(x, y, chosen.randrange(0, 9) + (0.5 if weight == "double" else 0)) for x, y in graph(5, int)]
    edges = [*edges, (100, 101, 5), (101, 102, -2), (100, 102, 4)]
    edges = [(x, y, float(w) if weight == "double" else w) for x, y, w in edges]
    frame = spark.createDataFrame(edges, f"a bigint, b bigint, w {weight}")
    starts = spark.createDataFrame([(edges[0][0],), (100,)], "s bigint")

    found = shortest_paths(frame, "a", "b", "w", starts=starts)

    assert found.columns == ["a", "b", "distance"]
    expected = {(s, y, d) for s in (edges[0][0], 100) for y, d in distances(edges, s).items()}
    assert rows(found) == expected


def test_partners_give_the_same(spark):
    """Options are those of `evaluate`: the recursion may run on workers."""
    frame = spark.createDataFrame(graph(6, int), "a int, b int")

    spread = closure(frame, "a", "b", spark_options={"driver_facts": -1, "partners": 2})

    assert rows(spread) == rows(closure(frame, "a", "b"))


def test_no_edges(spark):
    """A graph without edges has no paths and no components."""
    frame = spark.createDataFrame([], "a string, b string")

    assert rows(closure(frame, "a", "b")) == set()
    assert rows(connected_components(frame, "a", "b")) == set()
    assert rows(shortest_paths(frame, "a", "b", starts=["x"])) == {("x", "x", 0)}


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda frame: closure(frame, "a", "bb"), "the edges have no column `bb`"),
        (lambda frame: closure(frame, "a", "n"), "`a` holds a symbol and `n` a number"),
        (lambda frame: closure(frame, "a", "day"), "column `day` of the edges has the type date"),
        (lambda _: closure([("a", "b")], "a", "b"), "the edges must be a Spark data frame, not a list"),
        (lambda frame: shortest_paths(frame, "a", "b", "c"), "the weight `c` is a string"),
        (lambda frame: reachable_from(frame, "a", "b", frame), "starts must have one column"),
        (lambda frame: reachable_from(frame, "a", "b", frame.select("n")), "starts hold a number"),
        (lambda frame: closure(frame, "a", "c"), "is null"),
        (lambda frame: shortest_paths(frame, "n", "n", "w"), "improve"),
    ],
)
def test_mistakes(spark, ask, words):
    """Columns that are not there, types that cannot be nodes, nulls and negative cycles are diagnostics."""
    frame = spark.sql("SELECT 'x' a, 'y' b, string(null) c, 1 n, -1 w, date'2020-01-01' day")

    with pytest.raises(TidelogError, match=words):
        ask(frame)
