"""Facts from lines of text, in windows that Arrow reads with all threads.

A window that Arrow does not accept is read again line by line, which finds the mistakes.
"""

from collections.abc import Iterator
from typing import Final, Protocol

import numpy as np

from tidelog.io.arrow import ArrowMistakeError, codes_from_arrow
from tidelog.io.csv_careful import LineWindow, has_empty_texts, read_carefully
from tidelog.io.csv_few import FEW_BYTES, read_few
from tidelog.io.header import take_header
from tidelog.io.mistakes import Mistakes
from tidelog.io.places import CsvLayout
from tidelog.io.quotes import quotes_are_closed
from tidelog.program.nodes import Relation
from tidelog.values import Codec, Codes, Kind
from tidelog.values.arrow import pa
from tidelog.values.codes import codes_to_floats

WINDOW_BYTES: Final = 8 * 2**20
_BLOCK_BYTES: Final = 2**20
_NEWLINE: Final = ord("\n")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class ByteStream(Protocol):
    """What bytes are read from: a file, a pipe, an unpacked archive."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, none at the end."""

    def readline(self) -> bytes:
        """Return the bytes up to the end of the line."""


def read_csv(
    stream: ByteStream, name: str, relation: Relation, layout: CsvLayout, codec: Codec
) -> list[Codes]:
    """Return the codes of the facts in a stream of lines; `name` is for diagnostics."""
    mistakes = Mistakes(name)
    parts: list[list[Codes]] = []
    lines_before = 0
    is_first = True
    data = b""
    for window in _windows(stream, is_whole=layout.is_quoted):
        # Counting in an array is ten times as quick as counting in bytes.
        lines_before += int(np.count_nonzero(np.frombuffer(data, dtype=np.uint8) == _NEWLINE))
        data = window.removeprefix(_BYTE_ORDER_MARK) if is_first else window
        if is_first and layout.has_header:
            data, lines_before, layout = take_header(data, relation, layout, mistakes)
            if mistakes.count:
                # Without the names nobody can tell which column a value belongs to.
                break
        is_first = False
        columns = _read_quickly(data, relation, layout, codec)
        if columns is None:
            columns = read_carefully(LineWindow(data, lines_before), relation, layout, codec, mistakes)
        parts.append(columns)
    mistakes.raise_if_any()
    return join_columns(parts, relation)


def join_columns(parts: list[list[Codes]], relation: Relation) -> list[Codes]:
    """Return the columns of several parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    columns = []
    for position in range(relation.arity):
        pieces = [part[position] for part in parts]
        columns.append(np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64))
    return columns


def _windows(stream: ByteStream, *, is_whole: bool) -> Iterator[bytes]:
    """Return the stream in pieces that end with a line, or in one piece.

    Quoted fields may hold newlines, so that only the whole text can be cut into lines.
    """
    if is_whole:
        yield stream.read()
        return
    while data := stream.read(WINDOW_BYTES):
        rest = b"" if data.endswith(b"\n") else stream.readline()
        yield data + rest if rest else data


def _read_quickly(data: bytes, relation: Relation, layout: CsvLayout, codec: Codec) -> list[Codes] | None:
    """Return the codes, or None if the careful reader must look at the data."""
    if not data:
        return [np.empty(0, dtype=np.int64) for _ in relation.columns]
    kinds = [codec.resolve(column.type).kind for column in relation.columns]
    if not _is_plain(data, layout, kinds):
        return None
    if len(data) <= FEW_BYTES and not layout.is_quoted:
        return read_few(data, relation, layout, codec)
    try:
        table = _arrow_table(data, relation, layout, codec, kinds)
        chosen = range(relation.arity) if layout.positions is None else layout.positions
        columns = []
        for position, column, kind in zip(chosen, relation.columns, kinds, strict=True):
            codes = codes_from_arrow(table.column(position), column.type, codec)
            # Arrow takes the 16 hexadecimal digits of a negative number; we say it does not fit.
            if kind is Kind.NUMBER and (codes < 0).any() and (b"0x" in data or b"0X" in data):
                return None
            # Arrow rounds 1e999 to infinity; we say it does not fit.
            if kind is Kind.FLOAT and np.isinf(codes_to_floats(codes)).any():
                return None
            columns.append(codes)
    except (pa.ArrowException, ArrowMistakeError):
        return None
    return columns


def _is_plain(data: bytes, layout: CsvLayout, kinds: list[Kind]) -> bool:
    """Say whether Arrow cuts the data into fields as we do."""
    if len(layout.delimiter) != 1 or not layout.delimiter.isascii() or layout.delimiter == "\0":
        return False
    # Arrow drops a byte order mark from the start of every window, not of the file alone.
    if data.startswith(_BYTE_ORDER_MARK):
        return False
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return False
    if layout.is_quoted and not quotes_are_closed(np.frombuffer(data, np.uint8), ord(layout.delimiter)):
        return False
    # Records in fields that are separated by commas need their brackets counted.
    nested = any(kind in (Kind.RECORD, Kind.ADT) for kind in kinds)
    return layout.is_quoted or layout.delimiter != "," or not (nested or b"[" in data or b"$" in data)


def _arrow_table(
    data: bytes, relation: Relation, layout: CsvLayout, codec: Codec, kinds: list[Kind]
) -> "pa.Table":
    import pyarrow.csv  # noqa: PLC0415 - see csv_few

    width = relation.arity if layout.width is None else layout.width
    if layout.positions is not None and layout.width is None:
        width = data.partition(b"\n")[0].count(layout.delimiter.encode()) + 1
        if width <= max(layout.positions):
            raise ArrowMistakeError("the first line has too few columns")
    names = [str(position) for position in range(width)]
    texts = pa.dictionary(pa.int32(), pa.string())
    types = {Kind.NUMBER: pa.int64(), Kind.UNSIGNED: pa.uint64(), Kind.FLOAT: pa.float64()}
    chosen = range(width) if layout.positions is None else layout.positions
    column_types = dict.fromkeys(names, pa.binary())
    for position, kind in zip(chosen, kinds, strict=True):
        column_types[str(position)] = types.get(kind, texts)
    return pyarrow.csv.read_csv(
        pa.BufferReader(data),
        read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=_BLOCK_BYTES),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=layout.delimiter,
            quote_char='"' if layout.is_quoted else False,
            newlines_in_values=layout.is_quoted,
            ignore_empty_lines=not has_empty_texts(relation, codec),
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=column_types, null_values=[], strings_can_be_null=False
        ),
    )
