"""The last order of each fact of a source, so that a row that comes late does not undo a newer one.

It is kept in batches of files, which the manifest names. An epoch writes the orders that it moved on, and
with them the batches that are not much larger: each batch is more than twice as large as all newer ones, so
there are few, a row is written again only as often as their number, and storage grows with the facts that
were ever changed, not with the epochs.

A deleted fact has its order, too: an insertion that is older than the deletion must not count.
"""

import shutil
from collections.abc import Sequence
from dataclasses import field, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import DataType, IntegerType, LongType, StructField, StructType

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.checking import OP, ORDER, fact_column
from tidelog.pipeline.derive import Facts
from tidelog.pipeline.facts import sync_files
from tidelog.pipeline.folder import JobFolder, OrderBatch, SourceState
from tidelog.pipeline.job import Changes, JobSource
from tidelog.pipeline.order_files import (
    GROUP_ROWS,
    HASH,
    Int64s,
    OrderFiles,
    count_orders,
    newest,
    read_orders,
    write_orders,
)
from tidelog.pipeline.order_types import arrow_order, order_type, spark_order, wider_type
from tidelog.pipeline.spark_types import spark_type
from tidelog.values import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# So many facts are looked up in the driver, and so many orders are merged there; more are on Spark.
FEW_FACTS: Final = 1 << 13
FEW_MERGED: Final = 1 << 17
_ARROW: Final = {Kind.NUMBER: pa.int64(), Kind.UNSIGNED: pa.decimal128(20, 0), Kind.FLOAT: pa.float64()}


@dataclass(frozen=True, slots=True)
class LastOrders:
    """The last order of each fact of a source, and what it was: 1 inserted, -1 deleted.

    It was 0 if changes with that order contradict each other, so that neither counts. `type` is the type in
    which orders are compared; None if there are none yet.
    """

    source: JobSource
    kinds: tuple[Kind, ...]
    folder: JobFolder
    files: OrderFiles = field(repr=False)
    type: str | None = None
    batches: tuple[OrderBatch, ...] = ()

    @property
    def facts(self) -> tuple[str, ...]:
        """Return the columns of facts."""
        return tuple(fact_column(place) for place in range(len(self.kinds)))

    @property
    def are_few(self) -> bool:
        """Say whether the driver may have all of them in its memory."""
        return sum(batch.rows for batch in self.batches) <= FEW_FACTS

    @property
    def schema(self) -> pa.Schema:
        """Return the columns of kept orders, in Arrow's types."""
        assert self.type is not None
        return self._schema(self.type)

    @property
    def spark_type(self) -> DataType:
        """Return the type of orders on Spark."""
        assert self.type is not None
        return spark_order(self.type)

    def fit(self, schema: StructType) -> "LastOrders":
        """Return the same orders in a type that those of new rows have, too.

        Raises `TidelogError` if the two do not compare.
        """
        assert self.source.order is not None
        found = schema[self.source.order].dataType
        name = order_type(found, self.source)
        assert name is not None, "the types of columns were checked"
        wider = name if self.type is None else wider_type(self.type, name)
        if wider is None:
            raise TidelogError([_other_type(self.source, found, self.type)])
        return replace(self, type=wider)

    def find(self, hashes: Int64s) -> pa.Table | None:
        """Return the last orders of facts with some hashes, perhaps among others; None if there are none."""
        if not self.batches or not hashes.size:
            return None
        hashes = np.unique(hashes)
        tables = [
            self.files.find(self._place(batch.epoch), hashes, self._schema(batch.type)).cast(self.schema)
            for batch in self.batches
        ]
        return newest(tables, self.facts)

    def beside(self, marked: "DataFrame") -> "DataFrame | None":
        """Return the last orders of the facts in marked rows, perhaps with others; None if there are none.

        If more than a few are known, the rows are read twice; those of a few facts are then found without
        reading the others.
        """
        if not self.batches:
            return None
        spark = marked.sparkSession
        if self.are_few:
            found = newest([self._read(batch) for batch in self.batches], self.facts)
            return self._to_spark(found, spark)
        hashes = marked.select(HASH).distinct().limit(FEW_FACTS + 1).toArrow()[HASH].to_numpy()
        if hashes.size > FEW_FACTS:
            return self._last(reduce(_union, self._frames(spark, self.batches)))
        some = self.find(hashes)
        return self._to_spark(some, spark) if some is not None and some.num_rows else None

    def keep(self, news: Facts, most: int, epoch: int, spark: "SparkSession") -> "LastOrders":
        """Return the orders after an epoch that moved `most` or fewer on; they are on the disk on return."""
        assert self.type is not None
        if most <= FEW_FACTS and not isinstance(news, pa.Table):
            news = news.select(*self.schema.names).toArrow()
            most = news.num_rows
        if not most:
            return self
        count = count_merged([batch.rows for batch in self.batches], most)
        kept, merged = self.batches[: len(self.batches) - count], self.batches[len(self.batches) - count :]
        place = self.folder.fresh(self._place(epoch))
        if isinstance(news, pa.Table) and most + sum(batch.rows for batch in merged) <= FEW_MERGED:
            older = [self._read(batch) for batch in merged]
            write_orders(newest([*older, news.cast(self.schema)], self.facts), place)
        else:
            frame = self._to_spark(news, spark) if isinstance(news, pa.Table) else news
            frame = frame.select(*self.schema.names)
            if merged:
                frame = self._last(reduce(_union, [*self._frames(spark, merged), frame]))
            _write(frame, place)
        sync_files(place)
        rows = count_orders(place)
        if not rows:
            shutil.rmtree(place)
            return self
        self.files.forget([self._place(batch.epoch) for batch in kept])
        return replace(self, batches=(*kept, OrderBatch(epoch, rows, self.type)))

    def noted(self, state: SourceState) -> SourceState:
        """Return how far the source was read, with these orders."""
        return replace(state, order=self.source.order, order_type=self.type, orders=self.batches)

    def _read(self, batch: OrderBatch) -> pa.Table:
        """Return a batch with orders of the type that all have now."""
        return read_orders(self._place(batch.epoch), self._schema(batch.type)).cast(self.schema)

    def _place(self, epoch: int) -> Path:
        return self.folder.orders(self.source.id, epoch)

    def _schema(self, name: str) -> pa.Schema:
        kinds = [_ARROW.get(kind, pa.string()) for kind in self.kinds]
        return pa.schema(
            [
                (HASH, pa.int64()),
                *zip(self.facts, kinds, strict=True),
                (ORDER, arrow_order(name)),
                (OP, pa.int32()),
            ]
        )

    def _frames(self, spark: "SparkSession", batches: Sequence[OrderBatch]) -> "list[DataFrame]":
        """Return batches as Spark reads them, with orders of one type."""
        places = [(str(self._place(batch.epoch)), self._spark_schema(batch.type)) for batch in batches]
        order = F.col(ORDER).cast(self.spark_type)
        return [spark.read.schema(schema).parquet(place).withColumn(ORDER, order) for place, schema in places]

    def _to_spark(self, table: pa.Table, spark: "SparkSession") -> "DataFrame":
        """Return orders of the driver on Spark, where times without a zone stay without one."""
        assert self.type is not None
        return spark.createDataFrame(table.select(self.schema.names), self._spark_schema(self.type))

    def _spark_schema(self, name: str) -> StructType:
        kinds = [
            StructField(fact, spark_type(kind)) for fact, kind in zip(self.facts, self.kinds, strict=True)
        ]
        ends = [StructField(ORDER, spark_order(name)), StructField(OP, IntegerType())]
        return StructType([StructField(HASH, LongType()), *kinds, *ends])

    def _last(self, frame: "DataFrame") -> "DataFrame":
        """Return the greatest order of each fact: no two batches have the same one."""
        last = F.max(F.struct(ORDER, OP)).alias("last")
        found = frame.groupBy(HASH, *self.facts).agg(last)
        return found.select(HASH, *self.facts, f"last.{ORDER}", f"last.{OP}")


