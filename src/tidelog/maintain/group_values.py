"""The value of each group of an aggregate, as derivations are gained and lost.

    count         the number of derivations
    sum           integers: added and subtracted; floats: exact, see `storage.exact_sum`
    mean          as sum, divided by the count
    min, max      numeric: `storage.ordered_groups`; others: values in order, see `OrderedValues`
    @name, concat folds the values in order, see `maintain.user_groups`

Groups are dense numbers. The value of a group depends only on the derivations it has now, never on those
it had before.
"""

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.aggregates import divide_totals, split_halves
from tidelog.storage.exact_sum import ExactSums
from tidelog.storage.kernel import Int64s
from tidelog.storage.ordered_groups import OrderedGroups
from tidelog.storage.value_order import ValueOrder
from tidelog.values import Kind
from tidelog.values.codes import floats_to_codes
from tidelog.values.memory import enlarged

Mask = npt.NDArray[np.bool_]


class GroupValues:
    """Keeps what is needed to know the value of every group."""

    def reserve(self, groups: int) -> None:
        """Make room for so many groups, the new ones empty; by default nothing is kept for those."""

    def change(self, groups: Int64s, values: Int64s, diffs: Int64s) -> None:
        """Insert (or, with negative diffs, delete) derivations with the codes of their targets."""

    def codes(self, groups: Int64s, counts: Int64s, columns: Int64s) -> tuple[Int64s, Mask]:  # noqa: ARG002 - for `Combined`
        """Return the code of each group's value, and which of them have one.

        `counts` has the number of derivations of each group, `columns` the values it is grouped by.
        """
        return self.values(groups, counts), counts > 0

    def values(self, groups: Int64s, counts: Int64s) -> Int64s:
        """Return the code of each group's value; for an empty group it means nothing."""
        raise NotImplementedError


class Counts(GroupValues):
    """The number of derivations, which the caller knows."""

    def values(self, groups: Int64s, counts: Int64s) -> Int64s:  # noqa: ARG002 - of any group
        """Return the counts."""
        return counts


class Sums(GroupValues):
    """Sums of integers, which wrap."""

    def __init__(self) -> None:
        self._sums: Int64s = np.zeros(0, np.int64)

    def reserve(self, groups: int) -> None:
        """Make room for so many groups."""
        if groups > self._sums.size:
            self._sums = enlarged(self._sums, groups, self._sums.size)

    def change(self, groups: Int64s, values: Int64s, diffs: Int64s) -> None:
        """Add or subtract."""
        np.add.at(self._sums, groups, values * diffs)

    def values(self, groups: Int64s, counts: Int64s) -> Int64s:  # noqa: ARG002 - of any
        """Return the sums."""
        return self._sums[groups]


class Means(GroupValues):
    """Means of integers: exact totals divided by counts."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._halves = Sums(), Sums()

    def reserve(self, groups: int) -> None:
        """Make room for so many groups."""
        for half in self._halves:
            half.reserve(groups)

    def change(self, groups: Int64s, values: Int64s, diffs: Int64s) -> None:
        """Add or subtract."""
        for half, part in zip(self._halves, split_halves(self._kind, values), strict=True):
            half.change(groups, part, diffs)

    def values(self, groups: Int64s, counts: Int64s) -> Int64s:
        """Return the means."""
        highs, lows = (half.values(groups, counts) for half in self._halves)
        with np.errstate(all="ignore"):
            return floats_to_codes(divide_totals(highs, lows, counts))


class FloatSums(GroupValues):
    """Sums of floats, rounded once, and means of them."""

    def __init__(self, *, is_mean: bool) -> None:
        self._sums = ExactSums()
        self._is_mean = is_mean

    def reserve(self, groups: int) -> None:
        """Make room for so many groups."""
        self._sums.reserve(groups)

    def change(self, groups: Int64s, values: Int64s, diffs: Int64s) -> None:
        """Add or subtract."""
        self._sums.change(groups, values, diffs)

    def values(self, groups: Int64s, counts: Int64s) -> Int64s:
        """Return the sums or the means."""
        codes = self._sums.codes(groups)
        if self._is_mean:
            with np.errstate(all="ignore"):
                codes = floats_to_codes(codes.view(np.float64) / np.maximum(counts, 1))
        return codes


class Extremes(GroupValues):
    """Least or greatest numeric values."""

    def __init__(self, kind: Kind, *, is_greatest: bool) -> None:
        self._ordered = OrderedGroups()
        self._order = ValueOrder(kind, is_greatest)

    def reserve(self, groups: int) -> None:
        """Make room for so many groups."""
        self._ordered.reserve(groups)

    def change(self, groups: Int64s, values: Int64s, diffs: Int64s) -> None:
        """Insert or delete values."""
        self._ordered.change(groups, self._order.to_keys(values), diffs)

    def values(self, groups: Int64s, counts: Int64s) -> Int64s:  # noqa: ARG002 - of any
        """Return the least or greatest values."""
        return self._order.to_codes(self._ordered.least(groups))


def numeric_values(functor: str, kind: Kind) -> GroupValues | None:
    """Return the array form of an aggregate's values, or None if it takes values one by one."""
    match functor:
        case "count":
            return Counts()
        case "sum" | "mean" if kind is Kind.FLOAT:
            return FloatSums(is_mean=functor == "mean")
        case "sum":
            return Sums()
        case "mean":
            return Means(kind)
        case "min" | "max" if kind.is_numeric:
            return Extremes(kind, is_greatest=functor == "max")
        case _:
            return None
