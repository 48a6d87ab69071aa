"""Files of shared storage as data frames, read and written by workers.

Spark reads those of its own file systems itself. Elsewhere it may lack what it takes, and knows places by
other names: there Arrow reads the files, in the workers, as everywhere else in the engine.
"""

import posixpath
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tidelog.engine.spark.files import Folder, file_name
from tidelog.engine.spark.replies import collect_replies

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Batches = Iterator[pa.RecordBatch]

# A column with the last part of the name of the file that a row is from.
FILE: Final = "file"
_BATCH_ROWS: Final = 1 << 16


def read_files(
    spark: "SparkSession",
    folder: Folder,
    files: Sequence[str],
    types: Mapping[str, str],
    *,
    with_file: bool = False,
) -> "DataFrame":
    """Return columns of files as a data frame; `types` are `long`, `int` or `string` by column.

    Numbers in the files may be narrower. With `with_file` there is also a column `FILE`.
    """
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    schema = ", ".join(f"{name} {kind}" for name, kind in types.items())
    paths = folder.paths_for_spark(files)
    if paths is not None:
        found = spark.read.schema(schema).parquet(*paths)
        return found.select(*types, *([f.col("_metadata.file_name").alias(FILE)] if with_file else ()))
    uri, names, wanted = folder.uri, list(files), dict(types)

    def read(batches: "Batches") -> "Batches":
        from tidelog.engine.spark.shared_frames import read_numbered  # noqa: PLC0415 - in the worker

        yield from read_numbered(batches, uri, names, wanted)

    numbers = spark.range(0, len(names), 1, len(names))
    found = numbers.mapInArrow(read, f"{schema}, {FILE} string")
    return found if with_file else found.drop(FILE)


def read_numbered(batches: "Batches", uri: str, files: Sequence[str], types: Mapping[str, str]) -> "Batches":
    """Yield the rows of the files with these numbers; called in the worker."""
    import pyarrow as pa  # noqa: PLC0415 - in the worker

    folder, kinds = Folder(uri), {"long": pa.int64(), "int": pa.int32(), "string": pa.string()}
    for numbers in batches:
        for number in numbers.column(0).to_pylist():
            file = posixpath.basename(files[number])
            for batch in folder.read_batches(files[number], _BATCH_ROWS, list(types)):
                columns = [batch.column(name).cast(kinds[kind]) for name, kind in types.items()]
                columns.append(pa.array([file] * batch.num_rows, pa.string()))
                yield pa.RecordBatch.from_arrays(columns, names=[*types, FILE])


def write_files(frame: "DataFrame", folder: Folder, relation: str, name: str) -> list[str]:
    """Write the rows of a frame to files of a relation, one for each part, and return these in order."""
    uri = folder.uri

    def write(batches: "Batches") -> "Batches":
        from tidelog.engine.spark.shared_frames import write_one_file  # noqa: PLC0415 - in the worker

        yield from write_one_file(batches, uri, relation, name)

    rows = collect_replies(frame, write, "part int, file string")
    return [row.file for row in sorted(rows)]


def write_one_file(batches: "Batches", uri: str, relation: str, name: str) -> "Batches":
    """Write the rows of one part to a file and yield its name; called in the worker."""
    import pyarrow as pa  # noqa: PLC0415 - in the worker
    from pyspark import TaskContext  # noqa: PLC0415 - in the worker

    context = TaskContext.get()
    assert context is not None
    part = int(context.partitionId())
    first = next(batches, None)
    if first is None:
        return
    file = file_name(relation, part, f"{name}-{uuid.uuid4().hex[:12]}")
    tables = (pa.Table.from_batches([batch]) for batch in _chained(first, batches))
    if Folder(uri).write_tables(file, first.schema, tables):
        yield pa.record_batch({"part": pa.array([part], pa.int32()), "file": [file]})


def _chained(first: "pa.RecordBatch", rest: "Batches") -> "Batches":
    yield first
    yield from rest
