"""Facts of a relation, from where a directive or a path says they are."""

import gzip
import sys
import zlib
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final, cast

import pyarrow as pa

from tidelog.io.csv_read import ByteStream, read_csv
from tidelog.io.json_read import read_json
from tidelog.io.mistakes import missing_file, unreadable_file
from tidelog.io.places import CsvLayout, Format, Place, place_of
from tidelog.io.python_data import columns_from_arrow
from tidelog.io.sqlite import read_sqlite
from tidelog.program.nodes import Directive, Relation
from tidelog.source import Span
from tidelog.values import Codec, Codes

_GZIP_START: Final = b"\x1f\x8b"


def read_relation(
    relation: Relation, directive: Directive, codec: Codec, fact_directory: Path
) -> list[Codes] | None:
    """Return the codes of a relation's facts, one array per column, as an input directive says.

    None means that a relation without columns does not hold. All mistakes of the file are
    raised together.
    """
    place = place_of(relation, directive, fact_directory)
    return _read(relation, place, codec, directive.span)


def read_file(
    relation: Relation,
    path: Path,
    codec: Codec,
    *,
    delimiter: str | None = None,
    has_header: bool | None = None,
) -> list[Codes] | None:
    """Return the codes of the facts in a file, read as its suffix says.

    `.csv` is separated by commas with quotes as in RFC 4180, unless its first line has a tab;
    `.parquet`, `.json` and `.jsonl` are what they say; `.sqlite` and `.db` have a table called as
    the relation; everything else is separated by tabs. A first line with just the columns'
    names is a header, unless `has_header` says otherwise. `.gz` may follow.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    formats = {
        ".parquet": Format.PARQUET,
        ".json": Format.JSON,
        ".jsonl": Format.JSON,
        ".ndjson": Format.JSON,
        ".sqlite": Format.SQLITE,
        ".sqlite3": Format.SQLITE,
        ".db": Format.SQLITE,
    }
    form = formats.get(suffix, Format.CSV)
    layout = CsvLayout()
    if form is Format.CSV:
        layout = _guess_layout(relation, path, suffix, delimiter, has_header=has_header)
    return _read(relation, Place(form, path, layout, table=relation.name), codec, None)


def _read(relation: Relation, place: Place, codec: Codec, span: Span | None) -> list[Codes] | None:
    path = place.path
    try:
        if path is not None:
            path = _existing(path, span)
        match place.format:
            case Format.SQLITE if path is not None:
                columns: list[Codes] | None = read_sqlite(path, place.table, relation, codec)
            case Format.PARQUET if path is not None:
                return _read_parquet(path, relation, codec)
            case Format.JSON:
                with closing(_open(path)) as stream:
                    data = stream.read()
                is_lines = path is not None and path.suffix.lower() in {".jsonl", ".ndjson"}
                columns = read_json(data, _name(path), relation, codec, is_lines=is_lines)
            case _:
                columns = _read_lines(relation, place, path, codec)
    except (OSError, EOFError, zlib.error, MemoryError) as error:
        raise unreadable_file(_name(path), error, span) from error
    return columns


def _read_lines(relation: Relation, place: Place, path: Path | None, codec: Codec) -> list[Codes] | None:
    with closing(_open(path)) as stream:
        if relation.arity == 0:
            return [] if stream.read().strip() else None
        return read_csv(cast("ByteStream", stream), _name(path), relation, place.layout, codec)


def _read_parquet(path: Path, relation: Relation, codec: Codec) -> list[Codes] | None:
    import pyarrow.parquet  # noqa: PLC0415 - slow to import, and rarely needed

    try:
        table = pyarrow.parquet.read_table(path)
    except (pa.ArrowException, ValueError) as error:
        raise unreadable_file(str(path), error) from error
    return columns_from_arrow(table, relation, codec)


def _existing(path: Path, span: Span | None) -> Path:
    """Return the path, or that of its compressed form; neither is a diagnostic."""
    if path.is_file() or path.is_fifo() or path.is_char_device():
        return path
    compressed = path.with_name(path.name + ".gz")
    if compressed.is_file():
        return compressed
    if path.is_dir():
        raise unreadable_file(str(path), "it is a folder", span)
    raise missing_file(path, span)


def _open(path: Path | None) -> BinaryIO:
    """Return the bytes of a file, unpacked if they are packed, or those of standard input."""
    if path is None:
        # The stream belongs to the interpreter: closing the copy must not close it.
        return BytesIO(sys.stdin.buffer.read())
    stream = path.open("rb")
    if path.is_file() and stream.peek(2)[:2] == _GZIP_START:
        stream.close()
        return cast("BinaryIO", gzip.open(path, "rb"))
    return stream


def _guess_layout(
    relation: Relation, path: Path, suffix: str, delimiter: str | None, *, has_header: bool | None
) -> CsvLayout:
    try:
        with closing(_open(_existing(path, None))) as stream:
            first = stream.readline(65536).decode("utf-8-sig", "replace").rstrip("\r\n")
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable_file(str(path), error) from error
    if delimiter is None:
        delimiter = "," if suffix == ".csv" and "\t" not in first else "\t"
    is_quoted = suffix == ".csv" and delimiter == ","
    if has_header is None:
        names = [column.name for column in relation.columns]
        has_header = [name.strip('" ') for name in first.split(delimiter)] == names
    return CsvLayout(delimiter, has_header, is_quoted)


def _name(path: Path | None) -> str:
    return "standard input" if path is None else str(path)
