"""Groups whose values are taken one by one, in value order."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.combine import Combine
from tidelog.engine.user_aggregates import AggregateObject, UserAggregate
from tidelog.storage.kernel import Int64s
from tidelog.storage.scan_tree import ScanTree
from tidelog.values import NoValueError, Value
from tidelog.values.codec import Codec
from tidelog.values.functors import order_key

Mask = npt.NDArray[np.bool_]


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


class Combined:
    """What is made of the values of a group one by one, from the first again when the group changes."""

    def __init__(self, combine: Combine, names: tuple[str, ...]) -> None:
        self._combine = combine
        self._names = names
        self._values: dict[int, Counter[int]] = {}

    def reserve(self, groups: int) -> None:
        """Keep nothing for groups without values."""

    def change(self, groups: Int64s, values: Int64s, diffs: Int64s) -> None:
        """Insert or delete values."""
        for group, code, diff in zip(groups.tolist(), values.tolist(), diffs.tolist(), strict=True):
            self._values.setdefault(group, Counter())[code] += diff

    def codes(self, groups: Int64s, counts: Int64s, columns: Int64s) -> tuple[Int64s, Mask]:
        """Return the values."""
        members = [list(self._values.get(group, Counter()).elements()) for group in groups.tolist()]
        numbers = np.repeat(np.arange(len(members)), [len(values) for values in members])
        codes = np.array([code for values in members for code in values], np.int64)
        outer = {name: columns[:, place] for place, name in enumerate(self._names)}
        found, has_value = self._combine(numbers, codes, groups.size, outer)
        mask: Mask = counts > 0
        return found, mask if has_value is None else mask & has_value


class Objects:
    """One object of the user's class for each group, which takes values out again."""

    def __init__(self, aggregate: UserAggregate, codec: Codec, target_type: str, result_type: str) -> None:
        self._aggregate = aggregate
        self._codec = codec
        self._types = target_type, result_type
        self._objects: dict[int, AggregateObject] = {}

    def reserve(self, groups: int) -> None:
        """Keep nothing for groups without values."""

    def change(self, groups: Int64s, values: Int64s, diffs: Int64s) -> None:
        """Insert or delete values."""
        # What comes is added first: an object never has to take out more than it has.
        for place in np.argsort(-diffs, kind="stable").tolist():
            group = int(groups[place])
            if group not in self._objects:
                self._objects[group] = self._aggregate.make()
            value = self._codec.decode(int(values[place]), self._types[0])
            self._aggregate.add(self._objects[group], value, int(diffs[place]))

    def codes(self, groups: Int64s, counts: Int64s, columns: Int64s) -> tuple[Int64s, Mask]:  # noqa: ARG002 - as the others
        """Return the results of the objects."""
        found = [
            self._objects[group] if count else None
            for group, count in zip(groups.tolist(), counts.tolist(), strict=True)
        ]
        return results(self._aggregate, found, self._codec, self._types[1])


class Scans:
    """A scan tree of objects of the user's class for each group, merged on the way up."""

    def __init__(self, aggregate: UserAggregate, codec: Codec, target_type: str, result_type: str) -> None:
        self._aggregate = aggregate
        self._codec = codec
        self._types = target_type, result_type
        self._trees: dict[int, ScanTree[AggregateObject]] = {}

    def reserve(self, groups: int) -> None:
        """Keep nothing for groups without values."""

    def change(self, groups: Int64s, values: Int64s, diffs: Int64s) -> None:
        """Insert or delete values."""
        for place in np.argsort(-diffs, kind="stable").tolist():
            group = int(groups[place])
            if group not in self._trees:
                self._trees[group] = ScanTree(self._summary, self._aggregate.merge)
            value = self._codec.decode(int(values[place]), self._types[0])
            self._trees[group].change(order_key(value), value, int(diffs[place]))

    def _summary(self, value: Value, count: int) -> AggregateObject:
        return self._aggregate.make([value] * count)

    def codes(self, groups: Int64s, counts: Int64s, columns: Int64s) -> tuple[Int64s, Mask]:  # noqa: ARG002 - as the others
        """Return the results of the trees."""
        found = [self._trees[group].whole() if group in self._trees else None for group in groups.tolist()]
        return results(self._aggregate, found, self._codec, self._types[1])


def results(
    aggregate: UserAggregate, objects: Sequence[AggregateObject | None], codec: Codec, type_name: str
) -> tuple[Int64s, Mask]:
    """Return the codes of the objects' results, and which of them have one."""
    codes, has_value = np.zeros(len(objects), np.int64), np.zeros(len(objects), np.bool_)
    for place, found in enumerate(objects):
        if found is None:
            continue
        try:
            codes[place] = codec.encode(aggregate.result(found), type_name)
        except NoValueError:
            continue
        has_value[place] = True
    return codes, has_value
