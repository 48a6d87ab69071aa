"""Cursors over tries, the parts of leapfrog kernels: open, next and seek.

The cursor of an atom is at a value of each level it has opened. An atom's trie is a few batches, each with
a place of its own; the atom's key on a level is the least value that any of them is at. All functions that
move a cursor say whether it is at a value afterwards.
"""

from typing import Any

import numpy as np

from tidelog.storage.annotations import ABSENT, level_before
from tidelog.storage.kernel import CodeArray, Integer, inlined
from tidelog.storage.leapfrog_join import HIGHEST, Join
from tidelog.storage.structs import elements_at

# Arrays of which only the type counts.
_INT32S = np.empty(0, np.int32)
_BYTES = np.empty(0, np.uint8)


@inlined
def _least_key(join: Join, atom: Integer, level: Integer) -> bool:
    """Set the key of an atom's level to the least value that its batches are at."""
    found = False
    least = HIGHEST
    for batch in range(join.atoms[atom]["first_batch"], join.atoms[atom]["last_batch"]):
        at = join.cursors[batch, level]
        if at["place"] < at["end"]:
            key = elements_at(at["values"], join.like)[at["place"]]
            if not found or key < least:
                least = key
            found = True
    join.levels[atom, level]["key"] = least
    return found


@inlined
def open_level(join: Join, atom: Integer, level: Integer) -> bool:
    """Move to the first value below the value that the level above is at."""
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
            key = elements_at(above["values"], join.like)[place]
            if key == join.levels[atom, level - 1]["key"]:
                starts = elements_at(above["starts"], _INT32S)
                at["place"], at["end"] = starts[place], starts[place + 1]
    return _least_key(join, atom, level)


@inlined
def next_key(join: Join, atom: Integer, level: Integer) -> bool:
    """Move to the value after the current one."""
    key = join.levels[atom, level]["key"]
    for batch in range(join.atoms[atom]["first_batch"], join.atoms[atom]["last_batch"]):
        at = join.cursors[batch, level]
        if at["place"] < at["end"] and elements_at(at["values"], join.like)[at["place"]] == key:
            at["place"] += 1
    return _least_key(join, atom, level)


@inlined
def leap(values: Integer, place: Integer, end: Integer, sought: Integer, like: CodeArray) -> np.int64:
    """Return the first place before `end` whose value is not below `sought`, or `end`.

    Requires the value at `place` to be below. Steps double in length and then halve: the cost is the
    logarithm of the distance, so that many leaps over one level together cost no more than its length.
    """
    low = np.int64(place)
    step = 1
    while low + step < end and elements_at(values, like)[low + step] < sought:
        low += step
        step *= 2
    beyond = np.int64(min(low + step, end))
    while beyond - low > 1:
        middle = (low + beyond) >> 1
        if elements_at(values, like)[middle] < sought:
            low = middle
        else:
            beyond = middle
    return beyond


@inlined
def seek_key(join: Join, atom: Integer, level: Integer, sought: Integer) -> bool:
    """Move to the least value that is not below `sought`; the cursor never moves back."""
    for batch in range(join.atoms[atom]["first_batch"], join.atoms[atom]["last_batch"]):
        at = join.cursors[batch, level]
        if at["place"] < at["end"] and elements_at(at["values"], join.like)[at["place"]] < sought:
            at["place"] = leap(at["values"], at["place"], at["end"], sought, join.like)
    return _least_key(join, atom, level)


@inlined
def find_key(join: Join, atom: Integer, level: Integer, sought: Integer) -> bool:
    """Open a level and move to exactly this value; say whether it is there."""
    if not open_level(join, atom, level) or not seek_key(join, atom, level, sought):
        return False
    return bool(join.levels[atom, level]["key"] == sought)


@inlined
def _level(view: Any, row: Integer) -> np.int64:
    """Return the level of a row, that of before the epoch in progress if the atom reads this one."""
    levels = elements_at(view["levels"], _INT32S)
    if view["before"] == 0:
        return levels[row]
    return level_before(levels, elements_at(view["before"], _INT32S), row)


@inlined
def row_at(join: Join, atom: Integer, batch: Integer, place: Integer) -> np.int64:
    """Return the row in view at a place of a batch's last level, or -1.

    At most one of the rows with the same codes is in view.
    """
    view = join.atoms[atom]
    at = join.cursors[batch, view["depth"] - 1]
    starts, numbers = elements_at(at["starts"], _INT32S), elements_at(at["numbers"], _INT32S)
    for position in range(starts[place], starts[place + 1]):
        row = numbers[position]
        if (
            view["lowest"] <= row < view["highest"]
            and (view["alive"] == 0 or elements_at(view["alive"], _BYTES)[row] != 0)
            and (view["levels"] == 0 or _level(view, row) != ABSENT)
        ):
            return np.int64(row)
    return np.int64(-1)


@inlined
def find_row(join: Join, atom: Integer) -> np.int64:
    """Return the row in view that the last level of an atom is at, or -1."""
    level = join.atoms[atom]["depth"] - 1
    for batch in range(join.atoms[atom]["first_batch"], join.atoms[atom]["last_batch"]):
        at = join.cursors[batch, level]
        if at["place"] >= at["end"]:
            continue
        if elements_at(at["values"], join.like)[at["place"]] == join.levels[atom, level]["key"]:
            row = row_at(join, atom, batch, at["place"])
            if row >= 0:
                return row
    return np.int64(-1)
