"""The least key of each group while keys come and go.

Every distinct (group, key) is an entry with a multiplicity. The entries of a group that were ever
present form a skew heap, linked by entry numbers; an entry whose multiplicity is zero stays in it
until it comes to the top. So a change costs a probe and, amortised, the logarithm of the group.
"""

import numpy as np

from tidelog.storage.kernel import Bools, Int64s, kernel
from tidelog.storage.memory import enlarged
from tidelog.storage.relation import StoredRelation

_NONE = -1


@kernel
def merge_heaps(first: int, second: int, rows: Int64s, left: Int64s, right: Int64s) -> int:
    """Return the root of two heaps made one; the numbers are those of roots, -1 for an empty heap."""
    if first < 0:
        return second
    if second < 0:
        return first
    if rows[second, 1] < rows[first, 1]:
        first, second = second, first
    root = first
    while True:
        # What stood on the right is merged further and goes to the left: that keeps paths short.
        rest = right[first]
        right[first] = left[first]
        if rest < 0:
            left[first] = second
            return root
        if rows[second, 1] < rows[rest, 1]:
            rest, second = second, rest
        left[first] = rest
        first = rest


@kernel
def change_entries(
    rows: Int64s, entries: Int64s, diffs: Int64s, multiplicities: Int64s, left: Int64s, right: Int64s,
    is_linked: Bools, roots: Int64s,
) -> None:  # fmt: skip
    """Add diffs to entries, and link those into the heap of their group that are not in it."""
    for position in range(entries.shape[0]):
        entry = entries[position]
        multiplicities[entry] += diffs[position]
        if multiplicities[entry] > 0 and is_linked[entry] == 0:
            is_linked[entry] = 1
            left[entry] = _NONE
            right[entry] = _NONE
            group = rows[entry, 0]
            roots[group] = merge_heaps(roots[group], entry, rows, left, right)


@kernel
def least_entries(
    groups: Int64s, rows: Int64s, multiplicities: Int64s, left: Int64s, right: Int64s,
    is_linked: Bools, roots: Int64s, found: Int64s,
) -> None:  # fmt: skip
    """Write the entry with the least key of each group, -1 for an empty one."""
    for position in range(groups.shape[0]):
        group = groups[position]
        root = roots[group]
        while root >= 0 and multiplicities[root] == 0:
            is_linked[root] = 0
            root = merge_heaps(left[root], right[root], rows, left, right)
        roots[group] = root
        found[position] = root


class OrderedGroups:
    """Keys by group, with how often each is there.

    groups = OrderedGroups()
    groups.reserve(1)
    groups.change(np.array([0, 0]), np.array([5, 3]), np.array([1, 1]))
    groups.least(np.array([0]))  ->  [3]
    """

    def __init__(self) -> None:
        self._entries = StoredRelation(2, np.int64, counting=True)
        self._multiplicities: Int64s = np.zeros(0, np.int64)
        self._left: Int64s = np.zeros(0, np.int64)
        self._right: Int64s = np.zeros(0, np.int64)
        self._is_linked: Bools = np.zeros(0, np.uint8)
        self._roots: Int64s = np.zeros(0, np.int64)

    def reserve(self, groups: int) -> None:
        """Make room for so many groups, the new ones empty."""
        known = self._roots.shape[0]
        if groups > known:
            self._roots = enlarged(self._roots, groups, known)
            self._roots[known:] = _NONE

    def change(self, groups: Int64s, keys: Int64s, diffs: Int64s) -> None:
        """Insert (or, with negative diffs, delete) keys."""
        entries = self._entries.locate(np.stack([groups, keys], axis=1))
        capacity = self._entries.rows.shape[0]
        known = self._multiplicities.shape[0]
        if capacity > known:
            self._multiplicities = enlarged(self._multiplicities, capacity, known)
            self._left = enlarged(self._left, capacity, known)
            self._right = enlarged(self._right, capacity, known)
            self._is_linked = enlarged(self._is_linked, capacity, known)
        change_entries(
            self._entries.rows, entries, diffs, self._multiplicities, self._left, self._right,
            self._is_linked, self._roots,
        )  # fmt: skip

    def least(self, groups: Int64s) -> Int64s:
        """Return the least key of each group; what stands for an empty one means nothing."""
        found = np.empty(groups.shape[0], np.int64)
        least_entries(
            groups, self._entries.rows, self._multiplicities, self._left, self._right,
            self._is_linked, self._roots, found,
        )  # fmt: skip
        keys: Int64s = self._entries.rows[np.maximum(found, 0), 1]
        return keys
