"""Kernels over the annotations of rows: first iteration (level) and number of derivations."""

import numpy as np

from tidelog.storage.kernel import Bools, Int32s, Int64s, Integer, inlined, kernel
from tidelog.storage.structs import Elements

# The level of a row that is not a fact now.
ABSENT = np.int32(2**31 - 1)
# The mark of a row in an epoch is one byte, as it is read for every row that joins meet: its lowest bits are
# the row's status, those above are flags, the first of which says that the epoch touched the row. An offer is
# a record of two numbers, so that it costs one miss.
STATUS = 3
TOUCHED = 4
TENTATIVE, TENTATIVE_COUNT = 0, 1
# The count of a fact that was not counted yet (that of an input fact is one), and of one that has lost a
# derivation since, and waits to be counted.
UNCOUNTED = 0
TO_COUNT = -1


@inlined
def level_before(levels: Elements, before: Elements, row: Integer) -> np.int64:
    """Return the level that a row had before the epoch in progress, as `RelationLevels` keeps it."""
    kept = before[row]
    return levels[row] if kept == 0 else ~kept


@inlined
def status_of(marks: Elements, row: Integer) -> np.int64:
    """Return the status in the mark of a row."""
    return marks[row] & STATUS


@inlined
def set_status(marks: Elements, row: Integer, status: Integer) -> None:
    """Give a row a status; its flags stay."""
    marks[row] = marks[row] - (marks[row] & STATUS) + status


@inlined
def count_after_loss(count: Integer, level: Integer) -> Integer:
    """Return the count of a fact that loses a derivation; where it is 0 or less the fact has to wait."""
    if count > 0:
        return count - 1
    return np.int64(UNCOUNTED if level == 0 else TO_COUNT)


@kernel
def lose_derivations(counts: Int32s, levels: Int32s, numbers: Int64s, waiting: Int64s) -> int:
    """Take one derivation from each row and write those without any left, or not counted; return how many."""
    found = 0
    for position in range(numbers.shape[0]):
        row = numbers[position]
        count = np.int64(counts[row])
        counts[row] = count_after_loss(count, np.int64(levels[row]))
        if counts[row] <= 0 and count != TO_COUNT:
            waiting[found] = row
            found += 1
    return found


@kernel
def relax(
    levels: Int32s, counts: Int32s, offers: Int32s, numbers: Int64s, offered: Int32s, improved: Int64s
) -> int:
    """Offer each row a level; write the rows whose tentative level became smaller; return how many.

    A level smaller than the row's replaces it, an equal one adds a derivation, a larger one changes
    nothing. A row with a tentative level is judged by that one; offers have tentative levels plus one, and
    zero for none.
    """
    found = 0
    for position in range(numbers.shape[0]):
        row = numbers[position]
        level = offered[position]
        waiting = offers[row, TENTATIVE]
        current = waiting - 1 if waiting != 0 else levels[row]
        if level < current:
            offers[row, TENTATIVE] = level + 1
            offers[row, TENTATIVE_COUNT] = 1
            improved[found] = row
            found += 1
        elif level == current:
            if waiting != 0:
                offers[row, TENTATIVE_COUNT] += 1
            elif counts[row] != UNCOUNTED:
                counts[row] += 1
    return found


@kernel
def first_touched(marks: Bools, numbers: Int64s, fresh: Int64s) -> int:
    """Mark rows as touched and write those that were not before; return how many."""
    found = 0
    for position in range(numbers.shape[0]):
        row = numbers[position]
        if marks[row] & TOUCHED == 0:
            marks[row] |= TOUCHED
            fresh[found] = row
            found += 1
    return found


@kernel
def take_offers(offers: Int32s, numbers: Int64s, offer: int, taken: Int64s) -> int:
    """Write each row that still has this offer, once, and negate its offer; return how many."""
    found = 0
    for position in range(numbers.shape[0]):
        row = numbers[position]
        if offers[row, TENTATIVE] == offer:
            offers[row, TENTATIVE] = -offer
            taken[found] = row
            found += 1
    return found
