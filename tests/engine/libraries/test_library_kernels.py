"""The kernels that call functions by their address, against the same calls from Python."""

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.kernel_oracles import oracle_of
from tidelog.engine.local.library_kernels import call_for_numbers, call_for_texts

WHOLE = st.integers(-(2**63), 2**63 - 1)
REAL = st.floats(allow_nan=False, width=32)


def _address(function: Callable[..., object], result: type, *kinds: type) -> tuple[int, object]:
    """Return where a Python function can be called from C, and what keeps it there."""
    made = ctypes.CFUNCTYPE(result, *kinds)(function)
    address = ctypes.cast(made, ctypes.c_void_p).value
    assert address is not None
    return address, made


@oracle_of(call_for_numbers)
@given(rows=st.lists(st.tuples(WHOLE, REAL, WHOLE, REAL), max_size=5))
def test_numbers_are_passed_in_the_order_of_their_kinds(rows):
    """Integers and floats that alternate arrive as they were passed, and the result comes back."""
    met: list[tuple[int, float, int, float]] = []

    def function(*arguments):
        met.append(arguments)
        return len(met) - 3

    whole, real = ctypes.c_int64, ctypes.c_double
    address, kept = _address(function, whole, whole, real, whole, real)
    integers = np.array([[row[0] for row in rows], [row[2] for row in rows]], np.int64).reshape(2, len(rows))
    floats = np.array([[row[1] for row in rows], [row[3] for row in rows]]).reshape(2, len(rows))
    results = np.zeros(len(rows), np.int64)

    call_for_numbers(address, integers, floats, results)

    assert kept
    assert met == rows
    assert results.tolist() == [place - 2 for place in range(len(rows))]


@oracle_of(call_for_numbers)
@pytest.mark.parametrize(("real", "width"), [(ctypes.c_double, np.float64), (ctypes.c_float, np.float32)])
def test_floats_are_returned_in_either_width(real, width):
    """A function of eight floats of 32 or 64 bits returns one."""
    address, kept = _address(lambda *each: sum(each), real, *[real] * 8)
    floats = np.arange(16, dtype=width).reshape(8, 2)
    results = np.zeros(2, width)

    call_for_numbers(address, np.empty((0, 2), np.int64), floats, results)

    assert kept
    assert results.tolist() == [56.0, 64.0]


@oracle_of(call_for_texts)
@given(
    texts=st.lists(st.none() | st.binary(max_size=8).map(lambda text: text.replace(b"\0", b"")), max_size=6)
)
def test_texts_are_copied_before_the_next_call(texts):
    """One buffer may serve all; a null pointer is no value, and rows that find no room wait."""
    buffer = ctypes.create_string_buffer(16)

    def function(row: int) -> int:
        text = texts[row]
        if text is None:
            return 0
        buffer.value = text
        return ctypes.addressof(buffer)

    address, kept = _address(function, ctypes.c_void_p, ctypes.c_int64)
    columns = np.arange(len(texts)).reshape(1, -1), np.empty((0, len(texts)))
    ends, has_value = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.uint8)
    data = np.empty(1, np.uint8)
    row = call_for_texts(address, columns, (data, ends, has_value), 0)
    while row < len(texts):
        data = np.concatenate([data, np.empty_like(data)])
        row = call_for_texts(address, columns, (data, ends, has_value), row)

    assert kept
    starts = [0, *ends[:-1].tolist()]
    found = [data[start:end].tobytes() for start, end in zip(starts, ends.tolist(), strict=False)]
    assert found == [text or b"" for text in texts]
    assert has_value.tolist() == [text is not None for text in texts]
