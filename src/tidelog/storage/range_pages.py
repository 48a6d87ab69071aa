"""Numbers in the order of their keys, with summaries from which any range of keys is answered.

Entries, each a group, a key and a value with its multiplicity, are kept in pages, in the order of groups,
then of keys, then of values. No two are equal, so there is one right place for each. A binary tree over the
pages has the count, the sum, the least and the greatest value below each node: a scan tree. A range of keys
of one group is two pages at its ends, which are read, and the nodes that cover what lies between. So a
question costs a page and a logarithm, and so does a change. A full page is split in two; the tree is then
made again, once in many changes.
"""

from typing import Final, NamedTuple

import numpy as np

from tidelog.storage.kernel import Int64s, inlined, kernel
from tidelog.values.memory import zeros

PAGE: Final = 256
LEAST: Final = -(1 << 63)
GREATEST: Final = (1 << 63) - 1


class Pages(NamedTuple):
    """Pages of entries, the pages in order, and the tree.

    Entry `i` of a page is in `groups[page, i]`, `keys[page, i]` and so on. The page at place `p` of the order
    is `order[p]`; its entries are not before the one in `first_groups[p]`, `first_keys[p]` and
    `first_values[p]`, and before those of the next place. Node `n` of the tree has the children `2 n` and
    `2 n + 1`; the leaf of place `p` is node `capacity + p`. `used[0]` pages are in use, with `used[1]`
    entries.
    """

    groups: Int64s
    keys: Int64s
    values: Int64s
    times: Int64s
    sizes: Int64s
    order: Int64s
    first_groups: Int64s
    first_keys: Int64s
    first_values: Int64s
    counts: Int64s
    totals: Int64s
    least: Int64s
    greatest: Int64s
    used: Int64s


def empty_pages(capacity: int, size: int) -> Pages:
    """Return room for so many pages of this size, none of them in use."""
    shapes = [(capacity, size)] * 4 + [(capacity,)] * 5 + [(2 * capacity,)] * 4 + [(2,)]
    return Pages(*(zeros(shape, np.dtype(np.int64), is_sparse=True) for shape in shapes))


@inlined
def place_of(pages: Pages, group: int, key: int, value: int) -> int:
    """Return the last place whose entries begin at or before an entry; the first place if there is none."""
    low, high = 0, pages.used[0] - 1
    while low < high:
        middle = (low + high + 1) // 2
        own_group, own_key = pages.first_groups[middle], pages.first_keys[middle]
        if own_group != group:
            begins_before = own_group < group
        elif own_key != key:
            begins_before = own_key < key
        else:
            begins_before = pages.first_values[middle] <= value
        if begins_before:
            low = middle
        else:
            high = middle - 1
    return low


@inlined
def entry_of(pages: Pages, page: int, group: int, key: int, value: int) -> int:
    """Return the number of entries of a page before an entry."""
    low, high = 0, pages.sizes[page]
    while low < high:
        middle = (low + high) // 2
        own_group, own_key = pages.groups[page, middle], pages.keys[page, middle]
        if own_group != group:
            is_before = own_group < group
        elif own_key != key:
            is_before = own_key < key
        else:
            is_before = pages.values[page, middle] < value
        if is_before:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def copy_entry(pages: Pages, page: int, entry: int, from_page: int, from_entry: int) -> None:
    """Write one entry over another."""
    pages.groups[page, entry] = pages.groups[from_page, from_entry]
    pages.keys[page, entry] = pages.keys[from_page, from_entry]
    pages.values[page, entry] = pages.values[from_page, from_entry]
    pages.times[page, entry] = pages.times[from_page, from_entry]


@inlined
def sum_leaf(pages: Pages, place: int) -> None:
    """Write the summary of a page into its leaf."""
    page = pages.order[place]
    count, total, least, greatest = 0, 0, GREATEST, LEAST
    for entry in range(pages.sizes[page]):
        value = pages.values[page, entry]
        count += pages.times[page, entry]
        total += value * pages.times[page, entry]
        least = min(least, value)
        greatest = max(greatest, value)
    leaf = pages.order.shape[0] + place
    pages.counts[leaf] = count
    pages.totals[leaf] = total
    pages.least[leaf] = least
    pages.greatest[leaf] = greatest


@inlined
def sum_node(pages: Pages, node: int) -> None:
    """Write the summary of a node's children into it."""
    left, right = 2 * node, 2 * node + 1
    pages.counts[node] = pages.counts[left] + pages.counts[right]
    pages.totals[node] = pages.totals[left] + pages.totals[right]
    pages.least[node] = min(pages.least[left], pages.least[right])
    pages.greatest[node] = max(pages.greatest[left], pages.greatest[right])


