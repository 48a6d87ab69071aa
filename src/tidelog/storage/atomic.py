"""Three atomic operations on array elements, for kernels that share an array between threads.

Numba offers none on the CPU, so they are emitted as LLVM instructions. With the JIT switched
off kernels run one at a time under the interpreter lock and plain Python does the same.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic


def _element_pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array_type, index_type = signature.args[0], signature.args[1]
    array = context.make_array(array_type)(context, builder, arguments[0])
    index = context.cast(builder, arguments[1], index_type, types.intp)
    return cgutils.get_item_pointer(
        context, builder, array_type, array, [index], wraparound=False, boundscheck=False
    )


@intrinsic
def _swap_if_equal(
    typing_context: Any, array: Any, index: Any, expected: Any, desired: Any
) -> Any:
    element = array.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _element_pointer(context, builder, signature, arguments)
        result = builder.cmpxchg(pointer, arguments[2], arguments[3], "seq_cst", "seq_cst")
        return builder.extract_value(result, 0)

    return element(array, index, element, element), generate


@intrinsic
def _add(typing_context: Any, array: Any, index: Any, amount: Any) -> Any:
    element = array.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _element_pointer(context, builder, signature, arguments)
        return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

    return element(array, index, element), generate


@intrinsic
def _set_bits(typing_context: Any, array: Any, index: Any, bits: Any) -> Any:
    element = array.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _element_pointer(context, builder, signature, arguments)
        return builder.atomic_rmw("or", pointer, arguments[2], "seq_cst")

    return element(array, index, element), generate


def _plain_swap_if_equal(
    array: npt.NDArray[np.generic], index: int, expected: Any, desired: Any
) -> Any:
    """Store `desired` at `index` if `expected` stands there; return what stood there."""
    found = array[index]
    if found == expected:
        array[index] = desired
    return found


def _plain_add(array: npt.NDArray[np.generic], index: int, amount: Any) -> Any:
    """Add `amount` to the element at `index`; return what stood there before."""
    found = array[index]
    array[index] = found + amount
    return found


def _plain_set_bits(array: npt.NDArray[np.generic], index: int, bits: Any) -> Any:
    """Set bits of the element at `index`; return what stood there before."""
    found = array[index]
    array[index] = found | bits
    return found


swap_if_equal = _plain_swap_if_equal if config.DISABLE_JIT else _swap_if_equal
add = _plain_add if config.DISABLE_JIT else _add
set_bits = _plain_set_bits if config.DISABLE_JIT else _set_bits
