"""A failing input made small: delta debugging over its parts, lines, tokens and characters."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

Parts = tuple[str, ...]
# Says which of some candidates is the first that still fails in the same way.
FirstFailing = Callable[[Sequence[Parts]], int | None]

_TOKEN: Final = re.compile(r"\w+|\s+|.", re.DOTALL)
# So many candidates are tried together, so that a large input is not copied for each of its pieces at once.
_AT_ONCE: Final = 64


def shrink(parts: Parts, first_failing: FirstFailing, deadline: float) -> Parts:
    """Return parts that still fail and of which, if time allows, no piece can be left out.

    The number of parts stays; a part that does not matter becomes empty.
    """
    for place in range(len(parts)):
        if parts[place] and first_failing([_with(parts, place, "")]) == 0:
            parts = _with(parts, place, "")
    for cut in (_lines, _tokens, list):
        for place in range(len(parts)):
            parts = _shrink_part(parts, place, cut, first_failing, deadline)
    return parts


def _shrink_part(
    parts: Parts,
    place: int,
    cut: Callable[[str], list[str]],
    first_failing: FirstFailing,
    deadline: float,
) -> Parts:
    pieces = cut(parts[place])
    size = max(1, len(pieces) // 2)
    while pieces:
        begin = 0
        while begin < len(pieces) and time.monotonic() < deadline:
            starts = list(range(begin, len(pieces), size))[:_AT_ONCE]
            candidates = [
                _with(parts, place, "".join(pieces[:start] + pieces[start + size :])) for start in starts
            ]
            found = first_failing(candidates)
            if found is None:
                begin = starts[-1] + size
                continue
            begin = starts[found]
            del pieces[begin : begin + size]
            parts = candidates[found]
        if size == 1 or time.monotonic() >= deadline:
            return parts
        size = max(1, size // 2)
    return parts


def _with(parts: Parts, place: int, text: str) -> Parts:
    return (*parts[:place], text, *parts[place + 1 :])


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _tokens(text: str) -> list[str]:
    return list(_found(text))


def _found(text: str) -> Iterator[str]:
    return (match.group() for match in _TOKEN.finditer(text))
