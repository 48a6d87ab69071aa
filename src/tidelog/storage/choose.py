"""The kernel that finds where each binding has the shortest posting."""

from typing import Final

import numpy as np

from tidelog.kernels.fetch import fetch
from tidelog.storage.kernel import CodeArray, Int32s, Int64s, kernel
from tidelog.storage.postings import LENGTH
from tidelog.storage.slots import AHEAD

NO_ALTERNATIVE: Final = -1


@kernel
def note_shorter(
    rows: Int64s, found: Int64s, groups: CodeArray, cost: int, number: int, shortest: Int64s, chosen: Int32s
) -> int:
    """Note `number` for the rows whose posting costs less than `shortest`; return how many are left.

    `found` are the groups of these rows in an index, -1 for none; `cost` is that of an entry. Rows with more
    than one entry are left: they move to the front of `rows`. The others need no further look; an empty
    posting ends a row.
    """
    left = 0
    for position in range(rows.shape[0]):
        row = rows[position]
        if position + AHEAD < rows.shape[0]:
            fetch(groups, found[position + AHEAD])
        length = np.int64(groups[found[position], LENGTH]) if found[position] >= 0 else np.int64(0)
        if length * cost < shortest[row]:
            shortest[row] = length * cost
            chosen[row] = number if length > 0 else NO_ALTERNATIVE
        if length > 1:
            rows[left] = row
            left += 1
    return left
