"""Shortest paths and connected components, beside SciPy and rustworkx, and under change."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.aggregates.engines import Engine, chosen, none
from tidelog.engine.epoch import Strategy

Ints = npt.NDArray[np.int64]

SHORTEST = """
.type Length <: number
.lattice Length<> { Lub -> min(_, _) }
.decl edge(x: number, y: number, w: number)
.input edge
.decl dist(x: number, d: Length<>)
dist(0, 0).
dist(y, d + w) :- dist(x, d), edge(x, y, w).
"""
COMPONENTS = """
.type Label <: number
.lattice Label<> { Lub -> min(_, _) }
.decl edge(x: number, y: number, w: number)
.input edge
.decl node(x: number)
.input node
.decl comp(x: number, c: Label<>)
comp(x, as(x, Label)) :- node(x).
comp(y, c) :- comp(x, c), edge(x, y, _).
comp(x, c) :- comp(y, c), edge(x, y, _).
"""
PROBLEMS = {"shortest paths": (SHORTEST, "dist"), "components": (COMPONENTS, "comp")}


def graphs(data: Path | None, edges: int) -> Iterator[tuple[str, tuple[Ints, Ints, Ints]]]:
    """Yield graphs by name: those of the data folder, and random ones with a tenth as many nodes as edges."""
    random = np.random.default_rng(3)
    for name in ("gnp10K", "grid150"):
        path = None if data is None else data / "bigdatalog_graphs" / f"{name}.facts"
        if path is None or not path.exists():
            print(f"    {name}: not in the data folder; it is published with the BigDatalog experiments")
            continue
        pairs = np.unique(np.loadtxt(path, dtype=np.int64), axis=0)
        yield name, (pairs[:, 0].copy(), pairs[:, 1].copy(), random.integers(1, 100, len(pairs)))
    nodes = edges // 10
    pairs = np.unique(random.integers(0, nodes, (edges, 2)), axis=0)
    yield f"random {edges:,}", (pairs[:, 0].copy(), pairs[:, 1].copy(), random.integers(1, 100, len(pairs)))


def measure_graphs(data: Path | None, edges: int, repeats: int = 3) -> Iterator[dict[str, Any]]:
    """Yield CPU seconds of each problem on each graph, ours and theirs, and updates beside a recompute."""
    for graph, columns in graphs(data, edges):
        nodes = int(max(columns[0].max(), columns[1].max())) + 1
        for problem, (text, relation) in PROBLEMS.items():
            facts: dict[str, Any] = {"edge": list(columns)}
            if problem == "components":
                facts["node"] = [np.arange(nodes)]
            row: dict[str, Any] = {"graph": graph, "problem": problem, "edges": len(columns[0])}
            engines = [Engine(text, follows=False) for _ in range(repeats)]
            row["tidelog_s"] = min(engine.start(facts) for engine in engines)
            row["evaluate_s"] = min(engine.evaluate_seconds for engine in engines)
            for peer, run in PEERS[problem].items():
                row[f"{peer}_s"] = min(run(columns, nodes) for _ in range(repeats))
                row[f"over_{peer}"] = row["evaluate_s"] / row[f"{peer}_s"]
            row.update(_updates(text, facts, relation))
            yield row


def _updates(text: str, facts: Mapping[str, Any], relation: str) -> dict[str, Any]:
    """Return what deleting ten edges, and inserting them again, takes beside a recompute."""
    random = np.random.default_rng(11)
    engine = Engine(text)
    engine.start(facts)
    edges = facts["edge"]
    taken, whole, impact = [], [], []
    for number in range(20):
        some = chosen(edges, random.choice(len(edges[0]), 10, replace=False))
        size = engine.engine.size(relation)
        taken.append(engine.change("edge", none(edges), some))
        impact.append(abs(engine.engine.size(relation) - size))
        taken.append(engine.change("edge", some, none(edges)))
        if number < 3:
            whole.append(engine.change("edge", none(edges), some, Strategy.RECOMPUTE))
            engine.change("edge", some, none(edges), Strategy.RECOMPUTE)
    return {
        "ten_edges_ms": 1e3 * median(taken),
        "recompute_ms": 1e3 * median(whole),
        "recompute_over_ten": median(whole) / median(taken),
    }


# --- peers ---------------------------------------------------------------------------------

Edges = tuple[Ints, Ints, Ints]


def _scipy_matrix(edges: Edges, nodes: int) -> Any:
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - peers are loaded where they are measured

    return csr_matrix((edges[2], (edges[0], edges[1])), shape=(nodes, nodes))


def _scipy_shortest(edges: Edges, nodes: int) -> float:
    from scipy.sparse.csgraph import dijkstra  # noqa: PLC0415 - likewise

    start = time.process_time()
    dijkstra(_scipy_matrix(edges, nodes), indices=0)
    return time.process_time() - start


def _scipy_components(edges: Edges, nodes: int) -> float:
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - likewise

    start = time.process_time()
    connected_components(_scipy_matrix(edges, nodes), directed=False)
    return time.process_time() - start


def _rustworkx_graph(edges: Edges, nodes: int) -> Any:
    import rustworkx  # noqa: PLC0415 - likewise

    graph = rustworkx.PyDiGraph(multigraph=True)
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(list(zip(*(column.tolist() for column in edges), strict=True)))
    return graph


def _rustworkx_shortest(edges: Edges, nodes: int) -> float:
    import rustworkx  # noqa: PLC0415 - likewise

    start = time.process_time()
    rustworkx.dijkstra_shortest_path_lengths(_rustworkx_graph(edges, nodes), 0, float)
    return time.process_time() - start


def _rustworkx_components(edges: Edges, nodes: int) -> float:
    import rustworkx  # noqa: PLC0415 - likewise

    start = time.process_time()
    rustworkx.weakly_connected_components(_rustworkx_graph(edges, nodes))
    return time.process_time() - start


PEERS: dict[str, dict[str, Callable[[Edges, int], float]]] = {
    "shortest paths": {"scipy": _scipy_shortest, "rustworkx": _rustworkx_shortest},
    "components": {"scipy": _scipy_components, "rustworkx": _rustworkx_components},
}
