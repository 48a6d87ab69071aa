"""Facts that workers have: they write the files of a pipeline, and the driver learns names and sizes."""

import uuid
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tidelog.dataclass import dataclass
from tidelog.engine.spark.frames import frame_of
from tidelog.engine.spark.replies import collect_replies
from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.facts import parquet_files
from tidelog.pipeline.past import PastFiles, lost_changes
from tidelog.values import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidelog.pipeline.facts import ArrowFacts

    Batches = Iterator[pa.RecordBatch]

# Rows in one group of a file, and so the most that a worker has in memory.
_GROUP_ROWS: Final = 1 << 18
DIFF: Final = "diff"
_SIGN: Final = "sign"


@dataclass(frozen=True, slots=True)
class FramedFacts:
    """Facts of one relation as a frame, `size` of them, to be written in the types of `schema`."""

    frame: "DataFrame"
    size: int
    schema: pa.Schema

    def count(self) -> int:
        """Return how many facts there are."""
        return self.size

    def write(self, folder: Path) -> None:
        """Let workers write them to Parquet files in a new folder."""
        write_frame(self.frame, self.schema, folder)


def write_signed(
    sides: "list[tuple[str, ArrowFacts | FramedFacts]]", op: str, folder: Path, spark: "SparkSession"
) -> None:
    """Let workers write facts to a new folder, before them a column `op` with the sign of their side."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    frames = [
        (facts.frame if isinstance(facts, FramedFacts) else frame_of(facts.table, spark)).select(
            f.lit(sign).alias(op), "*"
        )
        for sign, facts in sides
    ]
    own = next(each.schema for _, each in sides if isinstance(each, FramedFacts))
    together = reduce(lambda left, right: left.union(right), frames)
    write_frame(together, own.insert(0, pa.field(op, pa.string())), folder)


def write_frame(frame: "DataFrame", schema: pa.Schema, folder: Path) -> None:
    """Let workers write the rows of a frame to Parquet files in a new folder, one for each part with rows.

    Tasks that Spark started twice leave nothing behind.
    """
    folder.mkdir(parents=True)
    place, content = str(folder), schema.serialize().to_pybytes()

    # The closure has nothing of tidelog but bytes, as in `engine.spark.job`.
    def write(batches: "Batches") -> "Batches":
        from tidelog.pipeline.framed_facts import write_part  # noqa: PLC0415 - in the worker

        yield from write_part(batches, place, content)

    written = sorted(collect_replies(frame, write, "part int, file string, size long"))
    for number, row in enumerate(written):
        file = folder / row.file
        if not file.exists() or file.stat().st_size != row.size:
            raise TidelogError([_not_shared(folder)])
        file.rename(folder / f"part-{number}.parquet")
    for other in folder.glob(f"{_UNNAMED}*"):
        other.unlink()


def compare(now: "DataFrame", past: PastFiles, spark: "SparkSession") -> "DataFrame":
    """Return what is different now from an output of the past: its facts and a column `DIFF`, 1 or -1.

    One shuffle brings facts of now and then together.
    """
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    names = [f"c{place}" for place in range(len(past.columns))]
    parts = [now.toDF(*names).withColumn(DIFF, f.lit(1))]
    if past.files:
        base = spark.read.parquet(*map(str, past.files))
        parts.append(base.toDF(*names).withColumn(DIFF, f.lit(-1)))
    for feed, count, sign in past.feeds:
        files = parquet_files(feed)
        if sum(pq.read_metadata(file).num_rows for file in files) != count:
            raise TidelogError([lost_changes(feed)])
        rows = spark.read.parquet(*map(str, files)).toDF(_SIGN, *names)
        side = f.when(f.col(_SIGN) == "+", f.lit(-sign)).otherwise(f.lit(sign))
        parts.append(rows.select(*names, side.alias(DIFF)))
    # Spark groups -0.0 with 0.0, which are two values; their texts differ.
    keys = [
        (f.col(name).cast("string") if kind == Kind.FLOAT.value else f.col(name)).alias(f"key{name}")
        for name, (_, kind) in zip(names, past.columns, strict=True)
    ]
    summed = reduce(lambda left, right: left.union(right), parts).groupBy(*keys)
    values = [f.first(name).alias(name) for name in names]
    return summed.agg(*values, f.sum(DIFF).alias(DIFF)).where(f"{DIFF} <> 0").select(*names, DIFF)


# Files that the driver has not counted yet; whoever reads Parquet folders leaves such names out.
_UNNAMED: Final = "_written-"


def write_part(batches: "Batches", folder: str, content: bytes) -> "Batches":
    """Write one part to a file and yield its name and size; called in the worker."""
    from pyspark import TaskContext  # noqa: PLC0415 - in the worker

    context = TaskContext.get()
    assert context is not None
    part = int(context.partitionId())
    schema = pa.ipc.read_schema(pa.py_buffer(content))
    groups = _groups(batches, schema)
    first = next(groups, None)
    if first is None:
        return
    # Made here where the driver's folder is not seen: then the driver does not see this one, and says so.
    Path(folder).mkdir(parents=True, exist_ok=True)
    file = Path(folder) / f"{_UNNAMED}{part}-{uuid.uuid4().hex[:12]}"
    with pq.ParquetWriter(file, schema) as writer:
        writer.write_table(first)
        for group in groups:
            writer.write_table(group)
    size = pa.array([file.stat().st_size], pa.int64())
    yield pa.record_batch({"part": pa.array([part], pa.int32()), "file": [file.name], "size": size})


def _groups(batches: "Batches", schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows in the types of a schema, many at a time."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= _GROUP_ROWS:
            yield pa.Table.from_batches(held).rename_columns(schema.names).cast(schema)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held).rename_columns(schema.names).cast(schema)


def _not_shared(folder: Path) -> Diagnostic:
    return Diagnostic(
        code="spark-unshared-file",
        message=f"the driver does not see what a worker wrote to `{folder}`",
        hint="give the job a state folder, or `work`, that driver and workers share",
    )
