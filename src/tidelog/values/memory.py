"""Arrays for large states: zeroed, untouched until used, on large pages where the system has them.

A table of hundreds of megabytes that is probed at random spends more time on address translation
than on anything else with pages of 4 KiB. And since a page that was never written takes no memory, a
large array that grows gets far more room than it needs yet: growing by copying would touch every page
again.
"""

import ctypes
import mmap
import sys
from collections.abc import Iterable
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

Element = TypeVar("Element", bound=np.generic)

_LARGE_BYTES: Final = 1 << 22
_LARGE_PAGE: Final = 1 << 21
# Arrays that are written in few places get pages of their own from here on: zeros that the allocator makes of
# memory it has used before are written, and take memory.
_SPARSE_BYTES: Final = 1 << 16
_HAS_LARGE_PAGES: Final = hasattr(mmap, "MADV_HUGEPAGE")
# Linux' flag for address space that is not counted against memory before it is written.
_NO_RESERVE: Final = 0x4000
# How much address space a growing array gets beyond what it needs.
_HEADROOM: Final = 8


def zeros(
    shape: tuple[int, ...], dtype: np.dtype[Element], *, is_sparse: bool = False
) -> npt.NDArray[Element]:
    """Return an array of zeros; pages that are never written take no memory.

    A sparse one is written in few places far apart, each of which would take a large page.
    """
    size = int(np.prod(shape)) * dtype.itemsize
    if size < (_SPARSE_BYTES if is_sparse else _LARGE_BYTES) or not _HAS_LARGE_PAGES:
        return np.zeros(shape, dtype)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    pages.madvise(mmap.MADV_NOHUGEPAGE if is_sparse else mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype, count=int(np.prod(shape))).reshape(shape)


def enlarged(
    array: npt.NDArray[Element], capacity: int, used: int, dropped: tuple[int, int] = (0, 0)
) -> npt.NDArray[Element]:
    """Return a copy of the first `used` rows of an array with room for `capacity` of them.

    Rows in the range `dropped` are not copied.
    """
    larger = zeros((capacity, *array.shape[1:]), array.dtype)
    first, last = dropped
    larger[:first] = array[:first]
    larger[last:used] = array[last:used]
    return larger


def enlarged_sparse(
    array: npt.NDArray[Element], capacity: int, used: int, *, is_sparse: bool = True
) -> npt.NDArray[Element]:
    """Return a copy of an array with room for `capacity` elements, of which few were written.

    Only these are copied, so that the pages of the others take no memory.
    """
    larger = zeros((capacity,), array.dtype, is_sparse=is_sparse)
    written = np.flatnonzero(array[:used])
    larger[written] = array[written]
    return larger


def give_back(array: npt.NDArray[Element], first: int, last: int) -> bool:
    """Give the memory of a range of rows back, whose content is lost; say whether that is possible."""
    pages: object = array
    while isinstance(pages, np.ndarray):
        pages = pages.base
    pages = pages.obj if isinstance(pages, memoryview) else pages
    if not isinstance(pages, mmap.mmap) or not hasattr(mmap, "MADV_DONTNEED"):
        return False
    if array.ctypes.data != np.frombuffer(pages, np.uint8, 1).ctypes.data:
        # It shares these pages with others, as the arrays of an image do.
        return False
    row_bytes = array.strides[0]
    start = -(-first * row_bytes // _LARGE_PAGE) * _LARGE_PAGE
    end = last * row_bytes // _LARGE_PAGE * _LARGE_PAGE
    if start < end:
        pages.madvise(mmap.MADV_DONTNEED, start, end - start)
    return True


def give_back_unused() -> None:
    """Give memory back that the allocators of Python and Arrow keep for later, where they can."""
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def enlarge(owner: object, names: Iterable[str], capacity: int, used: int) -> None:
    """Give arrays of an object, by their names, room for `capacity` rows; the first `used` are kept."""
    for name in names:
        setattr(owner, name, enlarged(getattr(owner, name), capacity, used))


def roomy(needed: int, current: int, row_bytes: int) -> int:
    """Return the capacity for an array that has `current` rows and needs `needed`."""
    capacity = max(needed, current + current // 2)
    if capacity * row_bytes < _LARGE_BYTES or not _HAS_LARGE_PAGES:
        return capacity
    return capacity * _HEADROOM
