"""How long pieces of work take several threads with a core each, computed from what each piece takes."""

from collections.abc import Sequence
from heapq import heapify, heapreplace
from itertools import pairwise


def shared_seconds(pieces: Sequence[float], threads: int) -> float:
    """Return the seconds after which all pieces are done if whoever is done takes the next."""
    busy_until = [0.0] * threads
    heapify(busy_until)
    for piece in pieces:
        heapreplace(busy_until, busy_until[0] + piece)
    return max(busy_until)


def divided_seconds(pieces: Sequence[float], threads: int) -> float:
    """Return the seconds after which all pieces are done if each thread has its own from the beginning."""
    ends = [len(pieces) * thread // threads for thread in range(threads + 1)]
    return max(sum(pieces[first:last]) for first, last in pairwise(ends))
