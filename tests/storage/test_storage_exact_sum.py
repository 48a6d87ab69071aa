"""Exact sums of floats against fractions."""

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.kernel_oracles import oracle_of
from tidelog.storage.exact_sum import (
    DIGITS,
    ExactSums,
    add_floats,
    carry_digits,
    has_bits_below,
    round_number,
    round_sums,
    take_bits,
)

GROUPS = 3
floats = st.floats(allow_nan=True, allow_infinity=True)
LARGEST = 1.7976931348623157e308
# Bits that meet the ends of digits and of mantissas.
numbers = st.integers(0, 2**2100) | st.builds(
    lambda high, low, shift: (high << shift) + low,
    st.integers(0, 2**60),
    st.integers(-3, 3),
    st.integers(2, 2040),
).map(abs)


def bits_of(value):
    """Return the bits of a float as a code."""
    return struct.unpack("<q", struct.pack("<d", value))[0]


def float_of(code):
    """Return the float of a code."""
    return struct.unpack("<d", struct.pack("<q", int(code)))[0]


def digits_of(number):
    """Return a number as carried digits: the last one has the sign."""
    digits = np.array([number >> 32 * place & 0xFFFFFFFF for place in range(DIGITS - 1)] + [0], np.int64)
    digits[DIGITS - 1] = number >> 32 * (DIGITS - 1)
    return digits


def number_of(digits):
    """Return the number that digits make, carried or not."""
    return sum(int(digit) << 32 * place for place, digit in enumerate(digits.tolist()))


def rounded(number):
    """Return a whole multiple of 2 ** -1074 as the nearest float."""
    try:
        return float(Fraction(number) / 2**1074)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def expected_sum(changes):
    """Return the sum of (value, diff) pairs, rounded once."""
    left = dict.fromkeys(("inf", "-inf", "nan"), 0)
    total = Fraction(0)
    for value, diff in changes:
        if math.isfinite(value):
            total += Fraction(value) * diff
        else:
            left[str(value)] += diff
    if left["nan"] or (left["inf"] and left["-inf"]):
        return math.nan
    if left["inf"] or left["-inf"]:
        return math.inf if left["inf"] else -math.inf
    return rounded(total * 2**1074)


def is_same(left, right):
    """Say whether two floats are equal, as codes are."""
    return (math.isnan(left) and math.isnan(right)) or left == right


@oracle_of(add_floats, round_sums)
@given(
    changes=st.lists(st.tuples(st.integers(0, GROUPS - 1), floats, st.integers(1, 2**28)), max_size=20),
    data=st.data(),
)
def test_sums_are_those_of_fractions(changes, data):
    """Whatever was inserted and deleted again, each group has the exact sum of what is left, rounded once."""
    gone = data.draw(st.lists(st.sampled_from(changes), unique_by=id, max_size=10)) if changes else []
    every = [*changes, *((group, value, -diff) for group, value, diff in gone)]
    digits, special = np.zeros((GROUPS, DIGITS), np.int64), np.zeros((GROUPS, 3), np.int64)
    groups, codes = np.arange(GROUPS), np.zeros(GROUPS, np.int64)

    add_floats(
        digits, special, np.zeros(GROUPS, np.int64), np.array([group for group, _, _ in every], np.int64),
        np.array([bits_of(value) for _, value, _ in every], np.int64),
        np.array([diff for _, _, diff in every], np.int64),
    )  # fmt: skip
    round_sums(digits, special, groups, codes)

    for group in range(GROUPS):
        expected = expected_sum([(value, diff) for other, value, diff in every if other == group])
        assert is_same(float_of(codes[group]), expected)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [-0.0],
        [5e-324, 5e-324],
        [-5e-324],
        [2.2250738585072014e-308, -5e-324],
        [1e308, 1e308, -1e308],
        [LARGEST, LARGEST],
        [-LARGEST, -LARGEST],
        [LARGEST, 2.0**969],
        [LARGEST, 2.0**970],
        [1.0, 2.0**-53],
        [1.0, 2.0**-53, 2.0**-1074],
        [1.0, 2.0**-52, 2.0**-53],
        [math.inf, -math.inf],
        [math.inf, -1.0],
        [math.nan, 1.0],
    ],
)
def test_sums_at_the_ends_of_the_floats(values):
    """Subnormals, the largest float, halves of a unit and what is not finite."""
    sums = ExactSums()
    sums.reserve(1)

    sums.change(
        np.zeros(len(values), np.int64),
        np.array(list(map(bits_of, values)), np.int64),
        np.ones(len(values), np.int64),
    )

    found = float_of(sums.codes(np.zeros(1, np.int64))[0])
    assert is_same(found, expected_sum([(value, 1) for value in values]))


@oracle_of(carry_digits)
@given(st.lists(st.integers(-(2**61), 2**61), min_size=DIGITS - 2, max_size=DIGITS - 2))
def test_carrying_keeps_the_number(drawn):
    """All digits but the last come into their range, and the number stays the same."""
    digits = np.array([*drawn, 0, 0], np.int64)
    before = number_of(digits)

    carry_digits(digits)

    assert number_of(digits) == before
    assert all(0 <= digit < 2**32 for digit in digits[:-1].tolist())


@oracle_of(round_number)
@given(numbers)
def test_a_number_is_rounded_half_to_even(number):
    """A long integer becomes the float nearest to it, infinity if there is none."""
    assert float_of(round_number(digits_of(number))) == rounded(number)


@oracle_of(take_bits, has_bits_below)
@given(numbers, st.integers(0, 2110))
def test_bits_are_taken_across_digits(number, lowest):
    """Any 53 bits are read, and whether there are any below them."""
    digits = digits_of(number)

    assert take_bits(digits, lowest) == number >> lowest & (1 << 53) - 1
    assert has_bits_below(digits, lowest) == (number & (1 << lowest) - 1 != 0)
