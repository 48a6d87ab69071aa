"""Facts of a relation in value order, sorted by Spark: a part for each range of values.

The driver reads them some rows at a time, or workers write each part to a file of its own.
"""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.frames import belongs_to_workers, frame_with_texts
from tidelog.engine.spark.shared_frames import write_files
from tidelog.program.nodes import Relation
from tidelog.values import Codec, Codes, Dictionary, Kind, Records

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

    Batches = Iterator[pa.RecordBatch]

_SIGN_BIT = -(2**63)
_ALL_BUT_SIGN = 2**63 - 1


def sorted_frame(engine: object, relation: Relation, codec: Codec) -> "DataFrame | None":
    """Return the facts of a relation in value order, or None if the driver has them or they are few.

    Columns are c0, c1, ...: codes of numbers, and texts, which stand for records and algebraic values too.
    """
    if not belongs_to_workers(engine, relation, codec):
        return None
    frame = frame_with_texts(engine, relation, codec, with_keys=True)
    if frame is None:
        return None
    kinds = [codec.resolve(column.type).kind for column in relation.columns]
    ordered = frame.orderBy(*(_order(place, kind) for place, kind in enumerate(kinds)))
    return ordered.select(*(f"c{place}" for place in range(relation.arity)))


def _order(place: int, kind: Kind) -> "SparkColumn":
    """Return what puts a column into value order, as `Codec.order_keys`; texts are in that of their bytes."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    column = f.col(f"c{place}")
    match kind:
        case Kind.RECORD | Kind.ADT:
            return f.col(f"key{place}")
        case Kind.UNSIGNED:
            return column.bitwiseXOR(f.lit(_SIGN_BIT))
        case Kind.FLOAT:
            return f.when(column < 0, column.bitwiseXOR(f.lit(_ALL_BUT_SIGN))).otherwise(column)
        case _:
            return column


# --- read by the driver ---------------------------------------------------------------------------


def write_sorted(frame: "DataFrame", relation: Relation, folder: Folder) -> list[str]:
    """Write the rows of a sorted frame to files and return these in order."""
    return write_files(frame, folder, relation.name, f"sorted-{uuid.uuid4().hex[:12]}")


def read_sorted(
    folder: Folder, files: Sequence[str], relation: Relation, codec: Codec, rows: int
) -> Iterator[list[Codes]]:
    """Yield the rows of files, so many at a time, as `rows_of`; each file is deleted after its last row."""

    def batches() -> "Batches":
        for file in files:
            yield from folder.read_batches(file, rows)
            folder.delete(file)

    yield from rows_of(batches(), relation, codec, rows)


def rows_of(
    batches: "Iterable[pa.RecordBatch]", relation: Relation, codec: Codec, rows: int
) -> Iterator[list[Codes]]:
    """Yield the codes of the rows of batches, so many rows at a time, at last what remains.

    Texts and records have codes in `codec` until the next rows are asked for: they are replaced each time.
    """
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        rest = batch
        while rest.num_rows:
            taken = rest.slice(0, rows - count)
            rest = rest.slice(taken.num_rows)
            held.append(taken)
            count += taken.num_rows
            if count == rows:
                yield _coded(held, relation, codec)
                held, count = [], 0
    if held:
        yield _coded(held, relation, codec)


def _coded(held: "list[pa.RecordBatch]", relation: Relation, codec: Codec) -> list[Codes]:
    import pyarrow as pa  # noqa: PLC0415 - needed only with Spark

    codec.symbols, codec.records = Dictionary(), Records()
    columns = pa.Table.from_batches(held).columns
    return [
        np.ascontiguousarray(column.to_numpy(), np.int64)
        if codec.resolve(each.type).kind.is_numeric
        else codec.parse_column(column, each.type)
        for column, each in zip(columns, relation.columns, strict=True)
    ]
