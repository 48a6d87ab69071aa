"""Kernel parts: functors of numbers, unsigned and floats, by their codes."""

import numpy as np

from tidelog.engine.local.by_row.layout import (
    ADD,
    AND,
    BOTH,
    COPY,
    DIVIDE,
    EITHER,
    FLOAT_ADD,
    FLOAT_DIVIDE,
    FLOAT_IS_AT_MOST,
    FLOAT_IS_LESS,
    FLOAT_MULTIPLY,
    FLOAT_SUBTRACT,
    GREATER,
    LESSER,
    MULTIPLY,
    NUMBER_TO_FLOAT,
    ONE_OF_TWO,
    OR,
    REMAINDER,
    SHIFT_IN_ZEROS,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    SUBTRACT,
    UNSIGNED_DIVIDE,
    UNSIGNED_REMAINDER,
    XOR,
)
from tidelog.storage.kernel import Integer, inlined
from tidelog.values.codes import NAN_CODE


@inlined
def divides(functor: Integer) -> bool:
    """Say whether a functor has no value if its right operand is zero."""
    return functor in (DIVIDE, REMAINDER, UNSIGNED_DIVIDE, UNSIGNED_REMAINDER)


@inlined
def compute(functor: Integer, left: np.int64, right: np.int64) -> np.int64:
    """Return the code of a functor's value for two codes, the first of which is all that some functors need.

    Requires the right operand of a division of integers not to be zero.
    """
    if functor == ADD:
        return left + right
    if functor == SUBTRACT:
        return left - right
    if functor == MULTIPLY:
        return left * right
    if functor == COPY:
        return left
    if functor in (DIVIDE, REMAINDER):
        return _divide(functor, left, right)
    if functor in (LESSER, GREATER):
        return left if (left < right) == (functor == LESSER) else right
    if functor <= ONE_OF_TWO:
        return _combine_bits(functor, left, right)
    if functor in (UNSIGNED_DIVIDE, UNSIGNED_REMAINDER):
        dividend, divisor = np.uint64(left), np.uint64(right)
        return np.int64(dividend // divisor if functor == UNSIGNED_DIVIDE else dividend % divisor)
    return _compute_float(functor, left, right)


@inlined
def _divide(functor: Integer, left: np.int64, right: np.int64) -> np.int64:
    if right == -1:
        return np.int64(0) if functor == REMAINDER else -left
    quotient = left // right
    if quotient < 0 and quotient * right != left:
        quotient += 1
    return quotient if functor == DIVIDE else left - quotient * right


@inlined
def _combine_bits(functor: Integer, left: np.int64, right: np.int64) -> np.int64:
    if functor == AND:
        return left & right
    if functor == OR:
        return left | right
    if functor == XOR:
        return left ^ right
    if functor == SHIFT_LEFT:
        return left << (right & 63)
    if functor == SHIFT_RIGHT:
        return left >> (right & 63)
    if functor == SHIFT_IN_ZEROS:
        return np.int64(np.uint64(left) >> np.uint64(right & 63))
    if functor == BOTH:
        return np.int64(left != 0 and right != 0)
    if functor == EITHER:
        return np.int64(left != 0 or right != 0)
    return np.int64((left != 0) != (right != 0))


@inlined
def _compute_float(functor: Integer, left: np.int64, right: np.int64) -> np.int64:
    """Return a truth value, or the code of a float: there is one NaN, and no negative zero."""
    one, other = np.int64(left).view(np.float64), np.int64(right).view(np.float64)
    if functor == FLOAT_IS_LESS:
        return np.int64(one < other)
    if functor == FLOAT_IS_AT_MOST:
        return np.int64(one <= other)
    if functor == FLOAT_ADD:
        value = one + other
    elif functor == FLOAT_SUBTRACT:
        value = one - other
    elif functor == FLOAT_MULTIPLY:
        value = one * other
    elif functor == FLOAT_DIVIDE:
        value = one / other
    elif functor == NUMBER_TO_FLOAT:
        value = np.float64(left)
    else:
        # UNSIGNED_TO_FLOAT is all that is left.
        value = np.float64(np.uint64(left))
    if np.isnan(value):
        return np.int64(NAN_CODE)
    return np.float64(value + 0.0).view(np.int64)
