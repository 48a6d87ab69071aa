"""Calls of functions by address, emitted as LLVM instructions; imported only to compile kernels."""
# mypy: disable-error-code="no-untyped-call"
# Numba has no types for most of what extensions are made of.

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def call_function(_typing_context: Any, _address: Any, integers: Any, floats: Any, result: Any) -> Any:
    """Call a function with integers and floats; return what it returns, of the type of the last argument."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        passed = [each for values in arguments[1:3] for each in cgutils.unpack_tuple(builder, values)]
        kind = ir.FunctionType(context.get_value_type(result), [each.type for each in passed])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), passed)

    return result(types.int64, integers, floats, result), generate


@intrinsic
def byte_at(_typing_context: Any, _address: Any) -> Any:
    """Return the byte at an address."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(8).as_pointer()))

    return types.uint8(types.int64), generate