@kernel
def sum_all(pages: Pages) -> None:
    """Make the tree of all pages in use."""
    capacity = pages.order.shape[0]
    for place in range(capacity):
        if place < pages.used[0]:
            sum_leaf(pages, place)
        else:
            leaf = capacity + place
            pages.counts[leaf] = 0
            pages.totals[leaf] = 0
            pages.least[leaf] = GREATEST
            pages.greatest[leaf] = LEAST
    for node in range(capacity - 1, 0, -1):
        sum_node(pages, node)


@inlined
def split_page(pages: Pages, place: int) -> None:
    """Move the second half of a full page to a new one behind it. Requires a page that is not in use."""
    old, new = pages.order[place], pages.used[0]
    half = pages.sizes[old] // 2
    moved = pages.sizes[old] - half
    for entry in range(moved):
        copy_entry(pages, new, entry, old, half + entry)
    pages.sizes[old] = half
    pages.sizes[new] = moved
    for later in range(pages.used[0], place + 1, -1):
        pages.order[later] = pages.order[later - 1]
        pages.first_groups[later] = pages.first_groups[later - 1]
        pages.first_keys[later] = pages.first_keys[later - 1]
        pages.first_values[later] = pages.first_values[later - 1]
    pages.order[place + 1] = new
    pages.first_groups[place + 1] = pages.groups[new, 0]
    pages.first_keys[place + 1] = pages.keys[new, 0]
    pages.first_values[place + 1] = pages.values[new, 0]
    pages.used[0] += 1


@inlined
def insert_entry(pages: Pages, page: int, entry: int, group: int, key: int, value: int) -> None:
    """Insert an entry before another of its page. Requires a page that is not full."""
    for later in range(pages.sizes[page], entry, -1):
        copy_entry(pages, page, later, page, later - 1)
    pages.groups[page, entry] = group
    pages.keys[page, entry] = key
    pages.values[page, entry] = value
    pages.times[page, entry] = 1
    pages.sizes[page] += 1
    pages.used[1] += 1


@inlined
def delete_entry(pages: Pages, page: int, entry: int) -> None:
    """Delete an entry of a page."""
    pages.sizes[page] -= 1
    pages.used[1] -= 1
    for later in range(entry, pages.sizes[page]):
        copy_entry(pages, page, later, page, later + 1)


@kernel
def change_pages(pages: Pages, groups: Int64s, keys: Int64s, values: Int64s, diff: int) -> int:
    """Insert entries (diff 1) or delete them (-1), and return how many changes were made.

    Fewer than all are made if there is no room for a further page, or if an entry to delete is not there.
    """
    capacity = pages.order.shape[0]
    for change in range(keys.shape[0]):
        group, key, value = groups[change], keys[change], values[change]
        place = place_of(pages, group, key, value)
        page = pages.order[place]
        if diff > 0 and pages.sizes[page] == pages.keys.shape[1]:
            if pages.used[0] == capacity:
                return change
            split_page(pages, place)
            sum_all(pages)
            place = place_of(pages, group, key, value)
            page = pages.order[place]
        entry = entry_of(pages, page, group, key, value)
        is_there = entry < pages.sizes[page] and (
            pages.groups[page, entry] == group
            and pages.keys[page, entry] == key
            and pages.values[page, entry] == value
        )
        if is_there and pages.times[page, entry] + diff > 0:
            pages.times[page, entry] += diff
        elif is_there:
            delete_entry(pages, page, entry)
        elif diff > 0:
            insert_entry(pages, page, entry, group, key, value)
        else:
            return change
        sum_leaf(pages, place)
        node = (capacity + place) // 2
        while node > 0:
            sum_node(pages, node)
            node //= 2
    return len(keys)


@inlined
def add_entries(pages: Pages, place: int, group: int, low: int, high: int, found: Int64s) -> None:
    """Add the entries of a page in a group with `low <= key <= high` to a summary."""
    page = pages.order[place]
    for entry in range(entry_of(pages, page, group, low, LEAST), pages.sizes[page]):
        if pages.groups[page, entry] != group or pages.keys[page, entry] > high:
            return
        value = pages.values[page, entry]
        found[0] += pages.times[page, entry]
        found[1] += value * pages.times[page, entry]
        found[2] = min(found[2], value)
        found[3] = max(found[3], value)


@inlined
def add_node(pages: Pages, node: int, found: Int64s) -> None:
    """Add the summary of a node to another."""
    found[0] += pages.counts[node]
    found[1] += pages.totals[node]
    found[2] = min(found[2], pages.least[node])
    found[3] = max(found[3], pages.greatest[node])


