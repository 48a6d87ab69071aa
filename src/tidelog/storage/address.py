"""Addresses of arrays, for kernels that read any number of arrays.

A compiled kernel takes a fixed list of arrays. One that follows a whole stratum takes a table of
addresses instead; `storage.structs` reads elements through them. Whoever makes the table keeps the
arrays alive while the kernel runs. With the JIT switched off the same is done through `ctypes`.
"""

import ctypes
import math
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tidelog.storage.kernel import Integer, emitted


def address_of(array: npt.NDArray[Any]) -> int:
    """Return the address of the first element of a contiguous array."""
    return int(array.__array_interface__["data"][0])


def _array_pointer(address: Integer) -> int:
    """Return an address in the form that `array_at` takes."""
    return int(address)


def _array_at(pointer: int, shape: tuple[Integer, ...], dtype: Any) -> npt.NDArray[Any]:
    """Return the array at an address."""
    size = math.prod(map(int, shape)) * np.dtype(dtype).itemsize
    return np.ndarray(shape, dtype, cast("Any", (ctypes.c_uint8 * size).from_address(pointer)))


array_pointer = emitted(_array_pointer, "tidelog.kernels.emitted", "array_pointer")
array_at = emitted(_array_at, "tidelog.kernels.emitted", "carray")
