"""A square grid with arcs to the right and down."""

import numpy as np
import numpy.typing as npt


def grid(side: int) -> npt.NDArray[np.int64]:
    """Return the arcs of a grid of (side + 1)² vertices, one row `x, y` per arc.

    The vertex in row i and column j is i * (side + 1) + j, so that grid(1) is

        0 -> 1
        |    |
        v    v
        2 -> 3
    """
    vertices = np.arange((side + 1) ** 2, dtype=np.int64).reshape(side + 1, side + 1)
    right = np.column_stack([vertices[:, :-1].ravel(), vertices[:, 1:].ravel()])
    down = np.column_stack([vertices[:-1].ravel(), vertices[1:].ravel()])
    return np.concatenate([right, down])
