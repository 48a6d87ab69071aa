"""The values that trees hold, each with a number of its own."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.values.distinct_codes import distinct_codes

TreeValue = str | int | float
Numbers = npt.NDArray[np.int64]
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

    def extend(self, texts: Sequence[str], others: Mapping[int, TreeValue]) -> Numbers | None:
        """Return the numbers of the values of another pool, None if they are the same as there.

        These are its texts in order, and its other values by number.
        """
        values: list[TreeValue] = list(texts)
        if others:
            following = iter(texts)
            count = len(texts) + len(others)
            values = [others[number] if number in others else next(following) for number in range(count)]
        if self.values:
            return self.numbers(values)
        self.values = values
        self._others = {(type(value), repr(value)): number for number, value in others.items()}
        places = (number for number in range(len(values)) if number not in others)
        self._texts = dict(zip(texts, places, strict=True))
        return None

    def pick(self, numbers: npt.NDArray[np.int64]) -> Sequence[TreeValue]:
        """Return the values of numbers."""
        values = self.values
        return [values[number] for number in numbers.tolist()]

    def translate(self, numbers: npt.NDArray[np.int64], other: "Pool") -> npt.NDArray[np.int64]:
        """Return this pool's numbers for values that have `numbers` in another one."""
        if other is self or not numbers.size:
            return numbers
        own = np.full(len(other.values) + 1, ABSENT, dtype=np.int64)
        used = distinct_codes(numbers)
        for number in used[used >= 0].tolist():
            own[number] = self.number(other.values[number])
        return own[numbers]
