"""Membership: slots from a row's content to its number.

Rows are probed in blocks: while one block is looked up, the home slots of the next one are fetched.

Several threads may insert at once. A row is written before its slot is claimed by compare-and-swap, so no
thread ever reads a row that is not complete. Each takes row numbers from a block of its own.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tidelog.storage import atomic
from tidelog.storage.hashing import hash_row
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Integer, Slots, Words, inlined, kernel
from tidelog.storage.slots import (
    AHEAD,
    after,
    fetch_contents,
    fetch_home,
    filled,
    first_place,
    free_place,
    home,
    next_place,
    number_at,
)

# So many candidates are entered before the first of them is written as a row: an atomic operation waits for
# earlier writes, and those of rows take long.
WON = 256


@inlined
def same_rows(left: CodeArray, left_row: Integer, right: CodeArray, right_row: Integer) -> bool:
    """Say whether two rows have the same codes."""
    for column in range(left.shape[1]):
        if left[left_row, column] != right[right_row, column]:
            return False
    return True


@inlined
def _fetch_homes(slots: Slots, rows: CodeArray, digests: Words) -> None:
    """Write the digests of some rows, and fetch their homes."""
    for row in range(rows.shape[0]):
        digests[row] = fetch_home(slots, hash_row(rows, row))


@kernel
def number_rows(slots: Slots, rows: CodeArray, first: int, last: int, is_shared: bool) -> None:
    """Enter the rows numbered `first` to `last - 1`, which are known to be distinct and not there yet.

    Requires room for them; other threads may enter others if the table `is_shared`.
    """
    digests, later = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64)
    _fetch_homes(slots, rows[first : min(first + AHEAD, last)], later)
    for begin in range(first, last, AHEAD):
        end = min(begin + AHEAD, last)
        digests, later = later, digests
        _fetch_homes(slots, rows[end : min(end + AHEAD, last)], later)
        for row in range(begin, end):
            digest = digests[row - begin]
            word = filled(slots, digest, row)
            while not atomic.fill(slots, free_place(slots, digest), word, is_shared):
                # Another thread was first: its word is there now.
                pass


@inlined
def _take_number(numbers: Int64s, shared: Int64s, step: int) -> Integer:
    """Return the next row number of this thread; fetch a block of `step` numbers if it has none left."""
    if numbers[0] == numbers[1]:
        numbers[0] = atomic.add(shared, 0, step)
        numbers[1] = numbers[0] + step
    return np.int64(numbers[0])


@inlined
def write_won(
    rows: CodeArray, candidates: CodeArray, won: Int64s, count: Integer,
    numbers: Int64s, shared: Int64s, step: int,
) -> None:  # fmt: skip
    """Write the candidates that a thread has entered, by their positions, under its next row numbers."""
    following, end = numbers[0], numbers[1]
    for position in range(count):
        if following == end:
            following = atomic.add(shared, 0, step)
            end = following + step
        for column in range(rows.shape[1]):
            rows[following, column] = candidates[won[position], column]
        following += 1
    numbers[0] = following
    numbers[1] = end


@inlined
def _write(
    rows: CodeArray,
    number: Integer,
    candidates: CodeArray,
    candidate: Integer,
    counts: Int32s,
    weight: Integer,
) -> None:
    """Write a candidate as a row, with its number of derivations where these are counted."""
    for column in range(rows.shape[1]):
        rows[number, column] = candidates[candidate, column]
    if counts.shape[0] > 0:
        counts[number] = weight


@kernel
def insert_rows(
    slots: Slots,
    rows: CodeArray,
    alive: Bools,
    counts: Int32s,
    candidates: CodeArray,
    weights: Int32s,
    first_new: int,
    numbers: Int64s,
    shared: Int64s,
    step: int,
) -> int:
    """Insert the candidates that are not present and return how many were new.

    `numbers` are the next row number of this thread and the end of its block; further blocks of `step` come
    from `shared`. `counts`, unless empty, receives the derivations of rows numbered `first_new` or more,
    `weights` of them for a candidate. `alive`, unless empty, marks deleted rows, which are inserted again.
    Requires room for all candidates of all threads.
    """
    inserted = 0
    digests, later = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64)
    _fetch_homes(slots, candidates[:AHEAD], later)
    for first in range(0, candidates.shape[0], AHEAD):
        end = min(first + AHEAD, candidates.shape[0])
        digests, later = later, digests
        _fetch_homes(slots, candidates[end : end + AHEAD], later)
        fetch_contents(slots, digests, end - first, rows)
        for candidate in range(first, end):
            weight = weights[candidate] if weights.shape[0] > 0 else np.int32(1)
            digest = digests[candidate - first]
            place = home(slots, digest)
            while True:
                row = number_at(slots, place)
                if row < 0:
                    number = _take_number(numbers, shared, step)
                    _write(rows, number, candidates, candidate, counts, weight)
                    if alive.shape[0] > 0:
                        alive[number] = 1
                    if atomic.fill(slots, place, filled(slots, digest, number), step > 1):
                        numbers[0] = number + 1
                        inserted += 1
                        break
                    # Another thread was first: look at whatever it entered here.
                    place = home(slots, digest)
                elif not same_rows(rows, row, candidates, candidate):
                    place = after(slots, digest, place)
                else:
                    if alive.shape[0] > 0 and alive[row] == 0:
                        # Relations with `alive` are inserted into by one thread.
                        number = _take_number(numbers, shared, step)
                        _write(rows, number, candidates, candidate, counts, weight)
                        slots[place] = filled(slots, digest, number)
                        alive[number] = 1
                        numbers[0] = number + 1
                        inserted += 1
                    elif counts.shape[0] > 0 and row >= first_new:
                        if step > 1:
                            atomic.add(counts, row, weight)
                        else:
                            counts[row] += weight
                    break
    return inserted


@kernel
def move_rows(slots: Slots, rows: CodeArray, counts: Int32s, first: int, free: int, length: int) -> None:
    """Give the rows from `first` on the numbers from `free` on, which must be unused; `length` of them."""
    for offset in range(length):
        source, target = first + offset, free + offset
        digest = hash_row(rows, source)
        place = first_place(digest, slots.shape[0])
        wanted = filled(slots, digest, source)
        while slots[place] != wanted:
            place = next_place(place, slots.shape[0])
        for column in range(rows.shape[1]):
            rows[target, column] = rows[source, column]
        if counts.shape[0] > 0:
            counts[target] = counts[source]
        slots[place] = filled(slots, digest, target)


class RowMove(NamedTuple):
    """A run of rows and the number that the first of them moves to."""

    source: int
    target: int
    length: int


def moves_into_gaps(blocks: Sequence[Int64s], last: int) -> list[RowMove]:
    """Return which of the rows before number `last` move where, so that no number is left unused.

    `blocks` have the numbers that each thread took and did not use, as a beginning and an end.
    """
    gaps = sorted((int(first), int(end)) for first, end in blocks if first < end)
    count = last - sum(end - first for first, end in gaps)
    free = [(first, min(end, count)) for first, end in gaps if first < count]
    moves = []
    following = count
    for first, end in (*gaps, (last, last)):
        # From `following` to here rows are in use, and have no place behind `count`.
        while following < first:
            target, free_end = free.pop(0)
            length = min(first - following, free_end - target)
            moves.append(RowMove(following, target, length))
            following += length
            if target + length < free_end:
                free.insert(0, (target + length, free_end))
        following = max(following, end)
    return moves
