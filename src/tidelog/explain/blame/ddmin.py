"""Delta debugging: a small subset of changes that still passes a test, with the test as a black box."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def ddmin(items: Sequence[T], passes: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return a subset that passes and loses that with any one of its members.

    All items together must pass. They are split into parts; a part that passes alone, or all without
    one part, is split further; when neither helps the parts become smaller, down to single items.
    """
    current, parts = list(items), 2
    while len(current) > 1:
        pieces = _split(current, parts)
        found = next((piece for piece in pieces if passes(piece)), None)
        if found is not None:
            current, parts = found, 2
            continue
        # With two parts the complements are the parts themselves.
        rests = [_without(pieces, place) for place in range(len(pieces))] if len(pieces) > 2 else []
        found = next((rest for rest in rests if passes(rest)), None)
        if found is not None:
            current, parts = found, max(parts - 1, 2)
        elif parts >= len(current):
            break
        else:
            parts = min(2 * parts, len(current))
    return current


def drop_one_by_one(items: Sequence[T], passes: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return a subset that passes and loses that with any one of its members, for few items."""
    current = list(items)
    place = kept = 0
    while current and kept < len(current):
        place %= len(current)
        rest = current[:place] + current[place + 1 :]
        if passes(rest):
            # What could not be spared before may be spared now.
            current, kept = rest, 0
        else:
            place, kept = place + 1, kept + 1
    return current


def _split(items: Sequence[T], parts: int) -> list[list[T]]:
    size = len(items)
    bounds = [size * place // parts for place in range(parts + 1)]
    return [list(items[low:high]) for low, high in pairwise(bounds) if low < high]


def _without(pieces: Sequence[Sequence[T]], place: int) -> list[T]:
    return [item for number, piece in enumerate(pieces) if number != place for item in piece]
