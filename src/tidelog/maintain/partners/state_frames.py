"""The facts of a session's relation as a data frame of codes, made by workers from the files of its state."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from tidelog.engine.code_rows import as_columns
from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.frames import read_codes
from tidelog.engine.spark.shared_frames import FILE, read_files
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LEVEL: Final = "level"
_AGE: Final = "age"


def state_frame(spark: "SparkSession", folder: Folder, files: Sequence[str], arity: int) -> "DataFrame":
    """Return the facts in files with levels; the latest file that has a row decides about it.

    Files of one name are those of all partners for one epoch, and the first have all facts of theirs.
    """
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    ages = {name.rpartition("/")[2]: age for age, name in enumerate(files)}
    if len(ages) <= 1:
        return read_codes(spark, folder, files, arity)
    columns = _names(arity)
    names = f.create_map(*(f.lit(each) for pair in ages.items() for each in pair))
    aged = _read_levels(spark, folder, files, arity, with_file=True).select(
        *columns, _LEVEL, names[f.col(FILE)].alias(_AGE)
    )
    return _latest(aged, columns)


def changed_frame(base: "DataFrame", inserted: CodeArray, deleted: CodeArray) -> "DataFrame":
    """Return the facts of a frame of codes without those deleted since, and with those inserted."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    if not len(inserted) and not len(deleted):
        return base
    columns = _names(inserted.shape[1])
    levels = np.repeat(np.array([ABSENT, 0], np.int32), [len(deleted), len(inserted)])
    table = _table(np.concatenate([deleted, inserted]))
    changes = base.sparkSession.createDataFrame(table.append_column(_LEVEL, pa.array(levels)))
    aged = base.select(*columns, f.lit(0).alias(_LEVEL), f.lit(0).alias(_AGE))
    return _latest(aged.unionByName(changes.withColumn(_AGE, f.lit(1))), columns)


def difference_frame(
    spark: "SparkSession", folder: Folder, files: Sequence[str], rows: CodeArray, *, are_deleted: bool
) -> "DataFrame":
    """Return these rows, and those of files that an epoch deleted, or those that it inserted."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    is_deleted = f.col(_LEVEL) == ABSENT
    filed = _read_levels(spark, folder, files, rows.shape[1])
    found = filed.where(is_deleted if are_deleted else ~is_deleted).select(*_names(rows.shape[1]))
    return found.unionByName(frame_of_rows(spark, rows)) if len(rows) else found


def frame_of_rows(spark: "SparkSession", rows: CodeArray) -> "DataFrame":
    """Return the codes of facts that the driver has as a data frame."""
    return spark.createDataFrame(_table(rows))


def _read_levels(
    spark: "SparkSession", folder: Folder, files: Sequence[str], arity: int, *, with_file: bool = False
) -> "DataFrame":
    types = {**dict.fromkeys(_names(arity), "long"), _LEVEL: "int"}
    return read_files(spark, folder, files, types, with_file=with_file)


def _latest(aged: "DataFrame", columns: Sequence[str]) -> "DataFrame":
    """Return the rows whose newest level is that of a fact."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    newest = aged.groupBy(*columns).agg(f.max_by(_LEVEL, _AGE).alias(_LEVEL))
    return newest.where(f.col(_LEVEL) != ABSENT).select(*columns)


def _table(rows: CodeArray) -> pa.Table:
    return pa.table([pa.array(column) for column in as_columns(rows)], names=list(_names(rows.shape[1])))


def _names(arity: int) -> list[str]:
    return [f"c{place}" for place in range(arity)]
