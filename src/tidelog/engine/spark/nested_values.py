"""Records and algebraic values of data frames: workers turn them into codes, and codes into texts.

frame given       [1, a] as a text, a list or a struct
plain texts       "[1, a]", as in a fact file: equal texts for equal values of a type
codes             partners give them to all distinct values, see `nested_codes`
frame returned    plain texts again; workers make those of the distinct codes
"""

import json
import pickle
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.job import BarrierJob, run_apart
from tidelog.engine.spark.nested_codes import CODE, TYPE, VALUES, NestedShares, give_codes
from tidelog.engine.spark.replies import task_of
from tidelog.engine.spark.shared_frames import read_files, write_files
from tidelog.engine.spark.texts import TEXT
from tidelog.engine.spark.value_files import ValueFiles, files_of_values, read_values, take_all_values
from tidelog.program.nodes import Relation
from tidelog.values import Codec
from tidelog.values.nesting import NESTED
from tidelog.values.types import TypeTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Batches = Iterator[pa.RecordBatch]

KEY: Final = "key"
# Runs a function at connected workers, for whose number the payload is made, and returns their replies.
WorkTogether = Callable[[str, str, Callable[[int], object]], list[str]]
# Each part in which values are decoded reads all files of values, so it should have many of them.
_CODES_PER_PART: Final = 1 << 18


def nested_places(relation: Relation, codec: Codec) -> list[int]:
    """Return which columns of a relation have records or algebraic values."""
    return [n for n, column in enumerate(relation.columns) if codec.resolve(column.type).kind in NESTED]


# --- plain texts to codes -------------------------------------------------------------------------


class NestedCodes:
    """The codes of the values of some frames, in files until they are deleted."""

    def __init__(self, spark: "SparkSession", folder: Folder, files: Sequence[str]) -> None:
        self._spark = spark
        self._folder = folder
        self._files = files

    def frame(self, type_name: str) -> "DataFrame":
        """Return the plain texts of values of one type, with their codes."""
        from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

        types = {TYPE: "string", TEXT: "string", CODE: "long"}
        if not self._files:
            schema = ", ".join(f"{name} {kind}" for name, kind in types.items())
            return self._spark.createDataFrame([], schema).drop(TYPE)
        found = read_files(self._spark, self._folder, self._files, types)
        return found.where(f.col(TYPE) == type_name).drop(TYPE)

    def delete(self) -> None:
        """Delete the files."""
        for file in self._files:
            self._folder.delete(file)


def file_nested_values(
    frames: Mapping[str, "DataFrame"],
    relations: Mapping[str, Relation],
    codec: Codec,
    folder: Folder,
    work_together: WorkTogether | None,
) -> NestedCodes:
    """Let workers give codes to the values of frames with plain texts; new ones are filed for `codec`."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    columns = [
        frame.select(
            f.lit(codec.resolve(relations[name].columns[place].type).name).alias(TYPE),
            f.col(f"c{place}").alias(TEXT),
        )
        for name, frame in frames.items()
        for place in nested_places(relations[name], codec)
    ]
    together = reduce(lambda left, right: left.union(right), columns).distinct()
    spark = together.sparkSession
    different = write_files(together, folder, VALUES, f"all-{uuid.uuid4().hex[:12]}")
    known = files_of_values(codec, folder)

    def shares(partners: int) -> NestedShares:
        parts = tuple(tuple(different[partner::partners]) for partner in range(partners))
        return NestedShares(folder.uri, dict(codec.types), parts, known)

    work = give_codes.__module__, give_codes.__name__, shares
    replies = [json.loads(text) for text in (work_together or partial(work_alone, spark))(*work)]
    take_all_values(codec, folder, replies)
    for file in different:
        folder.delete(file)
    return NestedCodes(spark, folder, [each["file"] for each in replies if each["file"] is not None])


def work_alone(
    spark: "SparkSession", module: str, function: str, payload: Callable[[int], object]
) -> list[str]:
    """Return what one worker replies that does work for partners."""
    return [each.text for each in run_apart(spark, BarrierJob(module, function, payload(1), 1))]


# --- codes to plain texts -------------------------------------------------------------------------


def plain_texts_of_codes(
    codes: "DataFrame", type_name: str, codec: Codec, folder: Folder, *, with_keys: bool
) -> "DataFrame":
    """Return the different codes of a frame's only column with their plain texts.

    With keys there is a third column, whose order is that of the values.
    """
    files = files_of_values(codec, folder)
    content = pickle.dumps((folder.uri, dict(codec.types), files, type_name, with_keys))
    most = codes.sparkSession.sparkContext.defaultParallelism
    parts = max(1, min(most, len(codec.records) // _CODES_PER_PART))
    schema = f"{CODE} long, {TEXT} string" + (f", {KEY} binary" if with_keys else "")
    different = codes.toDF(CODE).distinct().repartition(parts)
    return different.mapInArrow(task_of(read_nested_codes, content), schema)


def read_nested_codes(batches: "Batches", content: bytes) -> "Batches":
    """Yield codes with the texts of their values, and perhaps with keys; called in the worker."""
    import pyarrow as pa  # noqa: PLC0415 - in the worker

    from tidelog.values.order_bytes import order_bytes  # noqa: PLC0415 - as above

    # From our own driver, over Spark's channels.
    uri, types, files, type_name, with_keys = pickle.loads(content)  # noqa: S301 - see above
    codec: Codec | None = None
    for batch in batches:
        if codec is None:
            codec = _with_all_values(uri, types, files)
        codes = batch.column(0).to_numpy(zero_copy_only=False)
        columns = {CODE: batch.column(0), TEXT: codec.column_to_arrow(codes, type_name)}
        if with_keys:
            value_type = codec.resolve(type_name)
            keys = [order_bytes(code, value_type, codec) for code in codes.tolist()]
            columns[KEY] = pa.array(keys, pa.binary())
        yield pa.record_batch(columns)


def _with_all_values(uri: str, types: TypeTable, files: ValueFiles) -> Codec:
    codec = Codec(types)
    read_values(codec, Folder(uri), files)
    return codec
