"""The values that trees hold, each with a number of its own."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

TreeValue = str | int | float
# Stands for an optional value that is absent.
ABSENT = -1


class Pool:
    """Values of trees by number, and numbers by value; it grows and never forgets.

    `1`, `1.0` and `True` are three values, and every NaN is one.
    """

    def __init__(self) -> None:
        self.values: list[TreeValue] = []
        self._texts: dict[str, int] = {}
        self._others: dict[tuple[type, str], int] = {}

    def number(self, value: TreeValue) -> int:
        """Return the number of a value."""
        if type(value) is str:
            found = self._texts.get(value)
            if found is None:
                found = self._texts[value] = len(self.values)
                self.values.append(value)
            return found
        # The text tells 0.0 from -0.0, which compare equal.
        key = (type(value), repr(value))
        found = self._others.get(key)
        if found is None:
            found = self._others[key] = len(self.values)
            self.values.append(math.nan if value != value else value)  # noqa: PLR0124 - only NaN differs
        return found

    def numbers(self, values: Iterable[TreeValue]) -> npt.NDArray[np.int64]:
        """Return the numbers of several values."""
        return np.array([self.number(value) for value in values], dtype=np.int64)

    def pick(self, numbers: npt.NDArray[np.int64]) -> Sequence[TreeValue]:
        """Return the values of numbers."""
        values = self.values
        return [values[number] for number in numbers.tolist()]

    def translate(self, numbers: npt.NDArray[np.int64], other: "Pool") -> npt.NDArray[np.int64]:
        """Return this pool's numbers for values that have `numbers` in another one."""
        if other is self or not numbers.size:
            return numbers
        own = np.full(len(other.values) + 1, ABSENT, dtype=np.int64)
        used = np.unique(numbers)
        for number in used[used >= 0].tolist():
            own[number] = self.number(other.values[number])
        return own[numbers]
