"""A random tree."""

import numpy as np
import numpy.typing as npt


def tree(depth: int, fewest: int, most: int, seed: int) -> npt.NDArray[np.int64]:
    """Return the arcs, parent to child, of a tree of the given depth.

    Every vertex above the last level has between `fewest` and `most` children; vertices are
    numbered level by level from the root, 0.
    """
    random = np.random.default_rng(seed)
    level = np.zeros(1, dtype=np.int64)
    arcs: list[npt.NDArray[np.int64]] = [np.empty((0, 2), dtype=np.int64)]
    for _ in range(depth):
        parents = np.repeat(level, random.integers(fewest, most + 1, size=level.size))
        level = np.arange(level[-1] + 1, level[-1] + 1 + parents.size, dtype=np.int64)
        arcs.append(np.column_stack([parents, level]))
        if level.size == 0:
            break
    return np.concatenate(arcs)
