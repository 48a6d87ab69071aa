"""A random graph with few popular and many unpopular vertices (recursive matrix, R-MAT)."""

import numpy as np
import numpy.typing as npt


def rmat(
    scale: int,
    arcs: int,
    seed: int,
    quadrants: tuple[float, float, float, float] = (0.45, 0.25, 0.15, 0.15),
) -> npt.NDArray[np.int64]:
    """Return at most `arcs` distinct arcs over 2**scale vertices, without loops.

    Each arc falls bit by bit into a quadrant of the matrix of all arcs, with the given
    probabilities (upper left, upper right, lower left, lower right).
    """
    random = np.random.default_rng(seed)
    bounds = np.cumsum(quadrants)
    x = np.zeros(arcs, dtype=np.int64)
    y = np.zeros(arcs, dtype=np.int64)
    for _ in range(scale):
        quadrant = np.searchsorted(bounds, random.random(arcs) * bounds[-1], side="right")
        x = x * 2 + quadrant // 2
        y = y * 2 + quadrant % 2
    pairs: npt.NDArray[np.int64] = np.unique(np.column_stack([x, y]), axis=0)
    is_loop = pairs[:, 0] == pairs[:, 1]
    return np.compress(~is_loop, pairs, axis=0)
