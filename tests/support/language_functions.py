"""The Python functions and classes of the functors that programs of the whole language may apply.

Every fold gives one value whatever the order, and what is called stateful is not: engines may call
functions in any order and any number of times, and their answers are compared.
"""

from tidelog.engine.protocol import UserFunctions
from tidelog.values import NoValueError, Value

DECLARATIONS = """
.functor twice(x: number): number
.functor half(x: number): number
.functor tick(x: number): number stateful
.functor low(x: unsigned): unsigned
.functor sign(x: float): float
.functor glue(a: symbol, b: symbol): symbol
.functor paired(n: number, s: symbol): Pair
.functor tag(p: Pair): symbol
.functor larger(x: number, y: number): number
.functor smaller(x: number, y: number): number
.functor fold(total: number, x: number): number
.functor Spread(x: number): number
.functor Total(x: number): number
.functor Longest(x: symbol): number
"""


def _half(x: int) -> int:
    if x % 2:
        raise NoValueError
    return x // 2


def _tag(pair: tuple[int, str] | None) -> str:
    return "nil" if pair is None else pair[1]


class Spread:
    """An aggregate that merges."""

    def __init__(self) -> None:
        self.values: list[int] = []

    def add(self, value: int) -> None:
        """Take a value."""
        self.values = sorted([*self.values, value])[:: max(1, len(self.values))]

    def merge(self, other: "Spread") -> "Spread":
        """Return the aggregate of both."""
        both = Spread()
        for value in (*self.values, *other.values):
            both.add(value)
        return both

    def result(self) -> Value:
        """Return the difference between the largest and the smallest value, kept small."""
        return (self.values[-1] - self.values[0]) % 7


class Total:
    """An aggregate that removes."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, value: int) -> None:
        """Take a value."""
        self.total += value

    def remove(self, value: int) -> None:
        """Give a value back."""
        self.total -= value

    def result(self) -> Value:
        """Return the sum, kept small; an odd one has no value."""
        if self.total % 2:
            raise NoValueError
        return self.total % 10


class Longest:
    """An aggregate that does neither."""

    def __init__(self) -> None:
        self.length = 0

    def add(self, value: str) -> None:
        """Take a value."""
        self.length = max(self.length, len(value))

    def result(self) -> Value:
        """Return the length of the longest text."""
        return self.length


FUNCTIONS: UserFunctions = {
    "twice": lambda x: 2 * x % 7,
    "half": _half,
    "tick": lambda x: x % 3,
    "low": lambda x: x % 5,
    "sign": lambda x: 1.0 if x > 0 else -0.5,
    "glue": lambda a, b: (a + b)[:3],
    "paired": lambda n, s: (n % 3, s),
    "tag": _tag,
    "larger": max,
    "smaller": min,
    "fold": lambda total, x: (total + x) % 1000,
    "Spread": Spread,
    "Total": Total,
    "Longest": Longest,
}
