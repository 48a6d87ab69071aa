"""The two trees that are compared, and what kernels ask about them."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidelog.kernels import inlined
from tidelog.trees.chains import first_free, make_chains
from tidelog.trees.nodes import Nodes
from tidelog.trees.shape import hash_subtrees

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.uint8]

# Values in a shape that may differ before it is asked whether the subtree was moved instead.
_FEW_UPDATES: Final = 2


class Side(NamedTuple):
    """One of the two trees: its nodes, the hashes of its subtrees, and what has happened to them.

    A node is `used` once it has a partner, and `broken` once a node of its subtree, or the node
    itself, has a partner of its own, so that it cannot be shared as a whole.
    """

    types: Int32s
    links: Int32s
    parents: Int32s
    sizes: Int32s
    value_starts: Int64s
    values: Int64s
    shapes: Hashes
    exacts: Hashes
    owns: Hashes
    heads: Int32s
    following: Int32s
    used: Flags
    broken: Flags


def make_side(nodes: Nodes) -> Side:
    """Return the nodes as a side in which nothing has happened yet."""
    shapes, exacts, owns = hash_subtrees(
        nodes.types, nodes.links, nodes.parents, nodes.value_starts, nodes.values
    )
    heads, following = make_chains(exacts)
    return Side(
        nodes.types,
        nodes.links,
        nodes.parents,
        nodes.sizes,
        nodes.value_starts,
        nodes.values,
        shapes,
        exacts,
        owns,
        heads,
        following,
        np.zeros(nodes.count, dtype=np.uint8),
        np.zeros(nodes.count, dtype=np.uint8),
    )


@inlined
def has_same_shape(left: Side, right: Side, old: int, new: int) -> bool:
    """Say whether two subtrees agree in all but their values."""
    size = left.sizes[old]
    if size != right.sizes[new]:
        return False
    for place in range(size):
        if (
            left.types[old + place] != right.types[new + place]
            or left.sizes[old + place] != right.sizes[new + place]
            or (place and left.links[old + place] != right.links[new + place])
        ):
            return False
    return True


@inlined
def is_equal(left: Side, right: Side, old: int, new: int) -> bool:
    """Say whether two subtrees are equal; hashes are only a promise."""
    if left.exacts[old] != right.exacts[new] or not has_same_shape(left, right, old, new):
        return False
    shift = right.value_starts[new] - left.value_starts[old]
    for place in range(left.value_starts[old], left.value_starts[old + left.sizes[old]]):
        if left.values[place] != right.values[place + shift]:
            return False
    return True


@inlined
def break_upwards(side: Side, row: int) -> None:
    """Note that a subtree and those around it are no longer free as a whole."""
    while row >= 0 and not side.broken[row]:
        side.broken[row] = 1
        row = side.parents[row]


@inlined
def share(left: Side, right: Side, partners: Int32s, old: int, new: int) -> None:
    """Make two subtrees of one shape partners, node by node."""
    for place in range(left.sizes[old]):
        partners[new + place] = old + place
        left.used[old + place] = 1
        left.broken[old + place] = 1
        right.used[new + place] = 1
        right.broken[new + place] = 1
    break_upwards(left, left.parents[old])
    break_upwards(right, right.parents[new])


@inlined
def was_moved(left: Side, right: Side, old: int, new: int, worth: int) -> bool:
    """Say whether the old subtree is found whole in the new tree, or the new one in the old tree."""
    if (
        right.sizes[new] >= worth
        and first_free(right.exacts[new], left.exacts, left.heads, left.following, left.used, left.broken)
        >= 0
    ):
        return True
    return (
        left.sizes[old] >= worth
        and first_free(left.exacts[old], right.exacts, right.heads, right.following, right.used, right.broken)
        >= 0
    )


@inlined
def has_few_updates(left: Side, right: Side, old: int, new: int) -> bool:
    """Say whether two subtrees of one shape differ in few values."""
    shift = right.value_starts[new] - left.value_starts[old]
    different = 0
    for place in range(left.value_starts[old], left.value_starts[old + left.sizes[old]]):
        if left.values[place] != right.values[place + shift]:
            different += 1
            if different > _FEW_UPDATES:
                return False
    return True
