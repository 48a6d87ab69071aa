"""Index structures side by side: the triangles of a graph, counted through each of them."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.joins.graphs import Arcs
from benchmarks.joins.shapes import TRIANGLE, Found, join


def by_postings(arcs: Arcs) -> Found:
    """Join in pairs: a hash table from a vertex to its arcs, one from an arc to its number."""
    return join(TRIANGLE, arcs, "pairs")


def by_tries(arcs: Arcs) -> Found:
    """Leapfrog over two sorted tries."""
    return join(TRIANGLE, arcs, "leapfrog")


def by_sorted_arrays(arcs: Arcs) -> Found:
    """Join in pairs over sorted arrays, by binary search, in blocks that fit into memory."""
    start = time.process_time()
    packed = np.sort(arcs[:, 0] << 32 | arcs[:, 1])
    sources, targets = packed >> 32, packed & 0xFFFFFFFF
    firsts = np.searchsorted(sources, targets)
    lengths = np.searchsorted(sources, targets, side="right") - firsts
    facts = 0
    ends = np.cumsum(lengths)
    row = 0
    while row < len(packed):
        done = ends[row - 1] if row else 0
        last = max(row + 1, int(np.searchsorted(ends, done + (1 << 22))))
        counts = lengths[row:last]
        of_arc = np.repeat(np.arange(row, last), counts)
        within = np.arange(len(of_arc)) - np.repeat(np.cumsum(counts) - counts, counts)
        closing = targets[firsts[of_arc] + within] << 32 | sources[of_arc]
        places = np.minimum(np.searchsorted(packed, closing), len(packed) - 1)
        facts += int(np.count_nonzero(packed[places] == closing))
        row = last
    return Found(facts, time.process_time() - start)


def by_dictionaries(arcs: Arcs) -> Found:
    """Loops in Python over a dictionary of lists and a set of pairs."""
    start = time.process_time()
    out: dict[int, list[int]] = defaultdict(list)
    pairs = set(map(tuple, arcs.tolist()))
    for x, y in pairs:
        out[x].append(y)
    facts = sum((z, x) in pairs for x, y in pairs for z in out.get(y, ()))
    return Found(facts, time.process_time() - start)


STRUCTURES: Mapping[str, Callable[[Arcs], Found]] = {
    "postings": by_postings,
    "tries": by_tries,
    "sorted arrays": by_sorted_arrays,
    "dict of lists": by_dictionaries,
}
