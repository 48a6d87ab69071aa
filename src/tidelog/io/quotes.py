"""Quotes in lines of text, as RFC 4180 has them: a quote opens at the start of a field only."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tidelog.kernels import kernel

_QUOTE = ord('"')
_NEWLINE = ord("\n")
_RETURN = ord("\r")


@kernel
def cut_quoted(data: npt.NDArray[np.uint8], delimiter: int, size: int, ends: npt.NDArray[np.int64]) -> int:
    """Write where pieces of whole lines end, each of at least `size` bytes but the last; return how many.

    Return -1 if a quote that opens a field does not close at the end of the field: Arrow reads on after a
    closing quote and up to the end of the file without one; elsewhere it cuts fields as we do.
    Requires room for as many ends as `size` goes into the data. The end of the data is not written.
    """
    count = 0
    begun = 0
    at = 0
    while at < data.size:
        if data[at] == _QUOTE:
            at += 1
            while at < data.size and (data[at] != _QUOTE or (at + 1 < data.size and data[at + 1] == _QUOTE)):
                at += 2 if data[at] == _QUOTE else 1
            at += 1
            if at > data.size:
                return -1
            if at + 1 < data.size and data[at] == _RETURN and data[at + 1] == _NEWLINE:
                at += 1
            if at < data.size and data[at] != delimiter and data[at] != _NEWLINE:
                return -1
        else:
            while at < data.size and data[at] != delimiter and data[at] != _NEWLINE:
                at += 1
        if at + 1 - begun >= size and at + 1 < data.size and data[at] == _NEWLINE:
            begun = at + 1
            ends[count] = begun
            count += 1
        at += 1
    return count


def unquote(text: str, start: int) -> tuple[int, str | None]:
    """Return where the field that opens with a quote ends, and its text, None if it has no end."""
    parts = []
    at = start + 1
    while True:
        quote = text.find('"', at)
        if quote < 0:
            return len(text), None
        parts.append(text[at:quote])
        if text[quote + 1 : quote + 2] != '"':
            return quote + 1, "".join(parts)
        parts.append('"')
        at = quote + 2


def quoted_lines(text: str, delimiter: str) -> Iterator[tuple[int, str]]:
    """Return the 1-based number and the text of every line; quoted fields may hold newlines."""
    number = 1
    start = at = 0
    next_delimiter = -1
    while start < len(text):
        if text[at : at + 1] == '"':
            at, _ = unquote(text, at)
        if 0 <= next_delimiter < at or next_delimiter == -1:
            found = text.find(delimiter, at)
            next_delimiter = len(text) if found < 0 else found
        newline = text.find("\n", at)
        end = len(text) if newline < 0 else newline
        if next_delimiter < end:
            at = next_delimiter + len(delimiter)
            continue
        line = text[start:end]
        yield number, line.removesuffix("\r")
        number += line.count("\n") + 1
        start = at = end + 1
