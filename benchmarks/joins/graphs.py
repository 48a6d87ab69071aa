"""Graphs that are hard for joins in pairs, and one that is like real ones."""

import math

import numpy as np
import numpy.typing as npt

from benchmarks.generators.rmat import rmat

Arcs = npt.NDArray[np.int64]


def star(arcs: int) -> Arcs:
    """Return a vertex with arcs to and from all others.

    Joins in pairs find a path between any two of the others; there is no triangle at all.
    """
    others = np.arange(1, arcs // 2 + 1)
    centre = np.zeros_like(others)
    return np.concatenate([np.column_stack([centre, others]), np.column_stack([others, centre])])


def full(arcs: int) -> Arcs:
    """Return all arcs between so few vertices that there are about this many.

    It has as many triangles as so many arcs can have: their number to the power of 1.5.
    """
    side = math.isqrt(arcs)
    return np.column_stack([np.repeat(np.arange(side), side), np.tile(np.arange(side), side)])


def skewed(arcs: int, seed: int = 1) -> Arcs:
    """Return a random graph in which few vertices have most of the arcs."""
    scale = max(6, math.ceil(math.log2(arcs / 8)))
    return rmat(scale, arcs, seed, (0.57, 0.19, 0.19, 0.05))


GRAPHS = {"star": star, "full": full, "rmat": skewed}
