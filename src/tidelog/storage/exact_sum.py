"""Sums of floats that never drift: one exact accumulator for each group, rounded when it is read.

A double is an integer times a power of two, and all of them are multiples of 2 ** -1074. So a sum is
one long integer of 32-bit digits, each kept in 64 bits: adding a value touches three digits, deleting
it is adding its negative, and after any number of both the digits are the sum of the remaining values.
"""

import numpy as np
import numpy.typing as npt

from tidelog.storage.kernel import Int64s, Integer, kernel
from tidelog.values.memory import enlarge

Floats = npt.NDArray[np.float64]

# Bit 0 is 2 ** -1074; the highest bit of a double is 2097, and two digits are left for carries.
DIGITS = 68
_DIGIT_BITS = 32
_DIGIT_MASK = (1 << 32) - 1
_MANTISSA_BITS = 52
_MANTISSA_MASK = (1 << 52) - 1
_EXPONENT_MASK = 0x7FF
# A digit has room for this many values before its carry must be propagated.
_CHANGES_PER_CARRY = 1 << 28
# Columns of the counts of values that are not finite.
_INFINITE, _NEGATIVE_INFINITE, _NOT_A_NUMBER = 0, 1, 2
_NAN_CODE = 0x7FF8_0000_0000_0000
_INFINITY_CODE = 0x7FF0_0000_0000_0000
_NEGATIVE_INFINITY_CODE = -0x0010_0000_0000_0000


@kernel
def add_floats(
    digits: Int64s, special: Int64s, pending: Int64s, groups: Int64s, codes: Int64s, diffs: Int64s
) -> None:
    """Add each float, as its bits, to the accumulator of its group as often as its diff says.

    Requires `digits`, `special` and `pending` to have a row for each group, and diffs of at most 2 ** 28.
    """
    for position in range(groups.shape[0]):
        group = groups[position]
        code = codes[position]
        diff = diffs[position]
        exponent = (code >> _MANTISSA_BITS) & _EXPONENT_MASK
        mantissa = code & _MANTISSA_MASK
        if exponent == _EXPONENT_MASK:
            column = _NOT_A_NUMBER if mantissa != 0 else (_NEGATIVE_INFINITE if code < 0 else _INFINITE)
            special[group, column] += diff
            continue
        if exponent != 0:
            mantissa |= 1 << _MANTISSA_BITS
            exponent -= 1
        pending[group] += abs(diff)
        if pending[group] > _CHANGES_PER_CARRY:
            carry_digits(digits[group])
            pending[group] = abs(diff)
        if code < 0:
            diff = -diff
        place = exponent >> 5
        shift = exponent & 31
        low = (mantissa & _DIGIT_MASK) << shift
        high = (mantissa >> _DIGIT_BITS) << shift
        digits[group, place] += diff * (low & _DIGIT_MASK)
        digits[group, place + 1] += diff * ((low >> _DIGIT_BITS) + (high & _DIGIT_MASK))
        digits[group, place + 2] += diff * (high >> _DIGIT_BITS)


@kernel
def carry_digits(digits: Int64s) -> None:
    """Normalise all digits but the last to 0 .. 2 ** 32 - 1; the last one has the sign."""
    carry = 0
    for place in range(DIGITS - 1):
        total = digits[place] + carry
        carry = total >> _DIGIT_BITS
        digits[place] = total & _DIGIT_MASK
    digits[DIGITS - 1] += carry


@kernel
def round_sums(digits: Int64s, special: Int64s, groups: Int64s, codes: Int64s) -> None:
    """Write the bits of each group's sum, rounded once, half to even."""
    number = np.empty(DIGITS, np.int64)
    for position in range(groups.shape[0]):
        group = groups[position]
        if special[group, 0] != 0 or special[group, 1] != 0 or special[group, 2] != 0:
            if special[group, 2] != 0 or (special[group, 0] != 0 and special[group, 1] != 0):
                codes[position] = _NAN_CODE
            else:
                codes[position] = _INFINITY_CODE if special[group, 0] != 0 else _NEGATIVE_INFINITY_CODE
            continue
        for place in range(DIGITS):
            number[place] = digits[group, place]
        carry_digits(number)
        is_negative = number[DIGITS - 1] < 0
        if is_negative:
            for place in range(DIGITS):
                number[place] = -number[place]
            carry_digits(number)
        code = round_number(number)
        codes[position] = code | np.int64(-(2**63)) if is_negative and code != 0 else code


