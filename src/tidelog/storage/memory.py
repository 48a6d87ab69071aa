"""Arrays for large states: zeroed, untouched until used, on large pages where the system has them.

A table of hundreds of megabytes that is probed at random spends more time on address
translation than on anything else with pages of 4 KiB.
"""

import mmap
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Element = TypeVar("Element", bound=np.generic)

_LARGE_BYTES = 1 << 22


def zeros(shape: tuple[int, ...], dtype: np.dtype[Element]) -> npt.NDArray[Element]:
    """Return an array of zeros; pages that are never written take no memory."""
    size = int(np.prod(shape)) * dtype.itemsize
    if size < _LARGE_BYTES or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.zeros(shape, dtype)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype, count=int(np.prod(shape))).reshape(shape)
