"""How a kernel is compiled: once, cached on disk, released from the interpreter lock."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

# Rows and batches hold codes in 32 bits until a value needs 64; kernels are compiled for both.
CodeArray = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Slots = npt.NDArray[np.uint64]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.uint8]


def kernel(function: Function) -> Function:
    """Return `function` compiled on first use for the array types it meets."""
    compiled: Function = njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled


def inlined(function: Function) -> Function:
    """Return `function` as a part of kernels, to be called from kernels only."""
    compiled: Function = njit(nogil=True, inline="never", error_model="numpy")(function)
    return compiled
