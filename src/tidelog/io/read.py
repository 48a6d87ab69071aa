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
    return CsvReading(path, str(path), relation, place.layout, codec)


def read_whole(  # noqa: PLR0913, PLR0917 - a file, its name in messages, and how it is read
    path: Path,
    name: str,
    relation: Relation,
    place: Place,
    codec: Codec,
    take_ahead: TakeAhead = nothing_ahead,
) -> list[Codes] | None:
    """Return the codes of the facts in a file that messages call by this name."""
    match place.format:
        case Format.SQLITE:
            from tidelog.io.sqlite import read_sqlite  # noqa: PLC0415 - rarely needed

            return read_sqlite(path, place.table, relation, codec)
        case Format.PARQUET:
            return _read_parquet(path, name, relation, codec)
        case Format.JSON:
            return _read_json(path, name, relation, codec)
        case Format.CSV:
            columns = take_ahead()
            return _read_lines(relation, place, path, name, codec) if columns is None else columns


def _read(
    relation: Relation, place: Place, codec: Codec, span: Span | None, take_ahead: TakeAhead
) -> list[Codes] | None:
    path, name = place.path, "standard input"
    try:
        if path is not None:
            path = existing_file(path, span)
            name = str(path)
            return read_whole(path, name, relation, place, codec, take_ahead)
        if place.format is Format.JSON:
            return _read_json(None, name, relation, codec)
        return _read_lines(relation, place, None, name, codec)
    except (OSError, EOFError, zlib.error, MemoryError) as error:
        raise unreadable_file(name if path is None else str(path), error, span) from error


def _read_json(path: Path | None, name: str, relation: Relation, codec: Codec) -> list[Codes] | None:
    from tidelog.io.json_read import read_json  # noqa: PLC0415 - rarely needed

    with closing(open_bytes(path)) as stream:
        data = stream.read()
    is_lines = path is not None and path.suffix.lower() in {".jsonl", ".ndjson"}
    return read_json(data, name, relation, codec, is_lines=is_lines)


def _read_lines(
    relation: Relation, place: Place, path: Path | None, name: str, codec: Codec
) -> list[Codes] | None:
    if relation.arity == 0:
        with closing(open_bytes(path)) as stream:
            return [] if stream.read().strip() else None
    with closing(CsvReading(path, name, relation, place.layout, codec)) as reading:
        return reading.columns(parse() for _, parse in reading.tasks())


def _read_parquet(path: Path, name: str, relation: Relation, codec: Codec) -> list[Codes] | None:
    import pyarrow.parquet  # noqa: PLC0415 - slow to import, and rarely needed

    from tidelog.io.python_data import columns_from_arrow  # noqa: PLC0415 - as above

    try:
        table = pyarrow.parquet.read_table(path)
    except (pa.ArrowException, ValueError) as error:
        raise unreadable_file(name, error) from error
    return columns_from_arrow(table, relation, codec)
