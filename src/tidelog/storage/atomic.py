"""Three atomic operations on array elements, for kernels that share an array between threads.

Numba offers none on the CPU, so they are emitted as LLVM instructions. With the JIT switched
off kernels run one at a time and plain Python does the same.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.storage.kernel import Integer, emitted, inlined


def _swap_if_equal(
    array: npt.NDArray[np.uint64], index: Integer | np.uint64, expected: np.uint64, desired: np.uint64
) -> np.uint64:
    """Store `desired` at `index` if `expected` is there; return what was there."""
    found = np.uint64(array[index])
    if found == expected:
        array[index] = desired
    return found


def _add(array: npt.NDArray[np.signedinteger[Any]], index: Integer, amount: Integer) -> Integer:
    """Add `amount` to the element at `index`; return what was there before."""
    found: Integer = array[index]
    array[index] = found + amount
    return found


def _set_bits(array: npt.NDArray[np.uint64], index: Integer, bits: np.uint64) -> np.uint64:
    """Set bits of the element at `index`; return what was there before."""
    found = np.uint64(array[index])
    array[index] = found | bits
    return found


swap_if_equal = emitted(_swap_if_equal, "tidelog.kernels.emitted", "swap_if_equal")
add = emitted(_add, "tidelog.kernels.emitted", "read_modify_write", "add")
set_bits = emitted(_set_bits, "tidelog.kernels.emitted", "read_modify_write", "or")


@inlined
def fill(
    table: npt.NDArray[np.unsignedinteger[Any]], place: np.uint64, word: np.uint64, shared: bool
) -> bool:
    """Write a word to an empty place; say whether no other thread was first, if others share the table.

    A thread that is alone need not wait for its earlier writes, as an atomic operation does.
    """
    if not shared:
        table[place] = word
        return True
    kind = table.dtype.type
    return bool(swap_if_equal(table, place, kind(0), kind(word)) == np.uint64(0))


@inlined
def set_new_bit(words: npt.NDArray[np.uint64], place: Integer, bit: np.uint64, shared: bool) -> bool:
    """Set a bit that is not set; say whether no other thread was first, if others share the words."""
    if not shared:
        words[place] |= bit
        return True
    return bool(set_bits(words, place, bit) & bit == np.uint64(0))
