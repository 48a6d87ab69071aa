"""Outputs of facts that workers have: read from them in order, or written by them as parts.

    out/path.csv                  one file, as every engine writes it
    out/path.csv/part-00000.csv   a folder: each worker writes a range of the facts in order

Parts are in the order of their names, and in each the facts are in value order.
"""

import os
import pickle
import socket
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.io.places import Format, Place, place_of
from tidelog.io.staging import PART, Staging
from tidelog.io.write import BATCH_ROWS, SortedFacts, write_part
from tidelog.program.nodes import Directive, Relation
from tidelog.values import Codec
from tidelog.values.types import TypeTable
from tidelog.views.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import pyarrow as pa
    from pyspark.sql import DataFrame

    Batches = Iterator[pa.RecordBatch]

# Places that are folders of parts: the others are one file, or none.
_DIVISIBLE: Final = frozenset({Format.CSV, Format.JSON, Format.PARQUET})


@dataclass(frozen=True, slots=True)
class PartWriting:
    """What a worker needs to write a part of a relation to a folder."""

    relation: Relation
    types: TypeTable
    place: Place
    folder: Path


def sorted_facts(snapshot: Snapshot, relation: Relation) -> tuple[SortedFacts, Codec] | None:
    """Return the facts of a relation as workers sorted them, or None if the driver has them, or few."""
    from tidelog.engine.spark.files import Folder  # noqa: PLC0415 - only with Spark
    from tidelog.engine.spark.sorted_facts import read_sorted, sorted_frame, write_sorted  # noqa: PLC0415

    frame = sorted_frame(snapshot.engine, relation, snapshot.codec)
    if frame is None:
        return None
    folder = Folder(snapshot.engine.folder_uri)  # type: ignore[attr-defined]
    codec = Codec(snapshot.codec.types)
    files = write_sorted(frame, relation, folder)
    return SortedFacts(read_sorted(folder, files, relation, codec, BATCH_ROWS)), codec


def write_parts(  # noqa: PLR0913, PLR0917 - what, how and where of one output
    snapshot: Snapshot,
    relation: Relation,
    directive: Directive,
    directory: Path,
    staging: Staging,
    warnings: list[Diagnostic] | None,
) -> bool:
    """Write a relation as a folder of parts and return True, or False if its place is no folder.

    The driver writes the part of a small relation.
    """
    from tidelog.engine.spark.sorted_facts import sorted_frame  # noqa: PLC0415 - only with Spark

    place = place_of(relation, directive, directory)
    if place.path is None or place.format not in _DIVISIBLE:
        return False
    folder = staging.parts_for(place.path)
    for before in folder.iterdir():
        # Of an output to the same place, which this one replaces.
        before.unlink()
    frame = sorted_frame(snapshot.engine, relation, snapshot.codec) if relation.arity else None
    if frame is None:
        holds = relation.arity > 0 or snapshot.engine.size(relation.name) > 0
        columns = snapshot.engine.facts(relation.name) if holds else None
        found = write_part(folder / _part_name(place, 0), place, relation, columns, snapshot.codec)
    else:
        found = _let_workers_write(frame, PartWriting(relation, snapshot.codec.types, place, folder))
    for mistake in found[:1]:
        if warnings is None:
            raise TidelogError([replace(mistake, span=directive.span, severity=Severity.ERROR)])
        warnings.append(replace(mistake, span=directive.span))
    return True


def _let_workers_write(frame: "DataFrame", writing: PartWriting) -> list[Diagnostic]:
    """Let workers write the parts of a sorted frame; return what is wrong with lines, in their order."""
    from tidelog.engine.spark.failures import raise_failure  # noqa: PLC0415 - only with Spark
    from tidelog.engine.spark.replies import collect_replies  # noqa: PLC0415 - as above

    content, module = pickle.dumps(writing), __name__

    # The closure has nothing of tidelog but bytes, as in `engine.spark.job`.
    def write(batches: "Batches") -> "Batches":
        import importlib  # noqa: PLC0415 - in the worker

        yield from importlib.import_module(module).write_one_part(batches, content)

    found: list[Diagnostic] = []
    rows = sorted(collect_replies(frame, write, "part int, file string, size long, warning string"))
    kept: set[str] = set()
    for row in rows:
        file = writing.folder / row.file
        if not file.exists() or file.stat().st_size != row.size:
            raise TidelogError([_not_shared(writing, "the driver does not see what a worker wrote there")])
        name = _part_name(writing.place, len(kept))
        file.rename(writing.folder / name)
        kept.add(name)
        try:
            raise_failure(row.warning)
        except TidelogError as error:
            found += error.diagnostics
    for other in writing.folder.iterdir():
        # Of tasks that Spark started twice.
        if other.name not in kept:
            other.unlink()
    return found


def write_one_part(batches: "Batches", content: bytes) -> "Batches":
    """Write one part to a file and yield its name; called in the worker."""
    import pyarrow as pa  # noqa: PLC0415 - in the worker
    from pyspark import TaskContext  # noqa: PLC0415 - in the worker

    from tidelog.engine.spark.failures import failure_text  # noqa: PLC0415 - as above
    from tidelog.engine.spark.sorted_facts import rows_of  # noqa: PLC0415 - as above

    # From our own driver, over Spark's channels.
    writing: PartWriting = pickle.loads(content)  # noqa: S301 - see above
    context = TaskContext.get()
    assert context is not None
    part = int(context.partitionId())
    first = next(batches, None)
    if first is None:
        return
    if not os.access(writing.folder, os.W_OK):
        reason = f"there is no such folder on {socket.gethostname()}"
        raise RuntimeError(failure_text(TidelogError([_not_shared(writing, reason)])))
    codec = Codec(writing.types)
    rows = rows_of(_chained(first, batches), writing.relation, codec, BATCH_ROWS)
    file = f"written-{part}-{uuid.uuid4().hex[:12]}"
    try:
        found = write_part(writing.folder / file, writing.place, writing.relation, SortedFacts(rows), codec)
    except TidelogError as error:
        raise RuntimeError(failure_text(error)) from error
    warning = failure_text(TidelogError(found)) if found else ""
    size = (writing.folder / file).stat().st_size
    columns: dict[str, Any] = {
        "part": pa.array([part], pa.int32()), "file": [file], "size": pa.array([size], pa.int64()),
        "warning": [warning],
    }  # fmt: skip
    yield pa.record_batch(columns)


def _chained(first: "pa.RecordBatch", rest: "Batches") -> "Batches":
    yield first
    yield from rest


def _part_name(place: Place, number: int) -> str:
    assert place.path is not None, "parts are files"
    suffixes = place.path.suffixes[-2:] if place.path.suffix == ".gz" else place.path.suffixes[-1:]
    return f"{PART}{number:05}{''.join(suffixes)}"


def _not_shared(writing: PartWriting, reason: str) -> Diagnostic:
    return Diagnostic(
        code="spark-unshared-file",
        message=f"workers cannot write to `{writing.place.path}`: {reason}",
        hint="write to a folder that driver and workers share, or leave out --output-parts",
    )