@kernel
def range_summary(pages: Pages, group: int, low: int, high: int, found: Int64s) -> None:
    """Write count, sum, least and greatest value of a group's entries with `low <= key <= high` into `found`.

    The sum wraps. Of no entries the least value is `GREATEST` and the greatest `LEAST`.
    """
    found[0], found[1], found[2], found[3] = 0, 0, GREATEST, LEAST
    if low > high:
        return
    first, last = place_of(pages, group, low, LEAST), place_of(pages, group, high, GREATEST)
    add_entries(pages, first, group, low, high, found)
    if last == first:
        return
    add_entries(pages, last, group, low, high, found)
    # The places between are covered by nodes from both sides, going up.
    left, right = pages.order.shape[0] + first + 1, pages.order.shape[0] + last
    while left < right:
        if left % 2 == 1:
            add_node(pages, left, found)
            left += 1
        if right % 2 == 1:
            right -= 1
            add_node(pages, right, found)
        left //= 2
        right //= 2


@kernel
def range_summaries(pages: Pages, groups: Int64s, lows: Int64s, highs: Int64s, found: Int64s) -> None:
    """Write the summary of each range into a row of `found`; see `range_summary`."""
    for question in range(groups.shape[0]):
        range_summary(pages, groups[question], lows[question], highs[question], found[question])


class RangeSummaries:
    """Entries that change, and the summary of any range of a group.

    numbers = RangeSummaries(groups=[0, 0, 0], keys=[1, 5, 9], values=[10, 20, 30])
    numbers.summary(0, 2, 9)  ->  (2, 50, 20, 30)
    """

    def __init__(self, groups: Int64s, keys: Int64s, values: Int64s) -> None:
        self._found = np.empty(4, np.int64)
        self._pages = _filled(groups, keys, values, np.ones(keys.size, np.int64))

    def change(self, groups: Int64s, keys: Int64s, values: Int64s, diff: int) -> None:
        """Insert entries (diff 1) or delete them (-1), which must be there."""
        done = change_pages(self._pages, groups, keys, values, diff)
        while done < keys.size:
            assert self._pages.used[0] == self._pages.order.size, "a deleted entry was there"
            self._pages = _filled(*self._entries())
            done += change_pages(self._pages, groups[done:], keys[done:], values[done:], diff)
        used, entries = self._pages.used.tolist()
        if used > 8 and entries < used * PAGE // 8:
            self._pages = _filled(*self._entries())

    def summary(self, group: int, low: int, high: int) -> tuple[int, int, int, int]:
        """Return count, wrapped sum, least and greatest value of a group between two keys, these included."""
        range_summary(self._pages, group, low, high, self._found)
        count, total, least, greatest = self._found.tolist()
        return count, total, least, greatest

    def summaries(self, groups: Int64s, lows: Int64s, highs: Int64s) -> Int64s:
        """Return a row for each question: what `summary` returns."""
        found = np.empty((groups.size, 4), np.int64)
        range_summaries(self._pages, groups, lows, highs, found)
        return found

    def _entries(self) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        pages = self._pages
        order = pages.order[: pages.used[0]]
        is_used = np.arange(pages.keys.shape[1]) < pages.sizes[order, None]
        groups, keys, values, times = (
            column[order][is_used] for column in (pages.groups, pages.keys, pages.values, pages.times)
        )
        return groups, keys, values, times


def _filled(groups: Int64s, keys: Int64s, values: Int64s, times: Int64s) -> Pages:
    """Return pages that have room for a third more, and room for as many again; equal entries become one."""
    order = np.lexsort((values, keys, groups))
    groups, keys, values, times = groups[order], keys[order], values[order], times[order]
    is_first = np.ones(keys.size, np.bool_)
    is_first[1:] = (keys[1:] != keys[:-1]) | (values[1:] != values[:-1]) | (groups[1:] != groups[:-1])
    if keys.size:
        times = np.add.reduceat(times, np.flatnonzero(is_first))
    groups, keys, values = groups[is_first], keys[is_first], values[is_first]
    filled = PAGE * 3 // 4
    used = max(1, -(-keys.size // filled))
    pages = empty_pages(1 << (2 * used - 1).bit_length(), PAGE)
    pages.used[0], pages.used[1] = used, keys.size
    size = np.full(used, filled)
    size[-1] = keys.size - filled * (used - 1)
    is_used = np.arange(PAGE) < size[:, None]
    pages.groups[:used][is_used] = groups
    pages.keys[:used][is_used] = keys
    pages.values[:used][is_used] = values
    pages.times[:used][is_used] = times
    pages.sizes[:used] = size
    pages.order[:used] = np.arange(used)
    pages.first_groups[:used] = pages.groups[:used, 0]
    pages.first_keys[:used] = pages.keys[:used, 0]
    pages.first_values[:used] = pages.values[:used, 0]
    sum_all(pages)
    return pages