@kernel
def round_number(number: Int64s) -> Integer:
    """Return the bits of the double nearest to a number of carried digits that is not negative."""
    top = DIGITS - 1
    while top >= 0 and number[top] == 0:
        top -= 1
    if top < 0:
        return 0
    highest = top * _DIGIT_BITS
    rest = number[top] >> 1
    while rest != 0:
        highest += 1
        rest >>= 1
    lowest = highest - _MANTISSA_BITS
    if lowest <= 0:
        # All bits fit: a subnormal, or the smallest normal doubles.
        small: Integer = number[0] | (number[1] << _DIGIT_BITS)
        return small
    mantissa: Integer = take_bits(number, lowest)
    half = (number[(lowest - 1) >> 5] >> ((lowest - 1) & 31)) & 1
    if half != 0 and (mantissa & 1 != 0 or has_bits_below(number, lowest - 1)):
        mantissa += 1
        if mantissa >> (_MANTISSA_BITS + 1) != 0:
            mantissa >>= 1
            lowest += 1
    exponent = lowest + 1
    if exponent >= _EXPONENT_MASK:
        return _INFINITY_CODE
    return (exponent << _MANTISSA_BITS) | (mantissa & _MANTISSA_MASK)


@kernel
def take_bits(number: Int64s, lowest: int) -> Integer:
    """Return the 53 bits from `lowest` on."""
    place = lowest >> 5
    shift = lowest & 31
    bits = number[place] >> shift
    got = _DIGIT_BITS - shift
    bits |= number[place + 1] << got
    if got + _DIGIT_BITS <= _MANTISSA_BITS and place + 2 < DIGITS:
        bits |= number[place + 2] << (got + _DIGIT_BITS)
    taken: Integer = bits & ((1 << (_MANTISSA_BITS + 1)) - 1)
    return taken


@kernel
def has_bits_below(number: Int64s, lowest: int) -> bool:
    """Say whether a bit below `lowest` is set."""
    place = lowest >> 5
    if number[place] & ((1 << (lowest & 31)) - 1) != 0:
        return True
    for lower in range(place):
        if number[lower] != 0:
            return True
    return False


class ExactSums:
    """Exact sums of floats by group number; values are added and removed as their bits.

    sums = ExactSums()
    sums.change(np.array([0, 0]), bits_of([1e100, 1.0]), np.array([1, 1]))
    sums.change(np.array([0]), bits_of([1e100]), np.array([-1]))
    sums.codes(np.array([0]))  ->  the bits of 1.0
    """

    def __init__(self) -> None:
        self._digits: Int64s = np.zeros((0, DIGITS), np.int64)
        self._special: Int64s = np.zeros((0, 3), np.int64)
        self._pending: Int64s = np.zeros(0, np.int64)

    def reserve(self, groups: int) -> None:
        """Make room for this many groups, the new ones empty."""
        known = self._pending.shape[0]
        if groups > known:
            enlarge(self, ("_digits", "_special", "_pending"), groups, known)

    def change(self, groups: Int64s, codes: Int64s, diffs: Int64s) -> None:
        """Insert (or, with negative diffs, delete) values as their bits."""
        add_floats(self._digits, self._special, self._pending, groups, codes, diffs)

    def codes(self, groups: Int64s) -> Int64s:
        """Return the bits of the sum of each group."""
        found = np.empty(groups.shape[0], np.int64)
        round_sums(self._digits, self._special, groups, found)
        return found
