"""The least key of each group, as keys are inserted and deleted.

Every distinct (group, key) is an entry with a multiplicity. The entries of a group that were ever
present form a skew heap, linked by entry numbers; an entry whose multiplicity is zero stays in it until
it reaches the top. So a change costs a probe and, amortised, the logarithm of the group.
"""

from typing import NamedTuple

import numpy as np

from tidelog.storage.kernel import Bools, Int64s, kernel
from tidelog.storage.relation import StoredRelation
from tidelog.values.memory import enlarged

_NONE = -1


class Heaps(NamedTuple):
    """The heaps of all groups: entries as (group, key), and for each its multiplicity and its links."""

    rows: Int64s
    multiplicities: Int64s
    left: Int64s
    right: Int64s
    is_linked: Bools
    roots: Int64s


@kernel
def merge_heaps(heaps: Heaps, first: int, second: int) -> int:
    """Merge two heaps and return the root; the numbers are those of roots, -1 for an empty heap."""
    if first < 0:
        return second
    if second < 0:
        return first
    if heaps.rows[second, 1] < heaps.rows[first, 1]:
        first, second = second, first
    root = first
    while True:
        # What was on the right is merged further and moved to the left: that keeps paths short.
        rest = heaps.right[first]
        heaps.right[first] = heaps.left[first]
        if rest < 0:
            heaps.left[first] = second
            return root
        if heaps.rows[second, 1] < heaps.rows[rest, 1]:
            rest, second = second, rest
        heaps.left[first] = rest
        first = rest


@kernel
def change_entries(heaps: Heaps, entries: Int64s, diffs: Int64s) -> None:
    """Add diffs to entries, and link those into the heap of their group that are not in it."""
    for position in range(entries.shape[0]):
        entry = entries[position]
        heaps.multiplicities[entry] += diffs[position]
        if heaps.multiplicities[entry] > 0 and heaps.is_linked[entry] == 0:
            heaps.is_linked[entry] = 1
            heaps.left[entry] = _NONE
            heaps.right[entry] = _NONE
            group = heaps.rows[entry, 0]
            heaps.roots[group] = merge_heaps(heaps, heaps.roots[group], entry)


@kernel
def least_entries(heaps: Heaps, groups: Int64s, found: Int64s) -> None:
    """Write the entry with the least key of each group, -1 for an empty one."""
    for position in range(groups.shape[0]):
        group = groups[position]
        root = heaps.roots[group]
        while root >= 0 and heaps.multiplicities[root] == 0:
            heaps.is_linked[root] = 0
            root = merge_heaps(heaps, heaps.left[root], heaps.right[root])
        heaps.roots[group] = root
        found[position] = root


class OrderedGroups:
    """Keys by group, with multiplicities.

    groups = OrderedGroups()
    groups.reserve(1)
    groups.change(np.array([0, 0]), np.array([5, 3]), np.array([1, 1]))
    groups.least(np.array([0]))  ->  [3]
    """

    def __init__(self) -> None:
        self._entries = StoredRelation(2, np.int64, counting=True)
        nothing = np.zeros(0, np.int64)
        self._heaps = Heaps(
            self._entries.rows, nothing, nothing, nothing, np.zeros(0, np.uint8), roots=nothing
        )

    def reserve(self, groups: int) -> None:
        """Make room for this many groups, the new ones empty."""
        known = self._heaps.roots.shape[0]
        if groups > known:
            self._heaps = self._heaps._replace(roots=enlarged(self._heaps.roots, groups, known))
            self._heaps.roots[known:] = _NONE

    def change(self, groups: Int64s, keys: Int64s, diffs: Int64s) -> None:
        """Insert (or, with negative diffs, delete) keys."""
        entries = self._entries.locate(np.stack([groups, keys], axis=1))
        capacity, known = self._entries.rows.shape[0], self._heaps.left.shape[0]
        if capacity > known:
            self._heaps = self._heaps._replace(
                rows=self._entries.rows,
                multiplicities=enlarged(self._heaps.multiplicities, capacity, known),
                left=enlarged(self._heaps.left, capacity, known),
                right=enlarged(self._heaps.right, capacity, known),
                is_linked=enlarged(self._heaps.is_linked, capacity, known),
            )
        change_entries(self._heaps, entries, diffs)

    def least(self, groups: Int64s) -> Int64s:
        """Return the least key of each group; meaningless for an empty one."""
        found = np.empty(groups.shape[0], np.int64)
        least_entries(self._heaps, groups, found)
        keys: Int64s = self._entries.rows[np.maximum(found, 0), 1]
        return keys
