"""Which nodes of an old tree live on in a new one.

The trees are walked from their roots, side by side. Equal subtrees in the same place are shared at
once. A pair that is not equal is kept as it is, and its children are compared, unless either half is
found whole elsewhere: then it was moved, and is left for the second walk, which shares equal subtrees
wherever they are, larger ones first. What remains is paired in place, then by equal shape.
"""

from enum import Enum
from typing import Final

import numpy as np

from tidelog.kernels import kernel
from tidelog.trees.chains import first_free, make_chains, rows_by_size
from tidelog.trees.nodes import Nodes
from tidelog.trees.pairing import SMALL, children_of, pair_children
from tidelog.trees.sides import (
    Flags,
    Hashes,
    Int32s,
    Side,
    break_upwards,
    has_few_updates,
    has_same_shape,
    is_equal,
    make_side,
    share,
    was_moved,
)

_NEVER: Final = 2**31 - 1


class MatchStrategy(Enum):
    """What comes first: subtrees in their place unless they were moved, subtrees of equal shape, places."""

    MOVES = "moves"
    SHAPES = "shapes"
    PLACES = "places"


def match_nodes(old: Nodes, new: Nodes, strategy: MatchStrategy = MatchStrategy.MOVES) -> Int32s:
    """Return for every new node the old node that lives on in it, or -1; both have the same type.

    Values must be numbered by one pool. Takes time linear in the number of nodes.
    """
    partners = np.full(new.count, -1, dtype=np.int32)
    left, right = make_side(old), make_side(new)
    held = np.zeros(new.count, dtype=np.uint8)
    order = rows_by_size(new.sizes)
    heads, following = make_chains(left.shapes)
    roots = np.full((1, 2), -1, dtype=np.int32)
    if strategy is MatchStrategy.SHAPES:
        share_elsewhere(left, right, partners, order, held, SMALL)
        match_shapes(left, right, partners, order, heads, following, SMALL)
    worth = _NEVER if strategy is MatchStrategy.PLACES else SMALL
    redo = match_in_place(left, right, partners, held, roots, worth)
    share_elsewhere(left, right, partners, order, held, SMALL)
    match_in_place(left, right, partners, held, redo, _NEVER)
    held[:] = 0
    share_elsewhere(left, right, partners, order, held, SMALL)
    match_shapes(left, right, partners, order, heads, following, SMALL)
    for old_keys, new_keys in ((_by_values(left), _by_values(right)), (_by_type(left), _by_type(right))):
        alike = match_alike(left, right, partners, order, old_keys, new_keys, *make_chains(old_keys))
        match_in_place(left, right, partners, held, alike, _NEVER)
    share_elsewhere(left, right, partners, order, held, 1)
    match_shapes(left, right, partners, order, heads, following, 1)
    around = match_around(left, right, partners)
    match_in_place(left, right, partners, held, around, _NEVER)
    return partners


def _by_values(side: Side) -> Hashes:
    """Return the hashes of type and values, and zero for nodes without values."""
    return np.where(np.diff(side.value_starts) > 0, side.owns, np.uint64(0))


def _by_type(side: Side) -> Hashes:
    return (side.types + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)


