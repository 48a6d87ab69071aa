"""Joins, widenings and narrowings as users write them, and functions that move values on."""

from collections.abc import Callable

from tidelog.values import NoValueError, Value

# Intervals are texts such as "0..9" and "0..*", sets of types such as "int|str".


def _ends(interval: str) -> tuple[float, float]:
    low, high = interval.split("..")
    return (float("-inf") if low == "*" else int(low), float("inf") if high == "*" else int(high))


def _interval(low: float, high: float) -> str:
    return "..".join("*" if abs(end) == float("inf") else str(int(end)) for end in (low, high))


def hull(x: str, y: str) -> str:
    """Return the least interval that contains two."""
    (a, b), (c, d) = _ends(x), _ends(y)
    return _interval(min(a, c), max(b, d))


def widen(x: str, y: str) -> str:
    """Return the first interval with the ends that moved at infinity."""
    (a, b), (c, d) = _ends(x), _ends(y)
    return _interval(float("-inf") if c < a else a, float("inf") if d > b else b)


def narrow(x: str, y: str) -> str:
    """Return the first interval with its infinite ends taken from the second."""
    (a, b), (c, d) = _ends(x), _ends(y)
    return _interval(c if a == float("-inf") else a, d if b == float("inf") else b)


def shift(x: str, n: int) -> str:
    """Return an interval moved by a number."""
    low, high = _ends(x)
    return _interval(low + n, high + n)


def cap(x: str, n: int) -> str:
    """Return the part of an interval that is below a number; there is none beyond it."""
    low, high = _ends(x)
    if low > n:
        raise NoValueError
    return _interval(low, min(high, n))


def both(x: str, y: str) -> str:
    """Return the sum of two intervals."""
    (a, b), (c, d) = _ends(x), _ends(y)
    return _interval(a + c, b + d)


def constant(x: str, y: str) -> str:
    """Return the value if it is the same, otherwise the top."""
    return x if x == y else "?"


def union(x: str, y: str) -> str:
    """Return the types of both, or any type if there are more than two."""
    if "any" in (x, y):
        return "any"
    types = {*x.split("|"), *y.split("|")}
    return "any" if len(types) > 2 else "|".join(sorted(types))


LATTICE_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "hull": hull,
    "widen": widen,
    "narrow": narrow,
    "shift": shift,
    "cap": cap,
    "both": both,
    "constant": constant,
    "union": union,
}
