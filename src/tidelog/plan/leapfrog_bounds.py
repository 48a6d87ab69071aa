"""The shape of a body, and the largest number of bindings it can have.

A body is seen as a hypergraph: variables are vertices, atoms are edges.
"""

import math
from collections.abc import Iterable, Sequence

Edge = frozenset[str]


def is_cyclic(edges: Iterable[Edge]) -> bool:
    """Say whether a body is cyclic."""
    return bool(cyclic_part(edges))


def cyclic_part(edges: Iterable[Edge]) -> tuple[int, ...]:
    """Return the places of the edges that make a body cyclic, by the reduction of Graham, Yu and Ozsoyoglu.

    A variable in a single edge is dropped, and so is an edge inside another. Of an acyclic body nothing is
    left in the end:

        a(x, y), b(y, z)              acyclic
        a(x, y), b(y, z), c(z, x)     cyclic
    """
    left = {place: set(edge) for place, edge in enumerate(edges)}
    while True:
        vertices = [vertex for edge in left.values() for vertex in edge]
        shrunk = {place: {v for v in edge if vertices.count(v) > 1} for place, edge in left.items()}
        kept: dict[int, set[str]] = {}
        for place, edge in shrunk.items():
            others = (*kept.values(), *(shrunk[other] for other in shrunk if other > place))
            if edge and not any(edge <= other for other in others):
                kept[place] = edge
        if kept == left:
            return tuple(kept)
        left = kept


def most_bindings(edges: Sequence[Edge], sizes: Sequence[float]) -> float:
    """Return the largest number of bindings that atoms of these sizes can have together.

    The bound of Atserias, Grohe and Marx: the least product of sizes, raised to weights such that the
    edges of each variable weigh at least 1. For a triangle over n facts it is n ** 1.5. Computed as the
    dual linear program, the largest sum of one number for each variable such that an edge's numbers add
    up to at most the logarithm of its size; for that one the simplex method can start at zero.
    """
    vertices = sorted(set().union(*edges)) if edges else []
    if any(size <= 0 for size in sizes):
        return 0.0
    table = [
        [*(1.0 if v in edge else 0.0 for v in vertices), *_unit(place, len(edges)), math.log(max(size, 1.0))]
        for place, (edge, size) in enumerate(zip(edges, sizes, strict=True))
    ]
    gains = [*(1.0 for _ in vertices), *(0.0 for _ in edges), 0.0]
    while (column := next((c for c, gain in enumerate(gains[:-1]) if gain > 1e-9), None)) is not None:
        rows = [row for row in table if row[column] > 1e-9]
        if not rows:
            return math.inf
        # Take the first column that gains and, among equal rows, the first: that rules out cycling.
        pivot = min(rows, key=lambda row: row[-1] / row[column])
        scale = pivot[column]
        pivot[:] = [x / scale for x in pivot]
        for row in (*(row for row in table if row is not pivot), gains):
            factor = row[column]
            if factor:
                row[:] = [x - factor * y for x, y in zip(row, pivot, strict=True)]
    return math.exp(-gains[-1])


def _unit(place: int, length: int) -> list[float]:
    return [1.0 if other == place else 0.0 for other in range(length)]
