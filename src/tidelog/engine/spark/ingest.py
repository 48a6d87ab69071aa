"""Data frames as files of codes, written by workers: neither rows nor texts come to the driver.

    frame      c0: symbol, c1: number
    texts      each once, one file for each part; their codes are dense
    codes      distinct rows, one file for each part

A frame with texts is read twice, and its rows must be the same both times: Spark keeps them on disk
meanwhile, and a text that the dictionary does not have ends the evaluation with a diagnostic.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.state import fits_narrow
from tidelog.engine.spark.failures import failure_text
from tidelog.engine.spark.files import Annotated, Folder, file_name
from tidelog.engine.spark.nested_values import (
    NestedCodes,
    WorkTogether,
    file_nested_values,
    nested_places,
)
from tidelog.engine.spark.replies import collect_replies
from tidelog.engine.spark.texts import TEXT, TEXTS, FiledDictionary, TextFile, filed_symbols
from tidelog.engine.spark.texts import write_texts as write_text_file
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Column, Relation
from tidelog.values import Codec, Kind
from tidelog.values.codes import Codes, floats_to_codes
from tidelog.values.nesting import NESTED

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

    Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class FrameFacts:
    """Facts in columns c0, c1, ...; where they `are_codes`, numbers are codes already and texts are texts.

    Records and algebraic values are their plain texts, as in fact files: equal texts for equal values.
    """

    frame: "DataFrame"
    are_codes: bool = False


@dataclass(frozen=True, slots=True)
class CodeFiles:
    """The facts of a relation in files, each fact once."""

    files: tuple[str, ...]
    size: int
    is_wide: bool


def write_frames(
    facts: Mapping[str, Sequence[FrameFacts]],
    relations: Mapping[str, Relation],
    codec: Codec,
    folder: Folder,
    work_together: WorkTogether | None = None,
) -> dict[str, CodeFiles]:
    """Write the facts of relations as files of codes; texts that are new get codes in `codec.symbols`.

    Requires columns c0, c1, ... of types that the relation's columns take. Unless there is a way to work
    together, one worker gives codes to records.
    """
    texts = {name: _places_of(relations[name], codec, Kind.SYMBOL) for name in facts}
    nested = {name: nested_places(relations[name], codec) for name in facts}
    frames: dict[str, DataFrame] = {}
    kept: list[DataFrame] = []
    values: NestedCodes | None = None
    try:
        for name, parts in facts.items():
            coded = []
            for part in parts:
                coded.append(
                    part.frame if part.are_codes else _numbers_coded(part.frame, relations[name], codec)
                )
                if (texts[name] or nested[name]) and not part.are_codes:
                    # It is read twice, and files are the same both times.
                    kept.append(_kept(coded[-1]))
            frames[name] = reduce(lambda left, right: left.unionByName(right), coded)
        if any(nested.values()):
            with_values = {name: frame for name, frame in frames.items() if nested[name]}
            values = file_nested_values(with_values, relations, codec, folder, work_together)
        if any(texts.values()):
            with_texts = {name: frame for name, frame in frames.items() if texts[name]}
            _file_texts(with_texts, texts, codec, folder)
        return {
            name: write_code_files(
                _with_codes(frame, relations[name], codec, values), relations[name], folder
            )
            for name, frame in frames.items()
        }
    finally:
        if values is not None:
            values.delete()
        for frame in kept:
            frame.unpersist()


def facts_of_columns(
    columns: Sequence[Codes], relation: Relation, codec: Codec, spark: "SparkSession"
) -> FrameFacts:
    """Return facts that the driver has as facts for `write_frames`."""
    import pyarrow as pa  # noqa: PLC0415 - needed only with Spark

    arrays = [
        codec.column_to_arrow(codes, column.type) if has_texts(column, codec) else pa.array(codes)
        for codes, column in zip(columns, relation.columns, strict=True)
    ]
    names = [f"c{place}" for place in range(relation.arity)]
    return FrameFacts(spark.createDataFrame(pa.table(arrays, names=names)), are_codes=True)


def has_texts(column: Column, codec: Codec) -> bool:
    """Say whether texts stand for the values of a column where they have no codes."""
    kind = codec.resolve(column.type).kind
    return kind is Kind.SYMBOL or kind in NESTED


def _numbers_coded(frame: "DataFrame", relation: Relation, codec: Codec) -> "DataFrame":
    """Return a frame with the codes of its numbers, and texts for everything else."""
    return _with_float_codes(_checked(frame, relation, codec), _places_of(relation, codec, Kind.FLOAT))


def _places_of(relation: Relation, codec: Codec, kind: Kind) -> list[int]:
    return [n for n, column in enumerate(relation.columns) if codec.resolve(column.type).kind is kind]


def _kept(frame: "DataFrame") -> "DataFrame":
    from pyspark import StorageLevel  # noqa: PLC0415 - Spark is loaded when it is used

    return frame.persist(StorageLevel.DISK_ONLY)


def _checked(frame: "DataFrame", relation: Relation, codec: Codec) -> "DataFrame":
    """Return a frame with columns of the types that codes are made from; workers raise at a bad value."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    types = {Kind.NUMBER: "long", Kind.FLOAT: "double", Kind.UNSIGNED: "decimal(21,0)"}

    def column(place: int, each: Column) -> "SparkColumn":
        kind = codec.resolve(each.type).kind
        value = f.col(f"c{place}").cast(types.get(kind, "string"))
        null = _refused(relation, each, "a null")
        value = f.coalesce(value, null.cast(types.get(kind, "string")))
        if kind is Kind.UNSIGNED:
            value = _unsigned_code(value, relation, each)
        return value.alias(f"c{place}")

    return frame.select(*(column(place, each) for place, each in enumerate(relation.columns)))


