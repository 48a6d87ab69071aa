"""Cursors over tries, the parts of leapfrog kernels: open, next and seek.

The cursor of an atom stands on a value of each level it has opened. An atom's trie is a few batches, and
each of them stands somewhere; the atom's key on a level is the least value that any of them stands on.
All functions that move a cursor say whether it stands on a value afterwards.
"""

import numpy as np

from tidelog.storage.address import load_byte, load_code, load_int32
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Integer, inlined
from tidelog.storage.leapfrog_join import HIGHEST, Join


@inlined
def _least_key(join: Join, atom: Integer, level: Integer) -> bool:
    """Set the key of an atom's level to the least value its batches stand on."""
    found = False
    least = HIGHEST
    for batch in range(join.atoms[atom]["first_batch"], join.atoms[atom]["last_batch"]):
        at = join.cursors[batch, level]
        if at["place"] < at["end"]:
            key = load_code(at["values"], at["place"], join.like)
            if not found or key < least:
                least = key
            found = True
    join.levels[atom, level]["key"] = least
    return found


@inlined
def open_level(join: Join, atom: Integer, level: Integer) -> bool:
    """Stand on the first value below the value that the level above stands on."""
    for batch in range(join.atoms[atom]["first_batch"], join.atoms[atom]["last_batch"]):
        at = join.cursors[batch, level]
        at["place"] = 0
        if level == 0:
            at["end"] = at["size"]
            continue
        at["end"] = 0
        above = join.cursors[batch, level - 1]
        place = above["place"]
        if place < above["end"]:
            key = load_code(above["values"], place, join.like)
            if key == join.levels[atom, level - 1]["key"]:
                at["place"] = load_int32(above["starts"], place)
                at["end"] = load_int32(above["starts"], place + 1)
    return _least_key(join, atom, level)


@inlined
def next_key(join: Join, atom: Integer, level: Integer) -> bool:
    """Stand on the value after the current one."""
    key = join.levels[atom, level]["key"]
    for batch in range(join.atoms[atom]["first_batch"], join.atoms[atom]["last_batch"]):
        at = join.cursors[batch, level]
        if at["place"] < at["end"] and load_code(at["values"], at["place"], join.like) == key:
            at["place"] += 1
    return _least_key(join, atom, level)


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
def seek_key(join: Join, atom: Integer, level: Integer, sought: Integer) -> bool:
    """Stand on the least value that is not below `sought`; it never goes back."""
    for batch in range(join.atoms[atom]["first_batch"], join.atoms[atom]["last_batch"]):
        at = join.cursors[batch, level]
        if at["place"] < at["end"] and load_code(at["values"], at["place"], join.like) < sought:
            at["place"] = leap(at["values"], at["place"], at["end"], sought, join.like)
    return _least_key(join, atom, level)


@inlined
def find_key(join: Join, atom: Integer, level: Integer, sought: Integer) -> bool:
    """Open a level and stand on exactly this value; say whether it is there."""
    if not open_level(join, atom, level) or not seek_key(join, atom, level, sought):
        return False
    return bool(join.levels[atom, level]["key"] == sought)


@inlined
def row_at(join: Join, atom: Integer, batch: Integer, place: Integer) -> np.int64:
    """Return the row in view at a place of a batch's last level, -1 if there is none.

    At most one of the rows with the same codes is in view.
    """
    view = join.atoms[atom]
    at = join.cursors[batch, view["depth"] - 1]
    for position in range(load_int32(at["starts"], place), load_int32(at["starts"], place + 1)):
        row = load_int32(at["numbers"], position)
        if (
            view["lowest"] <= row < view["highest"]
            and (view["alive"] == 0 or load_byte(view["alive"], row) != 0)
            and (view["levels"] == 0 or load_int32(view["levels"], row) != ABSENT)
        ):
            return np.int64(row)
    return np.int64(-1)


@inlined
def find_row(join: Join, atom: Integer) -> np.int64:
    """Return the row in view that the last level of an atom stands on, -1 if none is."""
    level = join.atoms[atom]["depth"] - 1
    for batch in range(join.atoms[atom]["first_batch"], join.atoms[atom]["last_batch"]):
        at = join.cursors[batch, level]
        if at["place"] >= at["end"]:
            continue
        if load_code(at["values"], at["place"], join.like) == join.levels[atom, level]["key"]:
            row = row_at(join, atom, batch, at["place"])
            if row >= 0:
                return row
    return np.int64(-1)
