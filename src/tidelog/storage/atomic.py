"""Three atomic operations on array elements, for kernels that share an array between threads.

Numba offers none on the CPU, so they are emitted as LLVM instructions. With the JIT switched
off kernels run one at a time and plain Python does the same.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tidelog.storage.kernel import Integer, chosen


def _element_pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array_type, index_type = signature.args[0], signature.args[1]
    array = context.make_array(array_type)(context, builder, arguments[0])
    index = context.cast(builder, arguments[1], index_type, types.intp)
    return cgutils.get_item_pointer(  # type: ignore[no-untyped-call]  # numba gives it no types
        context, builder, array_type, array, [index], wraparound=False, boundscheck=False
    )


@intrinsic
def _swap_if_equal(_typing_context: Any, array: Any, index: Any, _expected: Any, _desired: Any) -> Any:
    element = array.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _element_pointer(context, builder, signature, arguments)
        result = builder.cmpxchg(pointer, arguments[2], arguments[3], "seq_cst", "seq_cst")
        return builder.extract_value(result, 0)

    return element(array, index, element, element), generate


def _read_modify_write(operation: str) -> Any:
    """Return what changes an element in one step of the machine and returns what stood there."""

    @intrinsic
    def changed(_typing_context: Any, array: Any, index: Any, _operand: Any) -> Any:
        element = array.dtype

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = _element_pointer(context, builder, signature, arguments)
            return builder.atomic_rmw(operation, pointer, arguments[2], "seq_cst")

        return element(array, index, element), generate

    return changed


def _plain_swap_if_equal(
    array: npt.NDArray[np.uint64], index: Integer | np.uint64, expected: np.uint64, desired: np.uint64
) -> np.uint64:
    """Store `desired` at `index` if `expected` is there; return what was there."""
    found = np.uint64(array[index])
    if found == expected:
        array[index] = desired
    return found


def _plain_add(array: npt.NDArray[np.signedinteger[Any]], index: Integer, amount: Integer) -> Integer:
    """Add `amount` to the element at `index`; return what was there before."""
    found: Integer = array[index]
    array[index] = found + amount
    return found


def _plain_set_bits(array: npt.NDArray[np.uint64], index: Integer, bits: np.uint64) -> np.uint64:
    """Set bits of the element at `index`; return what was there before."""
    found = np.uint64(array[index])
    array[index] = found | bits
    return found


swap_if_equal = chosen(_plain_swap_if_equal, _swap_if_equal)
add = chosen(_plain_add, _read_modify_write("add"))
set_bits = chosen(_plain_set_bits, _read_modify_write("or"))
