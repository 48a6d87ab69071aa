"""Cursors over tries, the parts of leapfrog kernels: open, next and seek.

The cursor of an atom stands on a value of each level it has opened. An atom's trie is a few batches;
`spans[atom]` and `spans[atom + 1]` bound theirs in `tables` (addresses of values and starts by batch and
level) and `heads` (number of first values, address of row numbers by batch). For each batch and level
`places` has where it stands and `ends` where it must stop; `keys` has, for each atom and level, the
least value that any of its batches stands on. `like` is any array of the codes' width.

All functions that move a cursor say whether it stands on a value afterwards.
"""

import numpy as np

from tidelog.storage.address import load_byte, load_code, load_int32
from tidelog.storage.kernel import CodeArray, Int64s, Integer, inlined
from tidelog.storage.trie import STARTS, VALUES

LOWEST = np.int64(-(2**63))
HIGHEST = np.int64(2**63 - 1)


@inlined
def least_key(
    atom: Integer, level: Integer, spans: Int64s, tables: Int64s, places: Int64s, ends: Int64s, keys: Int64s,
    like: CodeArray,
) -> bool:  # fmt: skip
    """Set the key of an atom's level to the least value its batches stand on."""
    found = False
    least = HIGHEST
    for batch in range(spans[atom], spans[atom + 1]):
        if places[batch, level] < ends[batch, level]:
            key = load_code(tables[batch, level, VALUES], places[batch, level], like)
            if not found or key < least:
                least = key
            found = True
    keys[atom, level] = least
    return found


@inlined
def open_level(
    atom: Integer, level: Integer, spans: Int64s, tables: Int64s, heads: Int64s, places: Int64s, ends: Int64s,
    keys: Int64s, like: CodeArray,
) -> bool:  # fmt: skip
    """Stand on the first value below the value that the level above stands on."""
    for batch in range(spans[atom], spans[atom + 1]):
        if level == 0:
            places[batch, 0] = 0
            ends[batch, 0] = heads[batch, 0]
            continue
        above = level - 1
        place = places[batch, above]
        places[batch, level] = 0
        ends[batch, level] = 0
        if place < ends[batch, above]:
            key = load_code(tables[batch, above, VALUES], place, like)
            if key == keys[atom, above]:
                places[batch, level] = load_int32(tables[batch, above, STARTS], place)
                ends[batch, level] = load_int32(tables[batch, above, STARTS], place + 1)
    return least_key(atom, level, spans, tables, places, ends, keys, like)


@inlined
def next_key(
    atom: Integer, level: Integer, spans: Int64s, tables: Int64s, places: Int64s, ends: Int64s, keys: Int64s,
    like: CodeArray,
) -> bool:  # fmt: skip
    """Stand on the value after the current one."""
    key = keys[atom, level]
    for batch in range(spans[atom], spans[atom + 1]):
        place = places[batch, level]
        if place < ends[batch, level] and load_code(tables[batch, level, VALUES], place, like) == key:
            places[batch, level] = place + 1
    return least_key(atom, level, spans, tables, places, ends, keys, like)


@inlined
def leap(values: Integer, place: Integer, end: Integer, sought: Integer, like: CodeArray) -> np.int64:
    """Return the first place before `end` whose value is not below `sought`, `end` if there is none.

    Requires the value at `place` to be below. Steps of doubling length and then halving ones: the cost is
    the logarithm of the way gone, so that many leaps over one level together cost no more than its length.
    """
    low = np.int64(place)
    step = 1
    while low + step < end and load_code(values, low + step, like) < sought:
        low += step
        step *= 2
    beyond = np.int64(min(low + step, end))
    while beyond - low > 1:
        middle = (low + beyond) >> 1
        if load_code(values, middle, like) < sought:
            low = middle
        else:
            beyond = middle
    return beyond


@inlined
def seek_key(
    atom: Integer, level: Integer, sought: Integer, spans: Int64s, tables: Int64s, places: Int64s,
    ends: Int64s, keys: Int64s, like: CodeArray,
) -> bool:  # fmt: skip
    """Stand on the least value that is not below `sought`; it never goes back."""
    for batch in range(spans[atom], spans[atom + 1]):
        values = tables[batch, level, VALUES]
        place = places[batch, level]
        end = ends[batch, level]
        if place < end and load_code(values, place, like) < sought:
            places[batch, level] = leap(values, place, end, sought, like)
    return least_key(atom, level, spans, tables, places, ends, keys, like)


@inlined
def find_key(
    atom: Integer, level: Integer, sought: Integer, spans: Int64s, tables: Int64s, heads: Int64s,
    places: Int64s, ends: Int64s, keys: Int64s, like: CodeArray,
) -> bool:  # fmt: skip
    """Open a level and stand on exactly this value; say whether it is there."""
    if not open_level(atom, level, spans, tables, heads, places, ends, keys, like):
        return False
    if not seek_key(atom, level, sought, spans, tables, places, ends, keys, like):
        return False
    return bool(keys[atom, level] == sought)


@inlined
def find_row(
    atom: Integer, level: Integer, lowest: Integer, highest: Integer, alive: Integer, spans: Int64s,
    tables: Int64s, heads: Int64s, places: Int64s, ends: Int64s, keys: Int64s, like: CodeArray,
) -> np.int64:  # fmt: skip
    """Return the row in view that the last level stands on, -1 if none is.

    In view are the live rows from `lowest` to `highest - 1`; `alive` is the address of one byte for
    each row, 0 if all are alive. At most one of the rows with the same codes is in view.
    """
    for batch in range(spans[atom], spans[atom + 1]):
        place = places[batch, level]
        if place >= ends[batch, level]:
            continue
        if load_code(tables[batch, level, VALUES], place, like) != keys[atom, level]:
            continue
        first = load_int32(tables[batch, level, STARTS], place)
        last = load_int32(tables[batch, level, STARTS], place + 1)
        for position in range(first, last):
            row = load_int32(heads[batch, 1], position)
            if row < lowest or row >= highest:
                continue
            if alive == 0 or load_byte(alive, row) != 0:
                return np.int64(row)
    return np.int64(-1)
