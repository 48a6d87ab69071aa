"""The groups of an aggregate over ranges: windows, each of which asks a scan tree for its value.

An epoch changes the tree, finds the windows that contain a changed fact, and asks for these and for new ones.
So neither a new window nor a change costs as much as the facts in a window.
"""

from typing import Final, NamedTuple

import numpy as np

from tidelog.engine.local.range_trees import RangeTree, Windows
from tidelog.maintain.aggregates import GroupedAggregate
from tidelog.maintain.groups import FactChanges, GroupFacts
from tidelog.storage.intervals import IntervalIndex
from tidelog.storage.kernel import Bools, CodeArray, Int64s
from tidelog.values.memory import enlarge

# Asking for a window costs as much as finding it through so many changed facts.
_FINDS_PER_QUESTION: Final = 4
# So few closed windows stay in the index.
_FEW_CLOSED: Final = 64


class WindowChange(NamedTuple):
    """Windows that are opened and closed, as rows of groups, and facts that are inserted and deleted."""

    opened: CodeArray
    closed: CodeArray
    inserted: CodeArray
    deleted: CodeArray

    @property
    def size(self) -> int:
        """Return the number of rows."""
        return sum(map(len, self))

    def inverse(self) -> "WindowChange":
        """Return the change that undoes this one."""
        return WindowChange(self.closed, self.opened, self.deleted, self.inserted)


class RangeGroups(GroupFacts):
    """Windows over the facts of one relation, with their values."""

    def __init__(self, aggregate: GroupedAggregate, tree: RangeTree) -> None:
        super().__init__(aggregate)
        self._tree = tree
        self._keys: Int64s = np.zeros(0, np.int64)
        self._lows: Int64s = np.zeros(0, np.int64)
        self._highs: Int64s = np.zeros(0, np.int64)
        self._is_open: Bools = np.zeros(0, np.uint8)
        self._is_indexed: Bools = np.zeros(0, np.uint8)
        self._open_count = 0
        self._index = self._empty_index()

    def fill(self, facts: CodeArray) -> None:
        """Take these facts; there are no windows yet."""
        self._tree.fill(facts)

    def change(self, change: WindowChange) -> FactChanges:
        """Open and close windows, insert and delete facts of the relation.

        Return the facts of the aggregate's relations that are deleted thereby, and those inserted.
        """
        self._tree.change(change.deleted, -1)
        self._tree.change(change.inserted, 1)
        closed, opened = self._numbers(change.closed), self._numbers(change.opened)
        self._is_open[closed] = 0
        self._is_open[opened] = 1
        self._open_count += opened.size - closed.size
        self._index_windows(opened)
        points = self._tree.points(np.concatenate([change.deleted, change.inserted]))
        touched = self._once(np.concatenate([closed, opened, self._around(points)]))
        return self._asked(touched)

    def _asked(self, groups: Int64s) -> FactChanges:
        """Give windows the values that they have now."""
        windows = Windows(self._keys[groups], self._lows[groups], self._highs[groups])
        counts, codes = self._tree.answers(windows)
        counts = np.where(self._is_open[groups] != 0, counts, 0)
        has_value = counts > 0
        return self._replace(groups, counts, np.where(has_value, codes, 0), has_value)

    def _around(self, points: Int64s) -> Int64s:
        """Return open windows, among them all that contain one of the points."""
        if not len(points):
            return np.empty(0, np.int64)
        found = self._index.find_until(points, _FINDS_PER_QUESTION * len(self._index))
        if found is None:
            return np.flatnonzero(self._is_open)
        groups: Int64s = found[:, -1]
        is_open = self._is_open[groups] != 0
        return np.ascontiguousarray(groups[is_open])

    def _index_windows(self, opened: Int64s) -> None:
        """Note the ends of windows that are opened, and drop closed ones if there are many."""
        new = opened[self._is_indexed[opened] == 0]
        columns = self._table.rows[new]
        names = self.aggregate.group_names
        windows = self._tree.windows({name: columns[:, n] for n, name in enumerate(names)}, new.size)
        self._keys[new], self._lows[new], self._highs[new] = windows
        self._add(new)
        if len(self._index) > 2 * self._open_count + _FEW_CLOSED:
            self._index = self._empty_index()
            self._is_indexed[:] = 0
            self._add(np.flatnonzero(self._is_open))

    def _add(self, groups: Int64s) -> None:
        """Index windows by their ends; one without any place is never found."""
        self._is_indexed[groups] = 1
        some = groups[self._lows[groups] <= self._highs[groups]]
        self._index.add(np.column_stack([self._keys[some], self._lows[some], self._highs[some], some]))

    def _reserve(self, capacity: int, known: int) -> None:
        enlarge(self, ("_keys", "_lows", "_highs", "_is_open", "_is_indexed"), capacity, known)

    @staticmethod
    def _empty_index() -> IntervalIndex:
        # A record is the number of the key, the first and last place, and the number of the window.
        return IntervalIndex(1, 4)
