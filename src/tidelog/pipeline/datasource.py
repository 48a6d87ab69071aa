"""`spark.read.format("tidelog")`: relations at an epoch, and `readStream`: the change feed.

    tidelog.pipeline.register(spark)
    spark.read.format("tidelog").option("relation", "path").load("state")
    spark.read.format("tidelog").option("relation", "path").option("epoch", 3).load("state")
    spark.read.format("tidelog").option("relation", "path").option("feed", "true").load("state")
    spark.readStream.format("tidelog").option("relation", "path").option("feed", "true").load("state")

The folder is a pipeline's, or a store's, which has its present epoch and no feed. Files are read by
Spark's workers, so they must see the folder.
"""

from collections.abc import Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import LongType, StringType, StructField, StructType

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.facts import arrow_schema, feed_names
from tidelog.pipeline.folder import JobFolder
from tidelog.pipeline.past import feed_rows, files_at, find_output, last_manifest, output_at
from tidelog.pipeline.spark_types import column_type
from tidelog.session.open import open_session
from tidelog.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Columns = tuple[tuple[str, str], ...]
_NO_EPOCH: Final = -1


def register(spark: "SparkSession") -> None:
    """Let a Spark session read the format `tidelog`."""
    spark.dataSource.register(TidelogSource)


class TidelogSource(DataSource):
    """A pipeline's or a store's folder as a source of Spark."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "tidelog"

    def schema(self) -> StructType:
        """Return the columns of the relation; before them, for a feed, the epoch and the op."""
        wish = _Wish.of(self.options)
        columns = wish.columns()
        fields = [StructField(name, column_type(kind)) for name, kind in columns]
        if wish.is_feed:
            op, epoch = feed_names(columns)
            fields = [StructField(epoch, LongType()), StructField(op, StringType()), *fields]
        return StructType(fields)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of facts, or of the feed as it is now."""
        del schema
        wish = _Wish.of(self.options)
        return _FeedReader(wish) if wish.is_feed else _RelationReader(wish)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return a reader of the feed as it comes."""
        del schema
        wish = _Wish.of(self.options)
        if not wish.is_feed:
            # Spark asks for the schema before it says that it wants a stream.
            hint = 'spark.readStream.format("tidelog").option("feed", "true")'
            raise TidelogError([_wrong_option("a stream reads the feed of a relation", hint)])
        return _FeedStream(wish)


@dataclass(frozen=True)
class _Wish:
    """What the options ask for."""

    path: Path
    relation: str
    epoch: int | None
    is_feed: bool
    first: int

    @classmethod
    def of(cls, options: MutableMapping[str, str]) -> "_Wish":
        for name in ("path", "relation"):
            if name not in options:
                hint = 'spark.read.format("tidelog").option("relation", "path").load("state")'
                raise TidelogError([_wrong_option(f"the option `{name}` is missing", hint)])
        path = Path(options["path"].removeprefix("file://"))
        numbers = {name: _number(options[name]) for name in ("epoch", "first_epoch") if name in options}
        is_feed = str(options.get("feed", "false")).lower() == "true"
        return cls(path, options["relation"], numbers.get("epoch"), is_feed, numbers.get("first_epoch", 0))

    @property
    def is_store(self) -> bool:
        return Store.exists(self.path) and not JobFolder.exists(self.path)

    @property
    def folder(self) -> JobFolder:
        return JobFolder(self.path)

    def columns(self) -> Columns:
        if not self.is_store:
            return find_output(self.folder, last_manifest(self.folder), self.relation).columns
        if self.is_feed:
            hint = "read the folder of a pipeline"
            raise TidelogError([_wrong_option(f"the store `{self.path}` has no feed", hint)])
        with open_session(store=self.path, read_only=True) as session:
            facts, program = session[self.relation], session.program
            kinds = (program.kind_of(name).value for name in facts.types)
            return tuple(zip(facts.columns, kinds, strict=True)) or (("holds", "boolean"),)


@dataclass
class _FileOf(InputPartition):
    """One file of an output, the facts beyond its files, an epoch of a feed, or a whole store."""

    file: str | None
    epoch: int = 0


class _RelationReader(DataSourceReader):
    """Reads facts: each file of the output by itself, less what the epoch does not have."""

    def __init__(self, wish: _Wish) -> None:
        self._wish = wish

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition for each file, and one for facts that are in no file."""
        wish = self._wish
        if wish.is_store:
            return [_FileOf(None)]
        epoch = last_manifest(wish.folder).epoch if wish.epoch is None else wish.epoch
        files = files_at(wish.folder, wish.relation, epoch).files
        return [*(_FileOf(str(file), epoch) for file in files), _FileOf(None, epoch)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the facts of a partition."""
        assert isinstance(partition, _FileOf)
        wish = self._wish
        if wish.is_store:
            yield from _for_spark(_read_store(wish))
            return
        past = output_at(wish.folder, wish.relation, partition.epoch)
        yield from _for_spark(past.add if partition.file is None else past.read_file(Path(partition.file)))


class _FeedReader(DataSourceReader):
    """Reads the changes of all committed epochs, or of those the options name."""

    def __init__(self, wish: _Wish) -> None:
        self._wish = wish

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition for each epoch that changed the relation."""
        last = last_manifest(self._wish.folder).epoch
        until = last if self._wish.epoch is None else min(last, self._wish.epoch)
        return _feed_partitions(self._wish, self._wish.first, until)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the changes of an epoch."""
        yield from _read_feed(self._wish, partition)


class _FeedStream(DataSourceStreamReader):
    """Follows the feed; offsets are epochs."""

    def __init__(self, wish: _Wish) -> None:
        self._wish = wish

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return the epoch before the first one to read."""
        return {"epoch": self._wish.first - 1}

    def latestOffset(self, *_args: object) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return the last committed epoch."""
        last = self._wish.folder.last()
        return {"epoch": self._wish.first - 1 if last is None else max(last.epoch, self._wish.first - 1)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Return one partition for each epoch after `start` that changed the relation."""
        return _feed_partitions(self._wish, start["epoch"] + 1, end["epoch"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the changes of an epoch."""
        yield from _read_feed(self._wish, partition)


def _feed_partitions(wish: _Wish, first: int, last: int) -> list[_FileOf]:
    manifests = (wish.folder.read(epoch) for epoch in range(first, last + 1))
    found = [
        _FileOf(None, manifest.epoch)
        for manifest in manifests
        if (state := manifest.outputs.get(wish.relation)) is not None and state.inserted + state.deleted
    ]
    # Spark asks for at least one.
    return found or [_FileOf(None, _NO_EPOCH)]


def _read_feed(wish: _Wish, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    assert isinstance(partition, _FileOf)
    if partition.epoch == _NO_EPOCH:
        return
    columns = wish.columns()
    _, epoch = feed_names(columns)
    rows = feed_rows(wish.folder, wish.relation, partition.epoch, columns)
    numbers = pa.array([partition.epoch] * rows.num_rows, pa.int64())
    yield from _for_spark(rows.add_column(0, epoch, numbers))


def _read_store(wish: _Wish) -> pa.Table:
    with open_session(store=wish.path, read_only=True) as session:
        if wish.epoch is not None and wish.epoch != session.epoch:
            hint = "a store has its present epoch alone; a pipeline keeps the others"
            message = f"the store `{wish.path}` is at epoch {session.epoch}, not {wish.epoch}"
            raise TidelogError([_wrong_option(message, hint)])
        facts = session[wish.relation]
        if not facts.columns:
            return pa.table({"holds": pa.array([True] * len(facts), pa.bool_())})
        return facts.to_arrow().cast(arrow_schema(wish.columns()))


def _for_spark(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Yield batches in the types of the schema: Spark has no unsigned integers."""
    for place, column in enumerate(table.schema):
        if column.type == pa.uint64():
            table = table.set_column(place, column.name, table[column.name].cast(pa.decimal128(20, 0)))
    yield from table.to_batches()


def _number(text: str) -> int:
    if not str(text).isdecimal():
        raise TidelogError([_wrong_option(f"`{text}` is not a valid epoch", "give a number from 0 on")])
    return int(text)


def _wrong_option(message: str, hint: str) -> Diagnostic:
    return Diagnostic(code="wrong-source-option", message=message, hint=hint)
