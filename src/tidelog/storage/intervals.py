"""Intervals that contain a key, found by a scan tree over the ends of the intervals.

Records are (group..., low, high, rest...): the interval [low, high] in its group. They are sorted, so
those of one group that begin at or before a key are neighbours; a tree over them has the largest end of
each part, so that parts that end before the key are never entered. A search takes logarithmic time for
each interval found.

New records become a batch of their own, and batches of similar size are merged; deleted records stay
until then, or until half of their batch is deleted.
"""

from collections.abc import Iterator

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.storage.kernel import Bools, Int64s, Integer, inlined, kernel
from tidelog.storage.leapfrog_join import LOWEST

# How many records share a leaf of the tree.
_LEAF = 8
_FACTOR = 4


@kernel
def build_ends(records: Int64s, column: int, deleted: Bools, ends: Int64s) -> None:
    """Fill a scan tree with the largest end of each part; its root is at 1, its leaves in the second half."""
    leaves = ends.shape[0] // 2
    ends[:] = LOWEST
    for record in range(records.shape[0]):
        if deleted[record] == 0:
            leaf = leaves + record // _LEAF
            ends[leaf] = max(ends[leaf], records[record, column])
    for node in range(leaves - 1, 0, -1):
        ends[node] = max(ends[2 * node], ends[2 * node + 1])


@kernel
def delete_records(records: Int64s, column: int, deleted: Bools, ends: Int64s, numbers: Int64s) -> None:
    """Delete records and lower the ends of the parts they were in."""
    leaves = ends.shape[0] // 2
    for position in range(numbers.shape[0]):
        deleted[numbers[position]] = 1
        first = numbers[position] // _LEAF * _LEAF
        node = leaves + first // _LEAF
        largest = LOWEST
        for record in range(first, min(first + _LEAF, records.shape[0])):
            if deleted[record] == 0:
                largest = max(largest, records[record, column])
        ends[node] = largest
        while node > 1:
            node //= 2
            ends[node] = max(ends[2 * node], ends[2 * node + 1])


@inlined
def _first_record(records: Int64s, first: Integer, point: Int64s, columns: Integer, after: bool) -> Integer:
    """Return the first record from `first` on whose columns are not below a point's, or `after` them."""
    low, high = first, records.shape[0]
    while low < high:
        middle = (low + high) // 2
        column = 0
        while column < columns and records[middle, column] == point[column]:
            column += 1
        is_below = after if column == columns else records[middle, column] < point[column]
        if is_below:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find_records(
    records: Int64s, deleted: Bools, ends: Int64s, points: Int64s, first: int, found: Int64s, counts: Int64s
) -> int:
    """Write (point, record) for each record whose interval contains a point; return the points done.

    A point is a group and a key. Stops before a point whose records may not fit; `counts[0]` is the
    number written.
    """
    group = points.shape[1] - 1
    leaves = ends.shape[0] // 2
    stack = np.empty(128, np.int64)
    for point in range(first, points.shape[0]):
        key = points[point, group]
        begin = _first_record(records, 0, points[point], group, False)
        end = _first_record(records, begin, points[point], group + 1, True)
        written = counts[0]
        depth = 0
        if begin < end:
            stack[0] = 1
            depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if ends[node] < key:
                continue
            # The records below a node: leaves are numbered from left to right.
            left, right = node, node + 1
            while left < leaves:
                left, right = 2 * left, 2 * right
            if (left - leaves) * _LEAF >= end or (right - leaves) * _LEAF <= begin:
                continue
            if node < leaves:
                stack[depth] = 2 * node + 1
                stack[depth + 1] = 2 * node
                depth += 2
                continue
            start = (node - leaves) * _LEAF
            for record in range(max(start, begin), min(start + _LEAF, end)):
                if deleted[record] == 0 and records[record, group + 1] >= key:
                    if written == found.shape[0]:
                        return point
                    found[written, 0] = point
                    found[written, 1] = record
                    written += 1
        counts[0] = written
    return int(points.shape[0])


