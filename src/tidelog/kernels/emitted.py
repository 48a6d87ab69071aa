"""Operations that Numba lacks, emitted as LLVM instructions; imported only to compile kernels."""
# mypy: disable-error-code="no-untyped-call"
# Numba has no types for most of what extensions are made of.

from typing import Any

from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]  # numba does not list it
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["array_pointer", "carray", "fetch", "leading_zeros", "read_modify_write", "swap_if_equal"]


@intrinsic
def array_pointer(_typing_context: Any, _address: Any) -> Any:
    """Return an address as a pointer."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


def _element_pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array_type, index_type = signature.args[0], signature.args[1]
    array = context.make_array(array_type)(context, builder, arguments[0])
    index = context.cast(builder, arguments[1], index_type, types.intp)
    # Of an array with several dimensions, the first element there.
    rest = [context.get_constant(types.intp, 0)] * (array_type.ndim - 1)
    return cgutils.get_item_pointer(
        context, builder, array_type, array, [index, *rest], wraparound=False, boundscheck=False
    )


@intrinsic
def fetch(_typing_context: Any, array: Any, index: Any) -> Any:
    """Begin to load an element into the cache."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.bitcast(_element_pointer(context, builder, signature, arguments), cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        # To read, into all caches, data.
        builder.call(prefetch, [pointer, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


@intrinsic
def leading_zeros(_typing_context: Any, _word: Any) -> Any:
    """Return how many bits of a word are zero above the highest that is set."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def swap_if_equal(_typing_context: Any, array: Any, index: Any, _expected: Any, _desired: Any) -> Any:
    """Store an element if another is there; return what was there."""
    element = array.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _element_pointer(context, builder, signature, arguments)
        result = builder.cmpxchg(pointer, arguments[2], arguments[3], "seq_cst", "seq_cst")
        return builder.extract_value(result, 0)

    return element(array, index, element, element), generate


def read_modify_write(operation: str) -> Any:
    """Return what changes an element in one step of the machine and returns what was there."""

    @intrinsic
    def changed(_typing_context: Any, array: Any, index: Any, _operand: Any) -> Any:
        element = array.dtype

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = _element_pointer(context, builder, signature, arguments)
            return builder.atomic_rmw(operation, pointer, arguments[2], "seq_cst")

        return element(array, index, element), generate

    return changed
