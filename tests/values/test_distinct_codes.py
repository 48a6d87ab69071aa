"""Distinct codes are those of NumPy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidelog.values.distinct_codes import distinct_codes


@given(st.lists(st.integers(-5, 5) | st.integers(-(1 << 63), (1 << 63) - 1)))
def test_distinct_codes_are_sorted(codes: list[int]) -> None:
    """Each code is there once, in order."""
    array = np.array(codes, np.int64)

    assert distinct_codes(array).tolist() == np.unique(array).tolist()
