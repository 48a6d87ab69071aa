"""Kernels that find rows by hash: a table of chains, each in the order of the rows."""

import numpy as np
import numpy.typing as npt

from tidelog.kernels import inlined, kernel

Int32s = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.uint8]


@kernel
def make_chains(hashes: Hashes) -> tuple[Int32s, Int32s]:
    """Return a table of first rows, and for every row the next one of the same hash or -1.

    Ensures the table's size is a power of two and at most half of it is in use.
    """
    size = 4
    while size < 2 * hashes.size:
        size *= 2
    heads = np.full(size, -1, dtype=np.int32)
    following = np.full(hashes.size, -1, dtype=np.int32)
    mask = np.uint64(size - 1)
    for row in range(hashes.size - 1, -1, -1):
        place = np.int64(hashes[row] & mask)
        while heads[place] >= 0 and hashes[heads[place]] != hashes[row]:
            place = (place + 1) & (size - 1)
        following[row] = heads[place]
        heads[place] = row
    return heads, following


@inlined
def first_free(
    wanted: np.uint64, hashes: Hashes, heads: Int32s, following: Int32s, is_used: Flags, is_broken: Flags
) -> int:
    """Return the first row of a hash that is neither used nor broken, or -1.

    A row once used or broken stays so: the chain forgets it, all but the one that tells the hash.
    """
    size = heads.size
    place = np.int64(wanted & np.uint64(size - 1))
    while heads[place] >= 0:
        row = heads[place]
        if hashes[row] == wanted:
            while is_used[row] or is_broken[row]:
                if following[row] < 0:
                    return -1
                row = following[row]
                heads[place] = row
            return int(row)
        place = (place + 1) & (size - 1)
    return -1


@kernel
def pair_by_hash(left: Hashes, right: Hashes, left_free: Flags, right_free: Flags) -> Int32s:
    """Return for every place on the right the place on the left paired with it, or -1.

    Equal hashes are paired in order, each place once, and only where both are free.
    Ensures that places which were paired are free no more.
    """
    heads, following = make_chains(left)
    pairs = np.full(right.size, -1, dtype=np.int32)
    size = heads.size
    for place in range(right.size):
        if not right_free[place]:
            continue
        slot = np.int64(right[place] & np.uint64(size - 1))
        while heads[slot] >= 0 and left[heads[slot]] != right[place]:
            slot = (slot + 1) & (size - 1)
        row = heads[slot]
        while row >= 0 and not left_free[row]:
            row = following[row]
        if row >= 0:
            pairs[place] = row
            left_free[row] = 0
            right_free[place] = 0
            heads[slot] = row
    return pairs


@kernel
def rows_by_size(sizes: Int32s) -> Int32s:
    """Return all rows, those of the largest subtrees first, equal ones in order."""
    largest = 0
    for row in range(sizes.size):
        if sizes[row] > largest:
            largest = sizes[row]
    starts = np.zeros(largest + 2, dtype=np.int64)
    for row in range(sizes.size):
        starts[largest - sizes[row] + 1] += 1
    for place in range(1, starts.size):
        starts[place] += starts[place - 1]
    rows = np.empty(sizes.size, dtype=np.int32)
    for row in range(sizes.size):
        place = largest - sizes[row]
        rows[starts[place]] = row
        starts[place] += 1
    return rows
