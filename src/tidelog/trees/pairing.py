"""Which children of two partners are compared with each other."""

from typing import Final

import numpy as np

from tidelog.kernels import inlined
from tidelog.trees.chains import first_free, pair_by_hash
from tidelog.trees.sides import Flags, Hashes, Int32s, Side, is_equal, share

# What the children are paired by, one after the other.
_BY_VALUES: Final = 0
_BY_SHAPE: Final = 1
# A subtree of fewer nodes is cheaper to change in place than to move.
SMALL: Final = 3


@inlined
def children_of(side: Side, parent: int) -> Int32s:
    """Return the rows of a node's children, or those of the roots for -1."""
    if parent < 0:
        row, end = 0, side.types.size
    else:
        row, end = parent + 1, parent + side.sizes[parent]
    count, first = 0, row
    while row < end:
        count += 1
        row += side.sizes[row]
    rows = np.empty(count, dtype=np.int32)
    row = first
    for place in range(count):
        rows[place] = row
        row += side.sizes[row]
    return rows


@inlined
def pair_children(
    left: Side, right: Side, partners: Int32s, held: Flags, olds: Int32s, news: Int32s, worth: int
) -> tuple[Int32s, bool]:
    """Return for each of `news` the one of `olds` to compare it with, and whether some wait.

    Both are the children of two partners under one link. Equal ones are shared here: at the front,
    at the end, then in order. The rest is paired by type and values, by shape, by type. Subtrees
    that were moved from or to elsewhere wait for the next walk.
    """
    pairs = np.full(news.size, -1, dtype=np.int32)
    old_free = np.empty(olds.size, dtype=np.uint8)
    new_free = np.empty(news.size, dtype=np.uint8)
    for place in range(olds.size):
        old_free[place] = not left.used[olds[place]]
    for place in range(news.size):
        new_free[place] = not right.used[news[place]]
    shorter = min(olds.size, news.size)
    front = 0
    while front < shorter and share_ends(left, right, partners, olds, news, front, front):
        old_free[front] = new_free[front] = 0
        front += 1
    end = 1
    while end <= shorter - front and share_ends(
        left, right, partners, olds, news, olds.size - end, news.size - end
    ):
        old_free[olds.size - end] = new_free[news.size - end] = 0
        end += 1
    if front + end > olds.size or front + end > news.size:
        return pairs, False
    if olds.size == news.size and olds.size == 1:
        if old_free[0] and new_free[0] and left.types[olds[0]] == right.types[news[0]]:
            pairs[0] = 0
        return pairs, False
    old_before, new_before = old_free.copy(), new_free.copy()
    found = pair_by_hash(left.exacts[olds], right.exacts[news], old_free, new_free)
    least = 0
    if is_cheap_in_place(left, right, olds, news, old_before, new_before, found):
        least = SMALL
        for place in range(news.size):
            if found[place] >= 0 and right.sizes[news[place]] < SMALL:
                old_free[found[place]] = new_free[place] = 1
                found[place] = -1
    for place in range(news.size):
        if found[place] >= 0:
            old, new = olds[found[place]], news[place]
            if not left.broken[old] and not right.broken[new] and is_equal(left, right, old, new):
                share(left, right, partners, old, new)
            else:
                old_free[found[place]] = new_free[place] = 1
    waits = set_aside(left, right, held, olds, news, old_free, new_free, worth)
    for turn in range(3):
        old_keys, old_asked = keys_of(left, olds, old_free, turn, least)
        new_keys, new_asked = keys_of(right, news, new_free, turn, least)
        found = pair_by_hash(old_keys, new_keys, old_asked, new_asked)
        for place in range(news.size):
            if found[place] >= 0:
                pairs[place] = found[place]
                old_free[found[place]] = new_free[place] = 0
    return pairs, waits


@inlined
def share_ends(
    left: Side, right: Side, partners: Int32s, olds: Int32s, news: Int32s, old_place: int, new_place: int
) -> bool:
    """Share two children if they are free and equal, and say whether they were."""
    old, new = olds[old_place], news[new_place]
    if left.broken[old] or right.broken[new] or not is_equal(left, right, old, new):
        return False
    share(left, right, partners, old, new)
    return True


@inlined
def set_aside(
    left: Side,
    right: Side,
    held: Flags,
    olds: Int32s,
    news: Int32s,
    old_free: Flags,
    new_free: Flags,
    worth: int,
) -> bool:
    """Let subtrees that were moved wait, and say whether there are any."""
    waits = False
    for place in range(news.size):
        new = news[place]
        if (
            new_free[place]
            and right.sizes[new] >= worth
            and first_free(right.exacts[new], left.exacts, left.heads, left.following, left.used, left.broken)
            >= 0
        ):
            new_free[place] = 0
            held[new] = 1
            waits = True
    for place in range(olds.size):
        old = olds[place]
        if (
            old_free[place]
            and left.sizes[old] >= worth
            and first_free(
                left.exacts[old], right.exacts, right.heads, right.following, right.used, right.broken
            )
            >= 0
        ):
            old_free[place] = 0
            waits = True
    return waits


@inlined
def keys_of(side: Side, rows: Int32s, is_free: Flags, turn: int, least: int) -> tuple[Hashes, Flags]:
    """Return what the children are paired by in this turn, and which of them take part.

    Those of less than `least` nodes are not paired by their values.
    """
    keys = np.empty(rows.size, dtype=np.uint64)
    asked = is_free.copy()
    for place in range(rows.size):
        row = rows[place]
        if turn == _BY_VALUES:
            keys[place] = side.owns[row]
            if side.value_starts[row] == side.value_starts[row + 1] or side.sizes[row] < least:
                asked[place] = 0
        elif turn == _BY_SHAPE:
            keys[place] = side.shapes[row]
        else:
            keys[place] = np.uint64(side.types[row])
    return keys, asked


@inlined
def is_cheap_in_place(
    left: Side, right: Side, olds: Int32s, news: Int32s, old_free: Flags, new_free: Flags, found: Int32s
) -> bool:
    """Say whether the small children are better changed in place than moved to where they are equal.

    Changing one is an update. Moving takes two edits wherever the order is not the old one.
    """
    updates = breaks = old_place = 0
    last = -2
    for place in range(news.size):
        if not new_free[place] or right.sizes[news[place]] >= SMALL:
            continue
        while old_place < olds.size and (not old_free[old_place] or left.sizes[olds[old_place]] >= SMALL):
            old_place += 1
        if old_place < olds.size:
            if left.exacts[olds[old_place]] != right.exacts[news[place]]:
                updates += 1
            old_place += 1
        if found[place] != last + 1:
            breaks += 1
        last = found[place]
    return updates <= 2 * breaks
