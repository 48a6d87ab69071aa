"""Addresses of arrays, for kernels that read any number of arrays.

A compiled kernel takes a fixed list of arrays. One that follows a whole stratum takes a table of
addresses instead; `storage.structs` reads elements through them. Whoever makes the table keeps the
arrays alive while the kernel runs. With the JIT switched off the same is done through `ctypes`.
"""

import ctypes
from typing import Any

import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

from tidelog.storage.kernel import Integer, chosen


def address_of(array: npt.NDArray[Any]) -> int:
    """Return the address of the first element of a contiguous array."""
    return int(array.__array_interface__["data"][0])


@intrinsic
def _array_pointer(_typing_context: Any, _address: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


def _plain_array_pointer(address: Integer) -> ctypes.c_void_p:
    """Return an address in the form that `numba.carray` takes."""
    return ctypes.c_void_p(int(address))


array_pointer = chosen(_plain_array_pointer, _array_pointer)