def _unsigned_code(value: "SparkColumn", relation: Relation, column: Column) -> "SparkColumn":
    """Return the code of an unsigned number, which Spark has as a decimal if it needs 64 bits."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    above = f.lit(Decimal(2**64)).cast("decimal(21,0)")
    code = (
        f.when(value < 0, _refused(relation, column, "a negative number"))
        .when(value >= above, _refused(relation, column, "a number of more than 64 bits"))
        .when(value >= f.lit(Decimal(2**63)), value - above)
        .otherwise(value)
    )
    return code.cast("long")


def _refused(relation: Relation, column: Column, what: str) -> "SparkColumn":
    """Return an expression that raises a diagnostic where it is evaluated."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    diagnostic = Diagnostic(
        code="wrong-value-type",
        message=f"facts of `{relation.name}`: column `{column.name}` of type `{column.type}` has {what}",
        hint="leave such rows out of the frame, or replace the value",
    )
    return f.raise_error(f.lit(failure_text(TidelogError([diagnostic]))))


# --- texts ----------------------------------------------------------------------------------------


def _file_texts(
    frames: Mapping[str, "DataFrame"], places: Mapping[str, Sequence[int]], codec: Codec, folder: Folder
) -> None:
    """Let workers write the texts of all frames that have no code yet, and give them codes."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    columns = [frames[name].select(f.col(f"c{n}").alias(TEXT)) for name in frames for n in places[name]]
    known = filed_symbols(codec, folder)
    texts = reduce(lambda left, right: left.union(right), columns).distinct()
    if len(known):
        dictionary = known.frame(texts.sparkSession)
        texts = texts.join(f.broadcast(dictionary) if known.is_read else dictionary, on=TEXT, how="left_anti")
    write = _write_texts_at(folder.uri, uuid.uuid4().hex[:12], known.next_part)
    rows = collect_replies(texts, write, "file string, part int, rows long")
    written = sorted((row.part, row.file, row.rows) for row in rows)
    known.add_files([TextFile(file, part, count) for part, file, count in written])


def _with_codes(
    frame: "DataFrame", relation: Relation, codec: Codec, values: NestedCodes | None
) -> "DataFrame":
    """Return the frame with the codes of its texts, and of what texts stand for."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    changed = Diagnostic(
        code="spark-frame-changed",
        message="a data frame had other texts when it was read again",
        hint="write the frame to a table or a file first, or make it deterministic",
    )
    for place, column in enumerate(relation.columns):
        if not has_texts(column, codec):
            continue
        if codec.is_symbol(column.type):
            assert isinstance(codec.symbols, FiledDictionary)
            codes = codec.symbols.frame(frame.sparkSession)
        else:
            assert values is not None
            codes = values.frame(codec.resolve(column.type).name)
        code = codes.select(f.col(TEXT).alias(f"text{place}"), f.col("code").alias(f"code{place}"))
        missing = f.raise_error(f.lit(failure_text(TidelogError([changed])))).cast("long")
        frame = frame.join(code, f.col(f"c{place}") == f.col(f"text{place}"), "left")
        frame = frame.withColumn(f"c{place}", f.coalesce(f.col(f"code{place}"), missing))
        frame = frame.drop(f"text{place}", f"code{place}")
    return frame


