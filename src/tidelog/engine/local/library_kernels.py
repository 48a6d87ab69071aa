"""Functions of C libraries, called for a column of rows without the interpreter.

Where integers and floats are passed in registers of their own, as on x86-64 and 64-bit ARM under Linux and
macOS, a function finds its arguments whatever else is in the other registers. So one kernel that fills six
integer and eight float registers calls every function that takes no more. Pointers are integers.
"""

import ctypes
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tidelog.storage.kernel import Bools, Int64s, Integer, emitted, inlined, kernel

INTEGER_REGISTERS: Final = 6
FLOAT_REGISTERS: Final = 8

Floats = npt.NDArray[np.floating[Any]]
Bytes = npt.NDArray[np.uint8]


def _call_function(address: Integer, integers: tuple[Any, ...], floats: tuple[Any, ...], result: Any) -> Any:
    """Return what the function at an address returns, of the type of `result`."""
    real = ctypes.c_float if isinstance(floats[0], np.float32) else ctypes.c_double
    returned = real if isinstance(result, np.floating) else ctypes.c_int64
    kinds = [ctypes.c_int64] * len(integers) + [real] * len(floats)
    return ctypes.CFUNCTYPE(returned, *kinds)(int(address))(*map(int, integers), *map(float, floats))


def _byte_at(address: Integer) -> int:
    """Return the byte at an address."""
    return ctypes.c_uint8.from_address(int(address)).value


_MODULE: Final = "tidelog.kernels.emitted_calls"
call_function = emitted(_call_function, _MODULE, "call_function")
byte_at = emitted(_byte_at, _MODULE, "byte_at")


@inlined
def _at(columns: npt.NDArray[Any], place: Integer, row: Integer) -> Any:
    """Return a value of a row, zero where there is no such column."""
    return columns[place, row] if place < columns.shape[0] else columns.dtype.type(0)


@inlined
def _values(columns: npt.NDArray[Any], row: Integer) -> tuple[Any, ...]:
    """Return eight values of a row; integers beyond the sixth are passed where no function looks for them."""
    return (
        _at(columns, 0, row),
        _at(columns, 1, row),
        _at(columns, 2, row),
        _at(columns, 3, row),
        _at(columns, 4, row),
        _at(columns, 5, row),
        _at(columns, 6, row),
        _at(columns, 7, row),
    )


@kernel
def call_for_numbers(
    address: int, integers: Int64s, floats: Floats, results: npt.NDArray[np.number[Any]]
) -> None:
    """Write what a function returns for every row.

    Requires a row of `integers` or `floats` for each parameter, in the function's order, and `results` of
    the type that the function returns.
    """
    function, sample = np.int64(address), results.dtype.type(0)
    for row in range(results.size):
        results[row] = call_function(function, _values(integers, row), _values(floats, row), sample)


@kernel
def call_for_texts(
    address: int, columns: tuple[Int64s, Floats], results: tuple[Bytes, Int64s, Bools], first: int
) -> int:
    """Copy the texts that a function returns for the rows from `first` on, one after another.

    Ensures for the results `texts`, `ends` and `has_value` that `ends[row]` is where the text of a row ends
    and that of the next begins. A null pointer stands for no value. Returns the first row whose text found
    no room, or the number of rows.
    """
    integers, floats = columns
    texts, ends, has_value = results
    function, sample = np.int64(address), np.int64(0)
    end = ends[first - 1] if first else 0
    for row in range(first, ends.size):
        pointer = call_function(function, _values(integers, row), _values(floats, row), sample)
        has_value[row] = pointer != 0
        if pointer != 0:
            byte = byte_at(pointer)
            while byte != 0:
                if end == texts.size:
                    return row
                texts[end] = byte
                end += 1
                pointer += 1
                byte = byte_at(pointer)
        ends[row] = end
    return int(ends.size)
