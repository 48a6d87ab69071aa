"""Lines of text, cut into windows, and these into pieces that threads parse side by side.

Texts get their codes window by window, in each of them column by column. Both cuts depend on the lines alone,
so codes do not depend on threads. Windows and pieces end with a line.
"""

import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from io import BufferedReader
from itertools import pairwise
from typing import BinaryIO, Final, Protocol

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.io.quotes import cut_quoted

WINDOW_BYTES: Final = 8 * 2**20
PIECE_BYTES: Final = 2**20
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_NEWLINE: Final = b"\n"
# Lines are seldom longer.
_BYTES_TO_SEARCH: Final = 4096


@dataclass(frozen=True, slots=True)
class LinePiece:
    """Whole lines of a window, read when a thread parses them."""

    size: int
    read: Callable[[], bytes]
    is_first: bool
    is_last: bool
    # Whether lines may follow its window, which are numbered for diagnostics.
    is_followed: bool
    # Whether all quotes close at the end of their fields, where fields may be quoted.
    is_closed: bool = True


class Lines(Protocol):
    """Bytes that can be read from any place, by any thread; `are_all` says that no others follow."""

    size: int
    are_all: bool

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes in a range."""

    def line_end(self, start: int) -> int:
        """Return the end of the line that has the byte before `start`."""


class LinesInMemory:
    """Lines that were read already."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)
        self.are_all = False

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes in a range."""
        return self._data[start:end]

    def line_end(self, start: int) -> int:
        """Return the end of the line that has the byte before `start`."""
        return self._data.find(_NEWLINE, max(start - 1, 0)) + 1 or self.size


class LinesInFile:
    """Lines of an open file, which has `size` bytes; they are read where they are asked for."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self.size = size
        self.are_all = True

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes in a range, fewer if the file has become shorter."""
        data = os.pread(self._descriptor, end - start, start)
        while data and len(data) < end - start:
            more = os.pread(self._descriptor, end - start - len(data), start + len(data))
            if not more:
                break
            data += more
        return data

    def line_end(self, start: int) -> int:
        """Return the end of the line that has the byte before `start`."""
        at = max(start - 1, 0)
        while at < self.size and (data := self.read(at, min(at + _BYTES_TO_SEARCH, self.size))):
            found = data.find(_NEWLINE)
            if found >= 0:
                return at + found + 1
            at += len(data)
        return self.size


def all_lines(stream: BinaryIO, *, is_whole: bool) -> Iterator[Lines]:
    """Return the lines of a large file, or the windows of what can only be read from its start.

    Quoted fields may hold newlines, so that only the whole text can be cut into lines.
    """
    if is_whole:
        yield LinesInMemory(stream.read())
        return
    if isinstance(stream, BufferedReader):
        found = os.fstat(stream.fileno())
        if stat.S_ISREG(found.st_mode) and found.st_size > PIECE_BYTES:
            yield LinesInFile(stream.fileno(), found.st_size)
            return
    while data := stream.read(WINDOW_BYTES):
        rest = b"" if data.endswith(_NEWLINE) else stream.readline()
        yield LinesInMemory(data + rest if rest else data)


def windows(lines: Lines, first: int, last: int) -> Iterator[bytes]:
    """Return the bytes from one line's start to another's, some lines at a time."""
    while first < last:
        end = min(lines.line_end(first + WINDOW_BYTES), last)
        data = lines.read(first, end)
        if len(data) < end - first:
            raise OSError(f"it has become shorter than {end} bytes")
        yield data
        first = end


def pieces(lines: Lines, start: int) -> Iterator[LinePiece]:
    """Return the pieces of lines from `start` on; windows are counted from the first byte."""
    window = 0
    while window < lines.size:
        last = lines.line_end(window + WINDOW_BYTES)
        first = at = max(window, start)
        while at < last:
            end = _piece_end(lines, at, last)
            is_followed = last < lines.size or not lines.are_all
            yield LinePiece(end - at, partial(lines.read, at, end), at == first, end == last, is_followed)
            at = end
        window = last


def _piece_end(lines: Lines, start: int, last: int) -> int:
    end = min(lines.line_end(start + PIECE_BYTES), last)
    # Arrow drops a byte order mark from the start of whatever it reads.
    while end < last and lines.read(end, end + len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK:
        end = lines.line_end(end + 1)
    return end


def quoted_pieces(lines: Lines, start: int, delimiter: str) -> Iterator[LinePiece]:
    """Return the pieces of a whole text, one window, from `start` on; newlines in quotes end no piece."""
    ends = [start, lines.size]
    is_closed = len(delimiter) == 1 and delimiter.isascii()
    if is_closed:
        data = lines.read(start, lines.size)
        found = np.empty(len(data) // PIECE_BYTES + 1, np.int64)
        count = cut_quoted(np.frombuffer(data, np.uint8), ord(delimiter), PIECE_BYTES, found)
        is_closed = count >= 0
        # See `_piece_end`.
        ends[1:1] = [start + end for end in found[: max(count, 0)].tolist() if not _has_mark(data, end)]
    for first, last in pairwise(ends):
        if first < last:
            is_first, is_last = first == start, last == lines.size
            read = partial(lines.read, first, last)
            yield LinePiece(last - first, read, is_first, is_last, is_followed=False, is_closed=is_closed)


def _has_mark(data: bytes, at: int) -> bool:
    return data[at : at + len(BYTE_ORDER_MARK)] == BYTE_ORDER_MARK