def _write_texts_at(uri: str, name: str, first_part: int) -> Callable[["Batches"], "Batches"]:
    def write(batches: "Batches") -> "Batches":
        from tidelog.engine.spark.ingest import write_texts  # noqa: PLC0415 - in the worker

        yield from write_texts(batches, uri, name, first_part)

    return write


def write_texts(batches: "Batches", uri: str, name: str, first_part: int) -> "Batches":
    """Write the texts of one part to a file and yield its name and size; called in the worker."""
    import pyarrow as pa  # noqa: PLC0415 - in the worker
    from pyspark import TaskContext  # noqa: PLC0415 - in the worker

    context = TaskContext.get()
    assert context is not None
    part = first_part + int(context.partitionId())
    table = pa.Table.from_batches(list(batches) or [pa.record_batch({TEXT: pa.array([], pa.string())})])
    if table.num_rows:
        count = table.num_rows
        file = file_name(TEXTS, part, f"{name}-{uuid.uuid4().hex[:12]}")
        write_text_file(Folder(uri), TextFile(file, part, count), table.column(0))
        yield pa.record_batch(
            {"file": [file], "part": pa.array([part], pa.int32()), "rows": pa.array([count], pa.int64())}
        )


# --- codes ----------------------------------------------------------------------------------------


def _with_float_codes(frame: "DataFrame", places: Sequence[int]) -> "DataFrame":
    """Return the frame with the codes of its floats; Spark has no function for their bits."""
    if not places:
        return frame
    types = dict(frame.dtypes) | {f"c{place}": "long" for place in places}
    schema = ", ".join(f"{name} {types[name]}" for name in frame.columns)

    def encode(batches: "Batches") -> "Batches":
        import pyarrow as pa  # noqa: PLC0415 - in the worker

        for batch in batches:
            columns = list(batch.columns)
            for place in places:
                columns[place] = pa.array(floats_to_codes(columns[place].to_numpy(zero_copy_only=False)))
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    return frame.mapInArrow(encode, schema)


def write_code_files(frame: "DataFrame", relation: Relation, folder: Folder) -> CodeFiles:
    """Let workers write the rows of a frame of codes to files, each row once."""
    name = f"in-{uuid.uuid4().hex[:12]}"
    uri, relation_name, arity = folder.uri, relation.name, relation.arity

    def write(batches: "Batches") -> "Batches":
        from tidelog.engine.spark.ingest import write_part  # noqa: PLC0415 - in the worker

        yield from write_part(batches, uri, relation_name, name, arity)

    rows = collect_replies(frame.distinct(), write, "file string, rows long, wide boolean")
    files = sorted(row.file for row in rows)
    return CodeFiles(tuple(files), sum(row.rows for row in rows), any(row.wide for row in rows))


def write_part(batches: "Batches", uri: str, relation: str, name: str, arity: int) -> "Batches":
    """Write the rows of one part to a file and yield its name and size; called in the worker."""
    import pyarrow as pa  # noqa: PLC0415 - in the worker
    from pyspark import TaskContext  # noqa: PLC0415 - in the worker

    context = TaskContext.get()
    assert context is not None
    columns: list[list[Any]] = [[] for _ in range(arity)]
    for batch in batches:
        for place in range(arity):
            columns[place].append(batch.column(place).to_numpy(zero_copy_only=False))
    if not columns[0]:
        return
    rows = np.stack([np.concatenate(parts) for parts in columns], axis=1)
    is_wide = not fits_narrow(rows)
    file = file_name(relation, int(context.partitionId()), f"{name}-{uuid.uuid4().hex[:12]}")
    Folder(uri).write_rows(file, Annotated(rows if is_wide else rows.astype(np.int32)))
    yield pa.record_batch({"file": [file], "rows": pa.array([len(rows)], pa.int64()), "wide": [is_wide]})
