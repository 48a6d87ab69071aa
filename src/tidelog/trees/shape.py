"""Kernels over the shape of trees in preorder: sizes, siblings, hashes."""

import numpy as np
import numpy.typing as npt

from tidelog.kernels import inlined, kernel

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


@kernel
def measure_sizes(parents: Int32s) -> Int32s:
    """Return how many nodes each subtree has.

    Requires preorder: a parent is before its children, -1 means no parent.
    """
    sizes = np.ones(parents.size, dtype=np.int32)
    for row in range(parents.size - 1, -1, -1):
        parent = parents[row]
        if parent >= 0:
            sizes[parent] += sizes[row]
    return sizes


@kernel
def previous_siblings(links: Int32s, parents: Int32s, sizes: Int32s) -> Int32s:
    """Return for each node the sibling before it under the same link, or -1.

    Requires preorder, and children of one link to stand side by side.
    """
    previous = np.full(parents.size, -1, dtype=np.int32)
    for row in range(parents.size):
        parent = parents[row]
        following = row + sizes[row]
        if (
            parent >= 0
            and following < parents.size
            and parents[following] == parent
            and links[following] == links[row]
        ):
            previous[following] = row
    return previous


@inlined
def mix(value: np.uint64) -> np.uint64:
    """Return the value with every bit spread over all bits."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@kernel
def hash_subtrees(
    types: Int32s, links: Int32s, parents: Int32s, value_starts: Int64s, values: Int64s
) -> tuple[Hashes, Hashes, Hashes]:
    """Return a hash of every subtree's shape and types, one of its values too, and one of the node alone.

    Requires preorder. How a subtree hangs on its parent does not count. The last hash is that of the
    node's type and own values.
    """
    shapes = np.zeros(types.size, dtype=np.uint64)
    exacts = np.zeros(types.size, dtype=np.uint64)
    owns = np.zeros(types.size, dtype=np.uint64)
    factor = np.uint64(0x9E3779B97F4A7C15)
    for row in range(types.size - 1, -1, -1):
        of_type = mix(np.uint64(types[row] + 1) * factor)
        own = of_type
        for place in range(value_starts[row], value_starts[row + 1]):
            own = mix(own + np.uint64(values[place] + 2) * factor)
        shape = mix(shapes[row] ^ of_type)
        exact = mix(exacts[row] ^ own)
        shapes[row] = shape
        exacts[row] = exact
        owns[row] = own
        parent = parents[row]
        if parent >= 0:
            by_link = np.uint64(links[row] + 1) * factor
            shapes[parent] = shapes[parent] * factor + mix(shape + by_link)
            exacts[parent] = exacts[parent] * factor + mix(exact + by_link)
    return shapes, exacts, owns
