"""How a kernel is compiled: once, cached on disk, released from the interpreter lock.

With `NUMBA_DISABLE_JIT=1` kernels are plain Python: slow, but an index out of range raises.
"""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import config, njit

from tidelog.values.kernel_cache import guard_cache

Function = TypeVar("Function", bound=Callable[..., Any])

IS_COMPILED: Final = not vars(config)["DISABLE_JIT"]

# Rows and batches hold codes in 32 bits until a value needs 64; kernels are compiled for both.
Code = np.signedinteger[Any]
CodeArray = npt.NDArray[Code]
Slots = npt.NDArray[np.uint64]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.uint8]
# What kernels count with: a Python integer outside, an array element inside.
Integer = int | np.signedinteger[Any]
# Parts are never called from Python or C; making that possible would take a sixth of the compile time.
_WITHOUT_WRAPPERS: Final[dict[str, Any]] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: Function) -> Function:
    """Return `function` compiled on first use for the array types it meets."""
    if not IS_COMPILED:
        return cast("Function", _alone(function))
    compiled = njit(cache=True, nogil=True, error_model="numpy")(function)
    guard_cache(compiled, function)
    return cast("Function", compiled)


def inlined(function: Function) -> Function:
    """Return `function` as a part of kernels, to be called from kernels only."""
    return cast(
        "Function",
        njit(nogil=True, inline="never", error_model="numpy", **_WITHOUT_WRAPPERS)(function),
    )


def chosen(plain: Function, emitted: object) -> Function:
    """Return what kernels call: the emitted operation where they are compiled, the plain one elsewhere."""
    return cast("Function", emitted) if IS_COMPILED else plain


_ONE_AT_A_TIME = threading.RLock()


def _alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` as it runs uncompiled: one call at a time, so that `atomic` can be plain.

    Integers wrap silently, as compiled ones do; hashing relies on it.
    """

    @wraps(function)
    def run(*arguments: object) -> object:
        with _ONE_AT_A_TIME, np.errstate(over="ignore"):
            return function(*arguments)

    return run
