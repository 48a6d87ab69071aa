"""Fact files that workers of an engine read: the driver sees names, sizes and mistakes, not the facts.

Each worker reads a share of the file with the reader of all engines, and writes what it found to the
engine's folder: numbers as codes, texts as texts, records and algebraic values as their plain texts.
"""

import json
import socket
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.io.mistakes import unreadable_file
from tidelog.io.places import Format, Place
from tidelog.io.shares import (
    Cut,
    FactFile,
    FactPart,
    FileShare,
    MergedMistakes,
    ShareRead,
    cut_file,
    how_to_cut,
    read_share,
)
from tidelog.io.streams import existing_file, open_bytes
from tidelog.program.nodes import Relation
from tidelog.progress import detail
from tidelog.session.spark_frames import FileEngine, WorkerFiles
from tidelog.source import Span
from tidelog.values import Codec
from tidelog.values.arrow import pa, pq

if TYPE_CHECKING:
    from tidelog.engine.spark.message import Message
    from tidelog.engine.spark.wire import Wire

# A file of more bytes has many facts, whatever the length of its lines.
_LARGE_BYTES: Final = 2**26
_BLOCK_BYTES: Final = 2**20
# About what a fact takes in a file whose facts cannot be counted.
_BYTES_PER_FACT: Final = 16
_ROWS_AT_ONCE: Final = 2**17
# What reading a file may raise, beside diagnostics.
_FAILURES: Final = (OSError, EOFError, zlib.error, MemoryError)


@dataclass(frozen=True, slots=True)
class SharedReading:
    """What a worker needs to read its share of a file, and to write what it found."""

    file: FactFile
    shares: tuple[FileShare, ...]
    folder: str
    name: str


class FileOnWorkers:
    """A fact file, if workers read it; which of them do is found out when it is first asked."""

    def __init__(
        self,
        relation: Relation,
        find_place: Callable[[], Place],
        codec: Codec,
        engine: FileEngine,
        span: Span | None = None,
    ) -> None:
        self._relation = relation
        self._find_place = find_place
        self._codec = codec
        self._engine = engine
        self._span = span
        self._found: list[FactFile | None] = []

    @property
    def file(self) -> FactFile | None:
        """Return the file, None if the driver reads it."""
        if not self._found:
            self._found.append(self._find())
        return self._found[0]

    def _find(self) -> FactFile | None:
        try:
            place = self._find_place()
            path = None if place.path is None else existing_file(place.path, None)
            if path is None or not path.is_file() or not self._relation.arity:
                return None
            if not _has_many_facts(path, place, self._engine.most_driver_facts):
                return None
        except (TidelogError, pa.ArrowException, ValueError, *_FAILURES):
            # Reading it in the driver reports this.
            return None
        reason = _reason_against_workers(place)
        if reason is not None:
            self._codec.warnings["spark-driver-reads", str(path)] = _in_driver(path, reason)
            return None
        where, size = path.absolute(), path.stat().st_size
        cut = how_to_cut(path, place)
        return FactFile(where, str(path), size, self._relation, self._codec.types, place, cut)

    def read(self) -> WorkerFiles:
        """Return the facts as workers found them; all mistakes of the file are raised together."""
        assert self.file is not None, "the driver reads the other files"
        detail(self._relation.name)
        try:
            file, shares, lines_before = cut_file(self.file, self._engine.most_shares)
        except _FAILURES as error:
            raise unreadable_file(self.file.name, error, self._span) from error
        replies = self._ask(file, shares)
        if any(reply.get("is_unfit") for reply in replies):
            # What is wrong with a group of rows depends on the others.
            replies = self._ask(replace(file, cut=Cut.WHOLE), [FileShare()])
        merged = MergedMistakes(file.name, lines_before)
        for reply in replies:
            merged.add(ShareRead(reply["lines"], reply["mistakes"], _diagnostics(reply["diagnostics"])))
        merged.raise_if_any()
        return WorkerFiles(self._engine, tuple(reply["file"] for reply in replies if reply["rows"]))

    def _ask(self, file: FactFile, shares: Sequence[FileShare]) -> list[dict[str, Any]]:
        """Return what workers say of the shares of a file."""
        if not shares:
            return []
        reading = SharedReading(file, tuple(shares), self._engine.folder_uri, f"read-{uuid.uuid4().hex[:12]}")
        texts = self._engine.work_apart(__name__, read_one_share.__name__, reading, len(shares))
        replies = [json.loads(text) for text in texts]
        for reply in replies:
            if "absent" in reply:
                raise TidelogError([_not_there(file.name, reply["absent"], self._span)])
            if "unreadable" in reply:
                raise unreadable_file(file.name, reply["unreadable"], self._span)
        return replies


# --- in a worker ----------------------------------------------------------------------------------


