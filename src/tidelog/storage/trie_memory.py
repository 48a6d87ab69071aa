"""Elements read by address, so that one kernel can walk any number of arrays of one width.

A leapfrog join walks the levels of many tries at once, how many only the rule knows. Numba compiles
a kernel anew for every number of arrays it is given; a table of addresses is always one array. Whoever
makes the table keeps the arrays alive.
"""

import ctypes
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tidelog.storage.kernel import IS_COMPILED, CodeArray, Integer


def _load(bits: int) -> Any:
    """Return what emits the load of a signed integer of so many bits, as an int64."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        element = ir.IntType(bits)
        base = builder.inttoptr(arguments[0], element.as_pointer())
        loaded = builder.load(builder.gep(base, [arguments[1]]))
        return loaded if bits == 64 else builder.sext(loaded, ir.IntType(64))

    return generate


@intrinsic
def _code_at(_typing_context: Any, _address: Any, _index: Any, like: Any) -> Any:
    return types.int64(types.int64, types.int64, like), _load(like.dtype.bitwidth)


@intrinsic
def _number_at(_typing_context: Any, _address: Any, _index: Any) -> Any:
    return types.int64(types.int64, types.int64), _load(32)


@intrinsic
def _byte_at(_typing_context: Any, _address: Any, _index: Any) -> Any:
    return types.int64(types.int64, types.int64), _load(8)


def _plain_code_at(address: Integer, index: Integer, like: CodeArray) -> int:
    """Return the code at a place of the array that begins at an address; `like` tells the width."""
    kind = ctypes.c_int64 if like.itemsize == 8 else ctypes.c_int32
    return kind.from_address(int(address) + int(index) * like.itemsize).value


def _plain_number_at(address: Integer, index: Integer) -> int:
    """Return the 32-bit number at a place of the array that begins at an address."""
    return ctypes.c_int32.from_address(int(address) + 4 * int(index)).value


def _plain_byte_at(address: Integer, index: Integer) -> int:
    """Return the byte at a place of the array that begins at an address."""
    return ctypes.c_int8.from_address(int(address) + int(index)).value


code_at: Any = _code_at if IS_COMPILED else _plain_code_at
number_at: Any = _number_at if IS_COMPILED else _plain_number_at
byte_at: Any = _byte_at if IS_COMPILED else _plain_byte_at
