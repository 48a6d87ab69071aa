"""Shares of a fact file: each is read by itself, elsewhere, by the reader of all files.

    lines        bytes from one line's start to another's
    groups       groups of rows of a Parquet file
    whole file   packed or quoted lines, JSON: what can only be read from the start

The facts of all shares are those of the file, and so are the mistakes, once `MergedMistakes` has numbered
the lines.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import field, replace
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.io.csv_pieces import Lines, LinesInFile, LinesInMemory, all_lines, windows
from tidelog.io.csv_read import CsvReading
from tidelog.io.mistakes import MOST_REPORTED, Mistakes
from tidelog.io.places import Format, Place
from tidelog.io.read import read_whole
from tidelog.io.streams import is_packed, open_bytes
from tidelog.program.nodes import Relation
from tidelog.values import Codec, Codes
from tidelog.values.types import TypeTable

# A share has at least so many bytes, unless it is a whole file.
SHARE_BYTES: Final = 2**20
FactPart = tuple[list[Codes], Codec]


class Cut(Enum):
    """How a file is cut into shares."""

    LINES = "lines"
    GROUPS = "groups"
    PACKED = "packed"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class FactFile:
    """A file with facts of a relation; `name` is how messages call it, and `path` is absolute."""

    path: Path
    name: str
    size: int
    relation: Relation
    types: TypeTable
    place: Place
    cut: Cut


@dataclass(frozen=True, slots=True)
class FileShare:
    """Bytes or groups of rows `first` to `last`; a whole file has no others."""

    first: int = 0
    last: int = 0


@dataclass
class ShareRead:
    """What was found in a share, beside its facts; lines of mistakes are counted from the share's first."""

    lines: int = 0
    mistakes: int = 0
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def add(self, reading: CsvReading) -> None:
        """Add what was found in the next lines."""
        self.lines = reading.lines_before
        self.mistakes += reading.mistakes.count
        self.diagnostics += reading.mistakes.diagnostics[: MOST_REPORTED - len(self.diagnostics)]


def how_to_cut(path: Path, place: Place) -> Cut:
    """Return how a regular file is cut into shares."""
    match place.format:
        case Format.PARQUET:
            return Cut.GROUPS
        case Format.CSV if not place.layout.is_quoted:
            return Cut.PACKED if is_packed(path) else Cut.LINES
        case _:
            return Cut.WHOLE


def cut_file(file: FactFile, most: int) -> tuple[FactFile, list[FileShare], int]:
    """Return the file, its shares, at most so many, and the number of lines before them.

    A header, which is read here, can change the layout; its mistakes are raised.
    """
    match file.cut:
        case Cut.LINES:
            return _cut_lines(file, most)
        case Cut.GROUPS:
            import pyarrow.parquet  # noqa: PLC0415 - slow to import

            ends = _evenly(0, pyarrow.parquet.read_metadata(file.path).num_row_groups, most)
            return file, [FileShare(*each) for each in pairwise(ends)], 0
        case _:
            return file, [FileShare()], 0


def read_share(file: FactFile, share: FileShare, found: ShareRead) -> Iterator[FactPart]:
    """Yield the facts of a share, some rows at a time, each time with the codec that gave their codes.

    What else is found is added to `found`. Mistakes in groups of rows, or in a whole file, are raised.
    """
    match file.cut:
        case Cut.LINES | Cut.PACKED:
            yield from _read_lines(file, share, found)
        case Cut.GROUPS:
            yield from _read_groups(file, share)
        case Cut.WHOLE:
            codec = Codec(file.types)
            yield read_whole(file.path, file.name, file.relation, file.place, codec) or [], codec


class MergedMistakes:
    """The mistakes of a file's shares as those of the file; shares are added in their order."""

    def __init__(self, name: str, lines_before: int) -> None:
        self._mistakes = Mistakes(name)
        self._lines = lines_before

    def add(self, found: ShareRead) -> None:
        """Add the mistakes of the next share."""
        kept = self._mistakes.diagnostics
        for each in found.diagnostics[: MOST_REPORTED - len(kept)]:
            kept.append(replace(each, line_offset=each.line_offset + self._lines))
        self._mistakes.count += found.mistakes
        self._lines += found.lines

    def raise_if_any(self) -> None:
        """Raise what was found, as the reader of the whole file does."""
        self._mistakes.raise_if_any()


def _cut_lines(file: FactFile, most: int) -> tuple[FactFile, list[FileShare], int]:
    with file.path.open("rb") as stream:
        lines = LinesInFile(stream.fileno(), file.size)
        reading = CsvReading(file.path, file.name, file.relation, file.place.layout, Codec(file.types))
        start = reading.take_start(lines)
        reading.mistakes.raise_if_any()
        wanted = max(1, min(most, (file.size - start) // SHARE_BYTES))
        inner = (lines.line_end(end) for end in _evenly(start, file.size, wanted)[1:-1])
        ends = sorted({start, *inner, file.size})
    layout = replace(reading.layout, has_header=False)
    found = replace(file, place=replace(file.place, layout=layout))
    return found, [FileShare(*each) for each in pairwise(ends)], reading.lines_before


def _evenly(first: int, last: int, most: int) -> list[int]:
    """Return the ends of at most so many ranges from `first` to `last`."""
    count = max(1, min(most, last - first))
    return [first + (last - first) * number // count for number in range(count + 1)]


def _read_lines(file: FactFile, share: FileShare, found: ShareRead) -> Iterator[FactPart]:
    layout, is_start = file.place.layout, file.cut is Cut.PACKED
    with closing(open_bytes(file.path)) as stream:
        for lines in _windows(file, share, stream):
            # Texts of other windows are not kept: the codes given here are seen nowhere else.
            codec = Codec(file.types)
            reading = CsvReading(file.path, file.name, file.relation, layout, codec, found.lines)
            start = reading.take_start(lines) if is_start else 0
            is_named = not reading.mistakes.count
            if is_named:
                yield reading.columns_of_lines(lines, start), codec
            found.add(reading)
            if not is_named:
                # Without the names nobody can tell which column a value belongs to.
                break
            layout, is_start = reading.layout, False


def _windows(file: FactFile, share: FileShare, stream: BinaryIO) -> Iterator[Lines]:
    if file.cut is Cut.PACKED:
        yield from all_lines(stream, is_whole=False)
        return
    for data in windows(LinesInFile(stream.fileno(), file.size), share.first, share.last):
        yield LinesInMemory(data)


def _read_groups(file: FactFile, share: FileShare) -> Iterator[FactPart]:
    import pyarrow.parquet  # noqa: PLC0415 - slow to import

    from tidelog.io.python_data import columns_from_arrow  # noqa: PLC0415 - as above

    with pyarrow.parquet.ParquetFile(file.path) as rows:
        for group in range(share.first, share.last):
            codec = Codec(file.types)
            yield columns_from_arrow(rows.read_row_group(group), file.relation, codec) or [], codec
