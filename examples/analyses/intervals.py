# ruff: noqa: INP001 - a file that is read by its path, no package
"""The lattice of intervals.dl: texts such as "0..9", where "*" is an end that is not known."""

import math

from tidelog.values import NoValueError

_LARGEST = 2**62


def _ends(interval: str) -> tuple[float, float]:
    low, high = interval.split("..")
    return -math.inf if low == "*" else int(low), math.inf if high == "*" else int(high)


def _interval(low: float, high: float) -> str:
    """Return an interval; ends that no machine word holds are not known."""
    first = "*" if low < -_LARGEST else str(int(low))
    last = "*" if high > _LARGEST else str(int(high))
    return f"{first}..{last}"


def hull(x: str, y: str) -> str:
    """Return the least interval that contains both."""
    (a, b), (c, d) = _ends(x), _ends(y)
    return _interval(min(a, c), max(b, d))


def widen(x: str, y: str) -> str:
    """Return the first interval; an end that moves is not known from then on."""
    (a, b), (c, d) = _ends(x), _ends(y)
    return _interval(-math.inf if c < a else a, math.inf if d > b else b)


def narrow(x: str, y: str) -> str:
    """Return the first interval with its unknown ends from the second."""
    (a, b), (c, d) = _ends(x), _ends(y)
    return _interval(c if a == -math.inf else a, d if b == math.inf else b)


def operate(operator: str, x: str, y: str) -> str:
    """Return where the result of an operator lies."""
    (a, b), (c, d) = _ends(x), _ends(y)
    match operator:
        case "Add":
            return _interval(a + c, b + d)
        case "Sub":
            return _interval(a - d, b - c)
        case "Mult":
            products = [_times(left, right) for left in (a, b) for right in (c, d)]
            return _interval(min(products), max(products))
        case "FloorDiv" if c == d and c > 0 and math.isfinite(c):
            return _interval(_divided(a, c), _divided(b, c))
        case "Mod" if c > 0:
            return _interval(0, d - 1)
        case _:
            return "*..*"


def _times(left: float, right: float) -> float:
    return 0 if 0 in (left, right) else left * right


def _divided(end: float, by: float) -> float:
    return end if math.isinf(end) else int(end) // int(by)


def restrict(operator: str, x: str, y: str) -> str:
    """Return the part of the first interval that compares so with a number of the second.

    Where there is none, the test does not hold.
    """
    (a, b), (c, d) = _ends(x), _ends(y)
    match operator:
        case "Lt":
            b = min(b, d - 1)
        case "LtE":
            b = min(b, d)
        case "Gt":
            a = max(a, c + 1)
        case "GtE":
            a = max(a, c)
        case "Eq":
            a, b = max(a, c), min(b, d)
        case "NotEq" if c == d:
            a, b = (a + 1 if a == c else a), (b - 1 if b == c else b)
    if a > b:
        raise NoValueError
    return _interval(a, b)


def span(first: str, end: str) -> str:
    """Return where the numbers of `range(first, end)` lie."""
    low, high = _ends(first)[0], _ends(end)[1] - 1
    return _interval(low, max(low, high))


def leaves(x: str, length: int) -> int:
    """Return 1 if an index at a known end of the interval is out of range."""
    low, high = _ends(x)
    is_above = math.isfinite(high) and high >= length
    is_below = math.isfinite(low) and low < -length
    return int(is_above or is_below or low >= length or high < -length)
