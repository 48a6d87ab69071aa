"""Facts of a relation, to where a directive says they go."""

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final, cast

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.io.lines import csv_lines, header_line, json_lines
from tidelog.io.places import Format, Place, place_of
from tidelog.io.readable import ReadableLines
from tidelog.io.staging import Staging, unwritable
from tidelog.program.nodes import Directive, Relation
from tidelog.source import Span
from tidelog.values import Codec, Codes
from tidelog.values.arrow import pa

BATCH_ROWS: Final = 500_000
_NO_CODES: Final = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class SortedFacts:
    """Facts in value order, some rows at a time; a codec need not know those of earlier ones."""

    batches: Iterator[Sequence[Codes]]


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is written: batches in value order."""

    relation: Relation
    codec: Codec
    batches: Iterator[Sequence[Codes]]
    span: Span | None
    warnings: list[Diagnostic] | None

    def note(self, mistake: Diagnostic | None) -> Diagnostic | None:
        """Raise a mistake, or add it to the warnings where there are any, and return it."""
        if mistake is not None:
            if self.warnings is None:
                raise TidelogError([mistake])
            self.warnings.append(replace(mistake, severity=Severity.WARNING))
        return mistake


def write_relation(  # noqa: PLR0913 - what, how and where of one output
    relation: Relation,
    directive: Directive,
    columns: Sequence[Codes] | SortedFacts | None,
    codec: Codec,
    output_directory: Path,
    *,
    staging: Staging | None = None,
    warnings: list[Diagnostic] | None = None,
) -> None:
    """Write facts in value order, as an output directive says.

    `columns` is None when a relation without columns does not hold. With a `staging` the
    output appears when that is published; without one it appears at once, whole. The output
    directory `-` is standard output. Lines that would not be read back as the same facts are an error;
    with `warnings` they are written as Soufflé writes them, and the first is added there.
    """
    if staging is None:
        with Staging() as own:
            write_relation(
                relation, directive, columns, codec, output_directory, staging=own, warnings=warnings
            )
        return
    place = place_of(relation, directive, output_directory)
    facts = _Facts(relation, codec, _batches(relation, columns, codec), directive.span, warnings)
    _write(staging, place, facts)


def write_part(
    path: Path,
    place: Place,
    relation: Relation,
    columns: Sequence[Codes] | SortedFacts | None,
    codec: Codec,
) -> list[Diagnostic]:
    """Write some facts of a place to a file, and return the warning about the first line not read back."""
    warnings: list[Diagnostic] = []
    facts = _Facts(relation, codec, _batches(relation, columns, codec), None, warnings)
    try:
        _write_content(path, place, facts)
    except _failures() as error:
        raise unwritable(path, error) from error
    return warnings


def _write(staging: Staging, place: Place, facts: _Facts) -> None:
    if place.path is None:
        _write_standard(staging.standard_output(), place, facts)
        return
    try:
        _write_file(staging, place, place.path, facts)
    except _failures() as error:
        raise unwritable(place.path, error) from error


def _failures() -> tuple[type[Exception], ...]:
    """Return what writing may raise; it is asked for when something was raised."""
    import sqlite3  # noqa: PLC0415 - rarely needed

    return OSError, sqlite3.Error, pa.ArrowException


def _batches(
    relation: Relation, columns: Sequence[Codes] | SortedFacts | None, codec: Codec
) -> Iterator[Sequence[Codes]]:
    """Return the facts in value order, some rows at a time."""
    if columns is None:
        return
    if isinstance(columns, SortedFacts):
        yield from columns.batches
        return
    if relation.arity == 0:
        yield []
        return
    yield from codec.sorted_batches(columns, [column.type for column in relation.columns], BATCH_ROWS)


def _write_file(staging: Staging, place: Place, path: Path, facts: _Facts) -> None:
    if place.format is Format.SQLITE:
        from tidelog.io.sqlite import write_sqlite  # noqa: PLC0415 - rarely needed

        write_sqlite(staging.copy_for(path), place.table, facts.relation, facts.batches, facts.codec)
        return
    _write_content(staging.path_for(path), place, facts)


def _write_content(path: Path, place: Place, facts: _Facts) -> None:
    """Write the whole content of a file."""
    if place.format is Format.PARQUET:
        _write_parquet(path, facts)
        return
    with path.open("wb") as plain:
        if place.format is Format.JSON:
            _write_json(plain, place, facts)
        elif place.is_compressed:
            # No name and no time: equal facts give equal files.
            with gzip.GzipFile("", "wb", 6, plain, mtime=0) as packed:
                _write_csv(cast("BinaryIO", packed), place, facts)
        else:
            _write_csv(plain, place, facts)


def _write_standard(file: BinaryIO, place: Place, facts: _Facts) -> None:
    """Write in the frame in which Soufflé prints a relation."""
    if place.format is Format.JSON:
        _write_json(file, place, facts)
        return
    file.write(f"---------------\n{facts.relation.name}\n".encode())
    if place.layout.has_header:
        file.write(header_line(facts.relation, place.layout))
    file.write(b"===============\n")
    file.writelines(csv_lines(facts.relation, place.layout, batch, facts.codec) for batch in facts.batches)
    file.write(b"===============\n")


def _write_csv(file: BinaryIO, place: Place, facts: _Facts) -> None:
    relation, layout, codec = facts.relation, place.layout, facts.codec
    readable = ReadableLines(relation, layout, codec, facts.span)
    is_start, mistake = not layout.has_header, None
    if layout.has_header:
        mistake = facts.note(readable.mistake_in_header())
        file.write(header_line(relation, layout))
    for batch in facts.batches:
        lines = csv_lines(relation, layout, batch, codec)
        if mistake is None:
            mistake = facts.note(readable.mistake_in(lines, batch, is_start=is_start))
        file.write(lines)
        is_start = False


def _write_json(file: BinaryIO, place: Place, facts: _Facts) -> None:
    file.write(b"[")
    separator = b""
    for batch in facts.batches:
        file.write(separator)
        file.write(json_lines(facts.relation, batch, facts.codec, has_objects=place.has_objects))
        separator = b",\n"
    file.write(b"]\n")


def _write_parquet(path: Path, facts: _Facts) -> None:
    import pyarrow.parquet  # noqa: PLC0415 - slow to import, and rarely needed

    if not facts.relation.arity:
        # Arrow has no rows without columns, so that a column says whether the relation holds.
        pyarrow.parquet.write_table(pa.table({"holds": [True for _ in facts.batches]}), path)
        return
    columns, codec = facts.relation.columns, facts.codec
    types = [codec.column_to_arrow(_NO_CODES, column.type).type for column in columns]
    schema = pa.schema([(column.name, kind) for column, kind in zip(columns, types, strict=True)])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for batch in facts.batches:
            arrays = [
                codec.column_to_arrow(codes, column.type)
                for codes, column in zip(batch, columns, strict=True)
            ]
            writer.write_table(pa.table(arrays, schema=schema))
