"""Numbers as codes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.values import codes


@given(st.floats())
def test_a_float_comes_back_from_its_code(value):
    """Every float but -0.0 and odd NaNs is given back bit by bit."""
    back = codes.code_to_float(codes.float_to_code(value))

    assert back == value or (math.isnan(back) and math.isnan(value))


def test_equal_floats_have_one_code():
    """-0.0 has the code of 0.0, and all NaNs have one code."""
    odd_nan = codes.code_to_float(0x7FF8_0000_0000_0001)

    assert codes.float_to_code(-0.0) == codes.float_to_code(0.0) == 0
    assert codes.float_to_code(odd_nan) == codes.float_to_code(-math.nan) == codes.NAN_CODE


@given(st.lists(st.floats()))
def test_arrays_of_floats_agree_with_single_floats(values):
    """The vectorised functions give what the single ones give."""
    array = codes.floats_to_codes(np.array(values, dtype=np.float64))

    assert array.tolist() == [codes.float_to_code(value) for value in values]
    assert repr(codes.codes_to_floats(array).tolist()) == repr(list(map(codes.code_to_float, array.tolist())))


@given(st.integers(0, 2**64 - 1))
def test_an_unsigned_comes_back_from_its_code(value):
    """An unsigned keeps its 64 bits."""
    code = codes.unsigned_to_code(value)

    assert -(2**63) <= code < 2**63
    assert codes.code_to_unsigned(code) == value
    assert codes.codes_to_unsigneds(np.array([code])).tolist() == [value]
    assert codes.unsigneds_to_codes(np.array([value], dtype=np.uint64)).tolist() == [code]


@given(st.lists(st.floats(allow_nan=False), min_size=2))
def test_float_keys_sort_as_floats_do(values):
    """Keys order floats by size, and NaN stands last."""
    keys = codes.float_order(codes.floats_to_codes(np.array([*values, math.nan])))

    assert keys.argmax() == len(values)
    assert [values[i] for i in np.argsort(keys[:-1])] == sorted(values)


@given(st.lists(st.integers(0, 2**64 - 1)))
def test_unsigned_keys_sort_as_unsigneds_do(values):
    """Keys order values beyond 2**63 after the others."""
    keys = codes.unsigned_order(codes.unsigneds_to_codes(np.array(values, dtype=np.uint64)))

    assert [values[i] for i in np.argsort(keys, kind="stable")] == sorted(values)


@pytest.mark.parametrize(
    ("value", "wrapped"),
    [(0, 0), (2**63, -(2**63)), (-(2**63) - 1, 2**63 - 1), (2**64, 0), (-1, -1)],
)
def test_wrap_is_two_s_complement(value, wrapped):
    """A number that overflows wraps as 64 bits do."""
    assert codes.wrap(value) == wrapped
