"""The value of an aggregate over the values of its derivations."""

from collections.abc import Sequence
from typing import cast

from tidelog.values.functors import canonical_float, exact_sum, order_key, wrap_number
from tidelog.values.types import Kind
from tidelog.values.value import NoValueError, Value


def combine(functor: str, kind: Kind, values: Sequence[Value]) -> Value:
    """Return count, sum, min, max or mean of the values, one per derivation.

    Sum and count of nothing are 0; the others have no value then. A mean is the exact sum
    divided by the count, rounded once for integers; `max` of floats is NaN if one is NaN.
    """
    match functor:
        case "count":
            return len(values)
        case "sum" if kind is Kind.FLOAT:
            return exact_sum(cast("Sequence[float]", values))
        case "sum":
            total = sum(cast("Sequence[int]", values))
            return wrap_number(total) if kind is Kind.NUMBER else total % 2**64
    if not values:
        raise NoValueError
    match functor:
        case "min":
            return min(values, key=order_key)
        case "max":
            return max(values, key=order_key)
        case "mean" if kind is Kind.FLOAT:
            return canonical_float(exact_sum(cast("Sequence[float]", values)) / len(values))
        case "mean":
            return sum(cast("Sequence[int]", values)) / len(values)
    raise AssertionError(functor)
