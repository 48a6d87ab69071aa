"""Kernels over the annotations of rows: first iteration (level) and number of derivations."""

import numpy as np

from tidelog.storage.hashing import hash_row
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Slots, kernel
from tidelog.storage.membership import same_rows
from tidelog.storage.slots import after, filled, home, number_at

# The level of a row that is not a fact now.
ABSENT = np.int32(2**31 - 1)


@kernel
def locate_rows(slots: Slots, rows: CodeArray, count: int, candidates: CodeArray, numbers: Int64s) -> int:
    """Write the row number of each candidate, appending the rows that are not there yet.

    Return the number of rows then. Requires room in `slots` and `rows` for all candidates.
    """
    for candidate in range(candidates.shape[0]):
        digest = hash_row(candidates, candidate)
        place = home(slots, digest)
        row = number_at(slots, place)
        while row >= 0 and not same_rows(rows, row, candidates, candidate):
            place = after(slots, digest, place)
            row = number_at(slots, place)
        if row < 0:
            row = np.int64(count)
            for column in range(rows.shape[1]):
                rows[row, column] = candidates[candidate, column]
            slots[place] = filled(digest, row)
            count += 1
        numbers[candidate] = row
    return count


@kernel
def lose_derivations(counts: Int32s, numbers: Int64s, exhausted: Int64s) -> int:
    """Take one derivation from each row and write the rows that have none left; return how many."""
    found = 0
    for position in range(numbers.shape[0]):
        row = numbers[position]
        counts[row] -= 1
        if counts[row] == 0:
            exhausted[found] = row
            found += 1
    return found


@kernel
def relax(
    levels: Int32s, counts: Int32s, tentative: Int32s, tentative_counts: Int32s, numbers: Int64s,
    offered: Int32s, improved: Int64s,
) -> int:  # fmt: skip
    """Offer each row a level; write the rows whose tentative level became smaller; return how many.

    A level smaller than the row's replaces it, an equal one adds a derivation, a larger one is
    nothing. A row that has a tentative level is judged by that one; `tentative` holds levels plus
    one, zero meaning none.
    """
    found = 0
    for position in range(numbers.shape[0]):
        row = numbers[position]
        level = offered[position]
        waiting = tentative[row]
        current = waiting - 1 if waiting != 0 else levels[row]
        if level < current:
            tentative[row] = level + 1
            tentative_counts[row] = 1
            improved[found] = row
            found += 1
        elif level == current:
            if waiting != 0:
                tentative_counts[row] += 1
            else:
                counts[row] += 1
    return found


@kernel
def first_touched(flags: Bools, numbers: Int64s, fresh: Int64s) -> int:
    """Flag the rows and write those that were not flagged before; return how many."""
    found = 0
    for position in range(numbers.shape[0]):
        row = numbers[position]
        if flags[row] == 0:
            flags[row] = 1
            fresh[found] = row
            found += 1
    return found


@kernel
def take_offers(tentative: Int32s, numbers: Int64s, offer: int, taken: Int64s) -> int:
    """Write each row that still has this offer once and return how many; their offers are negated."""
    found = 0
    for position in range(numbers.shape[0]):
        row = numbers[position]
        if tentative[row] == offer:
            tentative[row] = -offer
            taken[found] = row
            found += 1
    return found