def read_one_share(reading: SharedReading, wire: "Wire") -> "Message":
    """Read one share of a file, write its facts and reply what was found; called in the worker."""
    from tidelog.engine.spark.failures import failure_text  # noqa: PLC0415 - in the worker
    from tidelog.engine.spark.files import Folder, file_name  # noqa: PLC0415 - as above
    from tidelog.engine.spark.message import Message  # noqa: PLC0415 - as above

    file, found = reading.file, ShareRead()
    reply: dict[str, object] = {"lines": 0, "mistakes": 0, "diagnostics": "", "rows": 0}
    reason = _reason_against_file(file)
    if reason is not None:
        return Message(text=json.dumps({"absent": f"{reason} (on {socket.gethostname()})"}))
    name = file_name(file.relation.name, wire.me, f"{reading.name}-{uuid.uuid4().hex[:12]}")
    parts = read_share(file, reading.shares[wire.me], found)
    try:
        rows = Folder(reading.folder).write_tables(name, _schema(file), _tables(file, parts))
    except _UnreadableError as error:
        if file.cut is Cut.GROUPS:
            return Message(text=json.dumps({**reply, "is_unfit": True}))
        if isinstance(error.cause, TidelogError):
            return Message(text=failure_text(error.cause))
        return Message(text=json.dumps({"unreadable": str(error.cause) or type(error.cause).__name__}))
    described = failure_text(TidelogError(found.diagnostics)) if found.diagnostics else ""
    reply |= {"lines": found.lines, "mistakes": found.mistakes, "diagnostics": described}
    return Message(text=json.dumps({**reply, "file": name, "rows": rows}))


class _UnreadableError(Exception):
    """What is wrong with a file that is read, not with one that is written."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _reason_against_file(file: FactFile) -> str | None:
    """Return why this worker does not read the file that the driver means, None if it does."""
    try:
        size = file.path.stat().st_size
        file.path.open("rb").close()
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return None if size == file.size else f"it has {size:,} bytes there and {file.size:,} here"


def _tables(file: FactFile, parts: Iterator[FactPart]) -> "Iterator[pa.Table]":
    """Return the facts as they are written: numbers as codes, texts as texts, records as their texts."""
    from tidelog.engine.spark.ingest import has_texts  # noqa: PLC0415 - in the worker

    while True:
        try:
            columns, codec = next(parts)
        except StopIteration:
            return
        except (TidelogError, pa.ArrowException, ValueError, *_FAILURES) as error:
            raise _UnreadableError(error) from error
        for first in range(0, len(columns[0]) if columns else 0, _ROWS_AT_ONCE):
            rows = [codes[first : first + _ROWS_AT_ONCE] for codes in columns]
            arrays = [
                codec.column_to_arrow(codes, column.type) if has_texts(column, codec) else pa.array(codes)
                for codes, column in zip(rows, file.relation.columns, strict=True)
            ]
            yield pa.table(arrays, names=_schema(file).names).cast(_schema(file))


def _schema(file: FactFile) -> "pa.Schema":
    from tidelog.engine.spark.ingest import has_texts  # noqa: PLC0415 - only with Spark

    codec = Codec(file.types)
    kinds = [pa.string() if has_texts(each, codec) else pa.int64() for each in file.relation.columns]
    return pa.schema([(f"c{place}", kind) for place, kind in enumerate(kinds)])


# --- in the driver --------------------------------------------------------------------------------


def _has_many_facts(path: Path, place: Place, most: int) -> bool:
    """Say whether a file has more facts than so many, as far as this can be seen quickly."""
    match place.format:
        case Format.PARQUET:
            return int(pq.read_metadata(path).num_rows) > most
        case Format.CSV:
            return _has_many_lines(path, most)
        case _:
            return path.stat().st_size > most * _BYTES_PER_FACT


def _has_many_lines(path: Path, most: int) -> bool:
    lines = size = 0
    with open_bytes(path) as stream:
        while data := stream.read(_BLOCK_BYTES):
            size += len(data)
            lines += data.count(b"\n")
            if lines > most or size > _LARGE_BYTES:
                return True
    return False


def _reason_against_workers(place: Place) -> str | None:
    """Return why workers do not read a large file, None if they do."""
    return "a database is not divided" if place.format is Format.SQLITE else None


def _diagnostics(text: str) -> list[Diagnostic]:
    from tidelog.engine.spark.failures import raise_failure  # noqa: PLC0415 - only with Spark

    try:
        raise_failure(text)
    except TidelogError as error:
        return list(error.diagnostics)
    return []


def _in_driver(path: Path, reason: str) -> Diagnostic:
    return Diagnostic(
        code="spark-driver-reads",
        message=f"the driver reads the large file `{path}`: {reason}",
        hint="give the driver memory for it, or keep the facts in lines or in Parquet files",
        severity=Severity.WARNING,
    )


def _not_there(name: str, reason: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="spark-unshared-file",
        message=f"a worker cannot read `{name}`: {reason}",
        span=span,
        hint="keep the facts where driver and workers see the same files, or let the driver read them:"
        " a larger `driver_facts`",
    )
