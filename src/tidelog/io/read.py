"""Facts of a relation, from where a directive or a path says they are."""

import zlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import cast

from tidelog.io.csv_read import ByteStream, read_csv
from tidelog.io.guess import place_of_file
from tidelog.io.mistakes import unreadable_file
from tidelog.io.places import Format, Place, place_of
from tidelog.io.streams import existing_file, open_bytes
from tidelog.program.nodes import Directive, Relation
from tidelog.source import Span
from tidelog.values import Codec, Codes
from tidelog.values.arrow import pa


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
    relation: Relation, path: Path, codec: Codec, directives: Sequence[Directive] = ()
) -> list[Codes] | None:
    """Return the codes of the facts in a file, read as its suffix and its first line say.

    `directives` are the relation's `.input` directives, which go before what the file looks like:
    `place_of_file` has the rules.
    """
    return _read(relation, place_of_file(relation, path, directives), codec, None)


def _read(relation: Relation, place: Place, codec: Codec, span: Span | None) -> list[Codes] | None:
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
                columns = _read_lines(relation, place, path, codec)
    except (OSError, EOFError, zlib.error, MemoryError) as error:
        raise unreadable_file(_name(path), error, span) from error
    return columns


def _read_lines(relation: Relation, place: Place, path: Path | None, codec: Codec) -> list[Codes] | None:
    with closing(open_bytes(path)) as stream:
        if relation.arity == 0:
            return [] if stream.read().strip() else None
        return read_csv(cast("ByteStream", stream), _name(path), relation, place.layout, codec)


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
