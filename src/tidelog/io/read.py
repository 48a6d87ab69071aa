"""Facts of a relation, from where a directive or a path says they are."""

import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from tidelog.errors import TidelogError
from tidelog.io.csv_read import CsvReading
from tidelog.io.guess import place_of_file
from tidelog.io.mistakes import unreadable_file
from tidelog.io.places import Format, Place, place_of
from tidelog.io.streams import existing_file, open_bytes
from tidelog.io.take_ahead import TakeAhead, nothing_ahead
from tidelog.program.nodes import Directive, Relation
from tidelog.source import Span
from tidelog.values import Codec, Codes
from tidelog.values.arrow import pa


def read_relation(
    relation: Relation,
    directive: Directive,
    codec: Codec,
    fact_directory: Path,
    take_ahead: TakeAhead = nothing_ahead,
) -> list[Codes] | None:
    """Return the codes of a relation's facts, one array per column, as an input directive says.

    None means that a relation without columns does not hold. All mistakes of the file are
    raised together.
    """
    place = place_of(relation, directive, fact_directory)
    return _read(relation, place, codec, directive.span, take_ahead)


def begin_relation(
    relation: Relation, directive: Directive, codec: Codec, fact_directory: Path
) -> CsvReading | None:
    """Return the reading of a file that may be read before `read_relation` is called, None for others."""
    return _begin(relation, lambda: place_of(relation, directive, fact_directory), codec)


def read_file(
    relation: Relation,
    path: Path,
    codec: Codec,
    directives: Sequence[Directive] = (),
    take_ahead: TakeAhead = nothing_ahead,
) -> list[Codes] | None:
    """Return the codes of the facts in a file, read as its suffix and its first line say.

    `directives` are the relation's `.input` directives, which go before what the file looks like:
    `place_of_file` has the rules.
    """
    return _read(relation, place_of_file(relation, path, directives), codec, None, take_ahead)


def begin_file(
    relation: Relation, path: Path, codec: Codec, directives: Sequence[Directive]
) -> CsvReading | None:
    """Return the reading of a file that may be read before `read_file` is called, None for others."""
    return _begin(relation, lambda: place_of_file(relation, path, directives), codec)


def _begin(relation: Relation, find_place: Callable[[], Place], codec: Codec) -> CsvReading | None:
    try:
        place = find_place()
        path = None if place.path is None else existing_file(place.path, None)
    except (TidelogError, OSError):
        # Reading it in its turn reports this.
        return None
    if place.format is not Format.CSV or path is None or not path.is_file() or relation.arity == 0:
        return None
    return CsvReading(path, _name(path), relation, place.layout, codec)


def _read(
    relation: Relation, place: Place, codec: Codec, span: Span | None, take_ahead: TakeAhead
) -> list[Codes] | None:
    path = place.path
    try:
        if path is not None:
            path = existing_file(path, span)
        match place.format:
            case Format.SQLITE if path is not None:
                from tidelog.io.sqlite import read_sqlite  # noqa: PLC0415 - rarely needed

                columns: list[Codes] | None = read_sqlite(path, place.table, relation, codec)
            case Format.PARQUET if path is not None:
                return _read_parquet(path, relation, codec)
            case Format.JSON:
                from tidelog.io.json_read import read_json  # noqa: PLC0415 - rarely needed

                with closing(open_bytes(path)) as stream:
                    data = stream.read()
                is_lines = path is not None and path.suffix.lower() in {".jsonl", ".ndjson"}
                columns = read_json(data, _name(path), relation, codec, is_lines=is_lines)
            case _:
                columns = take_ahead()
                if columns is None:
                    columns = _read_lines(relation, place, path, codec)
    except (OSError, EOFError, zlib.error, MemoryError) as error:
        raise unreadable_file(_name(path), error, span) from error
    return columns


def _read_lines(relation: Relation, place: Place, path: Path | None, codec: Codec) -> list[Codes] | None:
    if relation.arity == 0:
        with closing(open_bytes(path)) as stream:
            return [] if stream.read().strip() else None
    with closing(CsvReading(path, _name(path), relation, place.layout, codec)) as reading:
        return reading.columns(parse() for _, parse in reading.tasks())


def _read_parquet(path: Path, relation: Relation, codec: Codec) -> list[Codes] | None:
    import pyarrow.parquet  # noqa: PLC0415 - slow to import, and rarely needed

    from tidelog.io.python_data import columns_from_arrow  # noqa: PLC0415 - as above

    try:
        table = pyarrow.parquet.read_table(path)
    except (pa.ArrowException, ValueError) as error:
        raise unreadable_file(str(path), error) from error
    return columns_from_arrow(table, relation, codec)


def _name(path: Path | None) -> str:
    return "standard input" if path is None else str(path)