@dataclass
class IntervalBatch:
    """Sorted records with their scan tree."""

    records: Int64s
    group: int

    def __post_init__(self) -> None:
        leaves = 1
        while leaves * _LEAF < len(self.records):
            leaves *= 2
        self.deleted: Bools = np.zeros(len(self.records), np.uint8)
        self._count = len(self.records)
        self.ends: Int64s = np.empty(2 * leaves, np.int64)
        build_ends(self.records, self.group + 1, self.deleted, self.ends)

    def __len__(self) -> int:
        return self._count

    def find(self, points: Int64s) -> Int64s:
        """Return (point, record) for each record whose interval contains a point."""
        found = np.empty((max(64, 4 * len(points)), 2), np.int64)
        counts = np.zeros(1, np.int64)
        done = 0
        while True:
            done = find_records(self.records, self.deleted, self.ends, points, done, found, counts)
            if done == len(points):
                return found[: counts[0]]
            larger = np.empty((4 * len(found), 2), np.int64)
            larger[: counts[0]] = found[: counts[0]]
            found = larger

    def find_in_parts(self, points: Int64s) -> Iterator[Int64s]:
        """Yield the numbers of records whose intervals contain points, in parts no longer than the batch.

        A record is in a part for each point that it contains.
        """
        found = np.empty((max(1, len(self.records)), 2), np.int64)
        done = 0
        while done < len(points):
            counts = np.zeros(1, np.int64)
            # There is room for all records of one point, so every call gets further.
            done = find_records(self.records, self.deleted, self.ends, points, done, found, counts)
            yield found[: counts[0], 1]

    def delete(self, numbers: Int64s) -> None:
        """Delete records by number, each once."""
        self._count -= len(numbers)
        delete_records(self.records, self.group + 1, self.deleted, self.ends, numbers)

    def live(self) -> Int64s:
        """Return the records that are not deleted."""
        live: Int64s = self.records[self.deleted == 0]
        return live


@dataclass(frozen=True)
class Hits:
    """Records that contain a point: their content, and where they are in the index."""

    records: Int64s
    places: tuple[tuple[IntervalBatch, Int64s], ...]

    def __len__(self) -> int:
        return len(self.records)


class IntervalIndex:
    """Intervals by group; `group` is the number of columns before the interval, `width` of all columns.

    index = IntervalIndex(0, 2)
    index.add([[2, 10], [3, 7], [5, 15], [6, 9]])
    index.find([[10]]).records            the records [2, 10] and [5, 15]
    """

    def __init__(self, group: int, width: int) -> None:
        self.group = group
        self.width = width
        self.batches: list[IntervalBatch] = []

    def __len__(self) -> int:
        return sum(map(len, self.batches))

    @property
    def size(self) -> int:
        """Return the number of records, including deleted ones that are still stored."""
        return sum(len(batch.records) for batch in self.batches)

    def add(self, records: Int64s) -> None:
        """Add records, each once."""
        if not len(records):
            return
        while self.batches and len(self.batches[-1].records) < _FACTOR * len(records):
            records = np.concatenate([self.batches.pop().live(), records])
        self.batches.append(IntervalBatch(sorted_once(records), self.group))

    def find(self, points: Int64s) -> Hits:
        """Return every record whose interval contains one of the points, once."""
        places = []
        for batch in self.batches:
            numbers = np.unique(batch.find(points)[:, 1])
            if numbers.size:
                places.append((batch, numbers))
        parts = [batch.records[numbers] for batch, numbers in places]
        records = np.concatenate(parts) if parts else np.empty((0, self.width), np.int64)
        return Hits(records, tuple(places))

    def find_until(self, points: Int64s, limit: int) -> Int64s | None:
        """Return the records whose intervals contain one of the points, or None.

        None if there are more than `limit` pairs of a point and a record.
        """
        parts = [np.empty((0, self.width), np.int64)]
        pairs = 0
        for batch in self.batches:
            for numbers in batch.find_in_parts(points):
                pairs += numbers.size
                if pairs > limit:
                    return None
                parts.append(batch.records[np.unique(numbers)])
        return np.concatenate(parts)

    def delete(self, hits: Hits) -> None:
        """Delete the records that were found; nothing may have been added since."""
        for batch, numbers in hits.places:
            batch.delete(numbers)
        kept = [batch for batch in self.batches if len(batch)]
        self.batches = [
            batch if 2 * len(batch) > len(batch.records) else IntervalBatch(batch.live(), self.group)
            for batch in kept
        ]


def sorted_once(records: Int64s) -> Int64s:
    """Return records in order, each once."""
    if len(records) < 2:
        return records
    order = np.lexsort(records.T[::-1])
    records = np.ascontiguousarray(records[order])
    is_first = np.ones(len(records), np.bool_)
    is_first[1:] = (records[1:] != records[:-1]).any(axis=1)
    once: Int64s = records[is_first]
    return once
