"""Loads begun before they are needed, so that a kernel does not wait for memory."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.kernels import emitted


def _fetch(_array: npt.NDArray[Any], _index: int | np.integer[Any]) -> None:
    """Begin to load the element at an index, or the first one of a row, into the cache.

    An index outside the array does no harm.
    """


fetch = emitted(_fetch, "tidelog.kernels.emitted", "fetch")
