"""The Python functions that the cases bind to their `.functor` declarations."""

import math

from tidelog.values import NoValueError


def root(number: int) -> int:
    """Return the square root of a square; other numbers have none."""
    if number < 0 or math.isqrt(number) ** 2 != number:
        raise NoValueError
    return math.isqrt(number)


FUNCTIONS = {
    "twice": lambda number: 2 * number,
    "greet": lambda name: f"Hello {name}",
    "swap": lambda pair: (pair[1], pair[0]),
    "root": root,
    "add": lambda total, number: total + number,
    "larger": max,
    "smaller": min,
    "half": lambda number: number / 2,
    "flip": lambda number: number ^ (2**64 - 1),
    "pick": lambda text, index: text[index],
}
