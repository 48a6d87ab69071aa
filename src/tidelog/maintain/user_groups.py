"""Groups whose values are taken one by one, in value order."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.aggregates import Evaluated, fold_groups
from tidelog.storage.kernel import Int64s
from tidelog.values.codec import Codec
from tidelog.values.functors import order_key

Mask = npt.NDArray[np.bool_]
Term = Callable[[Mapping[str, Int64s], int], Evaluated]


class OrderedValues:
    """Least or greatest values of any type: the distinct values of each group, sorted."""

    def __init__(self, codec: Codec, type_name: str, *, is_greatest: bool) -> None:
        self._codec = codec
        self._type = type_name
        self._place = -1 if is_greatest else 0
        self._sorted: dict[int, list[tuple[Any, int]]] = {}
        self._counts: Counter[tuple[int, int]] = Counter()

    def reserve(self, groups: int) -> None:
        """Keep nothing for groups without values."""

    def change(self, groups: Int64s, values: Int64s, diffs: Int64s) -> None:
        """Insert or delete values."""
        for group, code, diff in zip(groups.tolist(), values.tolist(), diffs.tolist(), strict=True):
            before = self._counts[group, code]
            self._counts[group, code] = before + diff
            if (before > 0) == (before + diff > 0):
                continue
            entry = (order_key(self._codec.decode(code, self._type)), code)
            ordered = self._sorted.setdefault(group, [])
            if diff > 0:
                insort(ordered, entry)
            else:
                del ordered[bisect_left(ordered, entry)]
                del self._counts[group, code]

    def codes(self, groups: Int64s, counts: Int64s, columns: Int64s) -> tuple[Int64s, Mask]:  # noqa: ARG002 - as the others
        """Return the least or greatest values."""
        found = [
            self._sorted[group][self._place][1] if self._sorted.get(group) else 0 for group in groups.tolist()
        ]
        return np.array(found, np.int64), counts > 0


class Folds:
    """What a user's functor makes of an initial value and the values of a group, in value order."""

    def __init__(self, codec: Codec, type_name: str, step: Term, init: Term, names: tuple[str, ...]) -> None:
        self._codec = codec
        self._type = type_name
        self._step = step
        self._init = init
        self._names = names
        self._values: dict[int, Counter[int]] = {}

    def reserve(self, groups: int) -> None:
        """Keep nothing for groups without values."""

    def change(self, groups: Int64s, values: Int64s, diffs: Int64s) -> None:
        """Insert or delete values."""
        for group, code, diff in zip(groups.tolist(), values.tolist(), diffs.tolist(), strict=True):
            self._values.setdefault(group, Counter())[code] += diff

    def codes(self, groups: Int64s, counts: Int64s, columns: Int64s) -> tuple[Int64s, Mask]:
        """Return the folded values."""
        numbers: list[int] = []
        codes: list[int] = []
        for number, group in enumerate(groups.tolist()):
            values = list(self._values.get(group, Counter()).elements())
            codes.extend(values)
            numbers.extend([number] * len(values))
        outer = {name: columns[:, place] for place, name in enumerate(self._names)}
        init, has_init = self._init(outer, groups.size)
        values_of = np.array(codes, np.int64)
        order = self._codec.order_keys(values_of, self._type)
        folded, has_value = fold_groups(self._step, init, np.array(numbers, np.int64), values_of, order)
        mask: Mask = counts > 0
        for part in (has_init, has_value):
            if part is not None:
                mask = mask & part
        return folded, mask
