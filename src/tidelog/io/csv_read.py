"""Facts from lines of text, in windows whose pieces Arrow parses.

A window that Arrow does not accept is read again line by line, which finds the mistakes.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.io.arrow import ArrowMistakeError, codes_from_arrow
from tidelog.io.csv_arrow import arrow_table, is_plain
from tidelog.io.csv_careful import LineWindow, read_carefully
from tidelog.io.csv_few import FEW_BYTES, read_few
from tidelog.io.csv_pieces import BYTE_ORDER_MARK, LinePiece, Lines, all_lines, pieces, quoted_pieces
from tidelog.io.header import take_header
from tidelog.io.mistakes import Mistakes
from tidelog.io.places import CsvLayout
from tidelog.io.streams import open_bytes
from tidelog.program.nodes import Relation
from tidelog.values import Codec, Codes, Kind
from tidelog.values.arrow import pa
from tidelog.values.codes import codes_to_floats

_NEWLINE: Final = ord("\n")


@dataclass(frozen=True, slots=True)
class ParsedPiece:
    """What Arrow makes of a piece; `table` is None if it was not asked, or does not take lines as we do."""

    lines: LinePiece
    table: "pa.Table | None"
    newlines: int


ParseTask = Callable[[], ParsedPiece]


class CsvReading:
    """The reading of lines as the facts of a relation.

    Any thread may run the tasks of `tasks`, whose results `columns` takes in their order. The calling thread
    alone gives codes.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what is read, as what, and what was read before
        self,
        path: Path | None,
        name: str,
        relation: Relation,
        layout: CsvLayout,
        codec: Codec,
        lines_before: int = 0,
    ) -> None:
        self._path = path
        self._relation = relation
        self._codec = codec
        self._kinds = [codec.resolve(column.type).kind for column in relation.columns]
        self._stream: BinaryIO | None = None
        # A header changes the layout.
        self.layout = layout
        self.lines_before = lines_before
        self.mistakes = Mistakes(name)

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()

    def tasks(self) -> Iterator[tuple[int, ParseTask]]:
        """Open the file and return what parses its pieces in their order, each with its size in bytes."""
        self._stream = open_bytes(self._path)
        start = -1
        for lines in all_lines(self._stream, is_whole=self.layout.is_quoted):
            if start < 0:
                start = self.take_start(lines)
                if self.mistakes.count:
                    # Without the names nobody can tell which column a value belongs to.
                    return
            cut = pieces(lines, start)
            if self.layout.is_quoted:
                cut = quoted_pieces(lines, start, self.layout.delimiter)
            for piece in cut:
                yield piece.size, partial(self._parse, piece)
            start = 0

    def columns(self, parsed: Iterable[ParsedPiece]) -> list[Codes]:
        """Return the codes of the facts in all pieces; all mistakes are raised together."""
        columns = self.columns_read(parsed)
        self.mistakes.raise_if_any()
        return columns

    def columns_of_lines(self, lines: Lines, start: int = 0) -> list[Codes]:
        """Return the codes of the facts in lines without quotes from `start` on; mistakes are kept."""
        return self.columns_read(self._parse(piece) for piece in pieces(lines, start))

    def columns_read(self, parsed: Iterable[ParsedPiece]) -> list[Codes]:
        """Return the codes of the facts in all pieces; mistakes are kept in `mistakes`."""
        parts: list[list[Codes]] = []
        window: list[ParsedPiece] = []
        for piece in parsed:
            window.append(piece)
            if piece.lines.is_last:
                parts.append(self._codes(window))
                self.lines_before += sum(each.newlines for each in window)
                window = []
        return join_columns(parts, self._relation)

    def take_start(self, lines: Lines) -> int:
        """Return where the facts begin, after a byte order mark and the header, which changes the layout."""
        mark = len(BYTE_ORDER_MARK)
        start = mark if lines.read(0, mark) == BYTE_ORDER_MARK else 0
        if not self.layout.has_header:
            return start
        data = lines.read(start, lines.size if self.layout.is_quoted else lines.line_end(start + 1))
        rest, self.lines_before, self.layout = take_header(data, self._relation, self.layout, self.mistakes)
        return start + len(data) - len(rest)

    def _parse(self, piece: LinePiece) -> ParsedPiece:
        data = piece.read()
        newlines = 0
        if piece.is_followed:
            # Counting in an array is ten times as quick as counting in bytes.
            newlines = int(np.count_nonzero(np.frombuffer(data, dtype=np.uint8) == _NEWLINE))
        is_few = piece.is_first and piece.is_last and self._are_few(data)
        table = None
        if not is_few and piece.is_closed and is_plain(data, self.layout, self._kinds):
            try:
                table = arrow_table(data, self._relation, self.layout, self._codec, self._kinds)
            except (pa.ArrowException, ArrowMistakeError):
                table = None
        return ParsedPiece(piece, table, newlines)

    def _codes(self, window: list[ParsedPiece]) -> list[Codes]:
        """Return the codes of the facts in a window."""
        columns = self._quick_codes(window)
        if columns is not None:
            return columns
        lines = LineWindow(b"".join(piece.lines.read() for piece in window), self.lines_before)
        return read_carefully(lines, self._relation, self.layout, self._codec, self.mistakes)

    def _quick_codes(self, window: list[ParsedPiece]) -> list[Codes] | None:
        """Return the codes, or None if the careful reader must look at the lines."""
        tables = [piece.table for piece in window if piece.table is not None]
        if len(tables) == len(window):
            # Where other columns may stand between those of the relation, each piece has a width of its own.
            is_even = len({table.num_columns for table in tables}) == 1
            return self._table_codes(pa.concat_tables(tables), window) if is_even else None
        data = window[0].lines.read() if len(window) == 1 else b""
        # There are no bytes if somebody has made the file shorter meanwhile.
        if not data or not self._are_few(data) or not is_plain(data, self.layout, self._kinds):
            return None
        return read_few(data, self._relation, self.layout, self._codec)

    def _are_few(self, data: bytes) -> bool:
        """Say whether lines, if they are a whole window, are read without Arrow."""
        return len(data) <= FEW_BYTES and not self.layout.is_quoted

    def _table_codes(self, table: "pa.Table", window: list[ParsedPiece]) -> list[Codes] | None:
        chosen = range(self._relation.arity) if self.layout.positions is None else self.layout.positions
        columns = []
        for position, column, kind in zip(chosen, self._relation.columns, self._kinds, strict=True):
            try:
                codes = codes_from_arrow(table.column(position), column.type, self._codec)
            except (pa.ArrowException, ArrowMistakeError):
                return None
            # Arrow takes the 16 hexadecimal digits of a negative number; we say it does not fit.
            if kind is Kind.NUMBER and (codes < 0).any() and any(map(_has_hexadecimal, window)):
                return None
            # Arrow rounds 1e999 to infinity; we say it does not fit.
            if kind is Kind.FLOAT and np.isinf(codes_to_floats(codes)).any():
                return None
            columns.append(codes)
        return columns


def join_columns(parts: list[list[Codes]], relation: Relation) -> list[Codes]:
    """Return the columns of several parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    columns = []
    for position in range(relation.arity):
        pieces = [part[position] for part in parts]
        columns.append(np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64))
    return columns


def _has_hexadecimal(piece: ParsedPiece) -> bool:
    data = piece.lines.read()
    return b"0x" in data or b"0X" in data
