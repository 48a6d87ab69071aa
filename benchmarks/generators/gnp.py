"""A random graph in which every arc is there with the same probability."""

import numpy as np
import numpy.typing as npt


def gnp(vertices: int, probability: float, seed: int) -> npt.NDArray[np.int64]:
    """Return the arcs of a directed random graph without loops, each arc once.

    The number of arcs is drawn first and the arcs after, which takes memory for the arcs
    that are there, not for all that could be.
    """
    random = np.random.default_rng(seed)
    possible = vertices * (vertices - 1)
    count = int(random.binomial(possible, probability))
    places = np.empty(0, dtype=np.int64)
    while places.size < count:
        places = np.unique(np.concatenate([places, random.integers(0, possible, size=count - places.size)]))
    x, y = np.divmod(places, vertices - 1)
    # The place of the loop is skipped, so y counts the other vertices.
    return np.column_stack([x, y + (y >= x)])
