"""Groups that take their values one by one, in value order."""

from bisect import bisect_left, insort
from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np

from tidelog.engine.local.combine import Combine
from tidelog.engine.user_aggregates import AggregateObject, UserAggregate
from tidelog.maintain.group_values import GroupValues, Mask
from tidelog.storage.kernel import Int64s
from tidelog.storage.scan_tree import ScanTree
from tidelog.values import NoValueError, Value
from tidelog.values.codec import Codec
from tidelog.values.functors import order_key


class OrderedValues(GroupValues):
    """Least or greatest values of any type: the distinct values of each group, sorted."""

    def __init__(self, codec: Codec, type_name: str, *, is_greatest: bool) -> None:
        self._codec = codec
        self._type = type_name
        self._place = -1 if is_greatest else 0
        self._sorted: dict[int, list[tuple[Any, int]]] = {}
        self._counts: Counter[tuple[int, int]] = Counter()

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

    def values(self, groups: Int64s, counts: Int64s) -> Int64s:  # noqa: ARG002 - of any
        """Return the least or greatest values."""
        found = [
            self._sorted[group][self._place][1] if self._sorted.get(group) else 0 for group in groups.tolist()
        ]
        return np.array(found, np.int64)


class Combined(GroupValues):
    """What is made of the values of a group one by one, from the first again when the group changes."""

    def __init__(self, combine: Combine, names: tuple[str, ...]) -> None:
        self.combine = combine
        self._names = names
        self._values: dict[int, Counter[int]] = {}

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
        found, has_value = self.combine(numbers, codes, groups.size, outer)
        mask: Mask = counts > 0
        return found, mask if has_value is None else mask & has_value


class GroupObjects(GroupValues):
    """One object of the user's class for each group, which takes values out again."""

    def __init__(self, aggregate: UserAggregate, codec: Codec, target_type: str, result_type: str) -> None:
        self._aggregate = aggregate
        self._codec = codec
        self._types = target_type, result_type
        self._made: dict[int, Any] = {}

    def change(self, groups: Int64s, values: Int64s, diffs: Int64s) -> None:
        """Insert or delete values."""
        # What is inserted comes first: an object never has to take out more than it has.
        for place in np.argsort(-diffs, kind="stable").tolist():
            group, value = int(groups[place]), self._codec.decode(int(values[place]), self._types[0])
            self._change(group, value, int(diffs[place]))

    def _change(self, group: int, value: Value, diff: int) -> None:
        if group not in self._made:
            self._made[group] = self._aggregate.make()
        self._aggregate.add(self._made[group], value, diff)

    def _whole(self, group: int) -> AggregateObject | None:
        """Return the object of all values of a group that is not empty."""
        made: AggregateObject | None = self._made[group]
        return made

    def codes(self, groups: Int64s, counts: Int64s, columns: Int64s) -> tuple[Int64s, Mask]:  # noqa: ARG002 - as the others
        """Return the results of the objects."""
        codes, has_value = np.zeros(groups.size, np.int64), np.zeros(groups.size, np.bool_)
        for place, (group, count) in enumerate(zip(groups.tolist(), counts.tolist(), strict=True)):
            found = self._whole(group) if count else None
            if found is not None:
                with suppress(NoValueError):
                    codes[place] = self._codec.encode(self._aggregate.result(found), self._types[1])
                    has_value[place] = True
        return codes, has_value


class Scans(GroupObjects):
    """A scan tree of objects of the user's class for each group, merged on the way up."""

    def _change(self, group: int, value: Value, diff: int) -> None:
        if group not in self._made:
            self._made[group] = ScanTree(self._summary, self._aggregate.merge)
        self._made[group].change(order_key(value), value, diff)

    def _summary(self, value: Value, count: int) -> AggregateObject:
        return self._aggregate.make([value] * count)

    def _whole(self, group: int) -> AggregateObject | None:
        whole: AggregateObject | None = self._made[group].whole()
        return whole
