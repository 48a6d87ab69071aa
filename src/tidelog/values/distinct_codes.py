"""The distinct ones of some codes or numbers of rows."""

import numpy as np
import numpy.typing as npt


def distinct_codes(codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the distinct codes in order, as `np.unique` does, which imports masked arrays on its first call.

    distinct_codes(np.array([3, 1, 3]))     [1, 3]
    """
    ordered = np.sort(codes)
    is_first = np.ones(ordered.size, np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]