@kernel
def match_in_place(
    left: Side, right: Side, partners: Int32s, held: Flags, starts: Int32s, worth: int
) -> Int32s:
    """Match the children of the pairs in `starts`, and theirs, and return the pairs to look at again.

    The pair -1, -1 stands for the roots. Subtrees of at least `worth` nodes that are found whole
    elsewhere are not matched; if new, they are marked as `held`.
    """
    stack = np.empty((partners.size + starts.shape[0] + 1, 2), dtype=np.int32)
    redo = np.empty((2 * partners.size + 4, 2), dtype=np.int32)
    waiting = 0
    for start in range(starts.shape[0]):
        stack[0, 0], stack[0, 1] = starts[start, 0], starts[start, 1]
        depth = 1
        is_start = True
        while depth:
            depth -= 1
            parent, new_parent = int(stack[depth, 0]), int(stack[depth, 1])
            if not is_start:
                if left.used[parent] or right.used[new_parent]:
                    continue
                is_free = not left.broken[parent] and not right.broken[new_parent]
                if is_free and left.shapes[parent] == right.shapes[new_parent]:
                    if has_same_shape(left, right, parent, new_parent) and (
                        has_few_updates(left, right, parent, new_parent)
                        or not was_moved(left, right, parent, new_parent, worth)
                    ):
                        share(left, right, partners, parent, new_parent)
                        continue
                if was_moved(left, right, parent, new_parent, worth):
                    held[new_parent] = 1
                    redo[waiting, 0], redo[waiting, 1] = left.parents[parent], right.parents[new_parent]
                    waiting += 1
                    continue
                partners[new_parent] = parent
                left.used[parent] = right.used[new_parent] = 1
                break_upwards(left, parent)
                break_upwards(right, new_parent)
            is_start = False
            olds, news = children_of(left, parent), children_of(right, new_parent)
            old_end = new_end = 0
            waits = False
            while old_end < olds.size and new_end < news.size:
                old_first, new_first = old_end, new_end
                old_link, new_link = left.links[olds[old_first]], right.links[news[new_first]]
                if old_link <= new_link:
                    while old_end < olds.size and left.links[olds[old_end]] == old_link:
                        old_end += 1
                if new_link <= old_link:
                    while new_end < news.size and right.links[news[new_end]] == new_link:
                        new_end += 1
                if old_link != new_link:
                    continue
                old_group, new_group = olds[old_first:old_end], news[new_first:new_end]
                pairs, some_wait = pair_children(left, right, partners, held, old_group, new_group, worth)
                waits = waits or some_wait
                for place in range(new_group.size - 1, -1, -1):
                    if pairs[place] >= 0:
                        stack[depth, 0], stack[depth, 1] = old_group[pairs[place]], new_group[place]
                        depth += 1
            if waits:
                redo[waiting, 0], redo[waiting, 1] = parent, new_parent
                waiting += 1
    return redo[:waiting].copy()


@kernel
def share_elsewhere(
    left: Side, right: Side, partners: Int32s, order: Int32s, held: Flags, least: int
) -> None:
    """Share equal subtrees of at least `least` nodes wherever they are, in the given order.

    What is inside a held subtree that is found nowhere stays for its place in the old tree.
    """
    for new in order:
        size = right.sizes[new]
        if size < least:
            break
        if right.used[new] or right.broken[new] or held[new] > 1:
            continue
        old = first_free(right.exacts[new], left.exacts, left.heads, left.following, left.used, left.broken)
        if old >= 0 and is_equal(left, right, old, new):
            share(left, right, partners, old, new)
        elif held[new]:
            for place in range(new + 1, new + size):
                held[place] = 2


@kernel
def match_shapes(
    left: Side, right: Side, partners: Int32s, order: Int32s, heads: Int32s, following: Int32s, least: int
) -> None:
    """Match subtrees of at least `least` nodes that differ only in values, in the given order."""
    for new in order:
        if right.sizes[new] < least:
            break
        if right.used[new] or right.broken[new]:
            continue
        old = first_free(right.shapes[new], left.shapes, heads, following, left.used, left.broken)
        if old >= 0 and has_same_shape(left, right, old, new):
            share(left, right, partners, old, new)


@kernel
def match_around(left: Side, right: Side, partners: Int32s) -> Int32s:
    """Match nodes of one type around nodes that are matched, from the bottom up, and return the pairs."""
    pairs = np.empty((partners.size, 2), dtype=np.int32)
    count = 0
    for child in range(partners.size - 1, 0, -1):
        new = right.parents[child]
        if new < 0 or right.used[new] or partners[child] < 0:
            continue
        old = left.parents[partners[child]]
        if old >= 0 and not left.used[old] and left.types[old] == right.types[new]:
            partners[new] = old
            left.used[old] = right.used[new] = 1
            break_upwards(left, old)
            break_upwards(right, new)
            pairs[count, 0], pairs[count, 1] = old, new
            count += 1
    return pairs[:count].copy()


@kernel
def match_alike(
    left: Side,
    right: Side,
    partners: Int32s,
    order: Int32s,
    old_keys: Hashes,
    new_keys: Hashes,
    heads: Int32s,
    following: Int32s,
) -> Int32s:
    """Match nodes of equal keys but zero, whatever is below them, and return the pairs.

    Only nodes of subtrees that are not small are matched.
    """
    pairs = np.empty((partners.size, 2), dtype=np.int32)
    count = 0
    never = np.zeros(left.used.size, dtype=np.uint8)
    for new in order:
        if right.sizes[new] < SMALL:
            break
        if right.used[new] or not new_keys[new]:
            continue
        old = first_free(new_keys[new], old_keys, heads, following, left.used, never)
        if old >= 0 and left.types[old] == right.types[new] and left.sizes[old] >= SMALL:
            partners[new] = old
            left.used[old] = right.used[new] = 1
            break_upwards(left, old)
            break_upwards(right, new)
            pairs[count, 0], pairs[count, 1] = old, new
            count += 1
    return pairs[:count].copy()