def last_orders(
    folder: JobFolder, bound: CheckedJob, source: JobSource, state: SourceState, files: OrderFiles
) -> LastOrders | None:
    """Return the last orders that are known of a source; None if its rows have none.

    Orders of another column than the source's present one say nothing about it.
    """
    if source.changes is not Changes.OP or source.order is None:
        return None
    none = LastOrders(source, bound.kinds(source.relation), folder, files)
    if state.order != source.order:
        return none
    return replace(none, type=state.order_type, batches=state.orders)


def count_merged(sizes: Sequence[int], added: int) -> int:
    """Return how many of the last batches are merged with a new one of a size.

    Afterwards each batch is more than twice as large as all newer ones together.
    """
    newer = added + sum(sizes)
    for place, size in enumerate(sizes):
        newer -= size
        if size <= 2 * newer:
            return len(sizes) - place
    return 0


def _union(one: "DataFrame", other: "DataFrame") -> "DataFrame":
    return one.union(other)


def _write(frame: "DataFrame", place: Path) -> None:
    """Write orders to files in a new folder, each with a range of hashes, in groups as small as elsewhere."""
    sorted_frame = frame.repartitionByRange(HASH).sortWithinPartitions(HASH)
    sorted_frame.write.option("parquet.block.row.count.limit", GROUP_ROWS).parquet(str(place))


def _other_type(source: JobSource, found: DataType, kept: str | None) -> Diagnostic:
    return Diagnostic(
        code="source-type",
        message=f"the order `{source.order}` of the source `{source.id}` is a {found.simpleString()},"
        f" which does not compare with a {kept} of earlier rows",
        span=source.at("order"),
        hint="orders are compared over all epochs: give the column one type, or name another column",
    )
