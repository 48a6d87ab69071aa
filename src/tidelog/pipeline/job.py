"""A job: what a pipeline reads, runs and publishes."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from tidelog.dataclass import dataclass
from tidelog.source import Span


class SourceFormat(StrEnum):
    """Where the rows of a source are."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    ORC = "orc"
    JDBC = "jdbc"
    TABLE = "table"
    KAFKA = "kafka"

    @property
    def is_files(self) -> bool:
        """Say whether the source is a folder of files."""
        return self in (SourceFormat.PARQUET, SourceFormat.CSV, SourceFormat.JSON, SourceFormat.ORC)

    @property
    def is_text(self) -> bool:
        """Say whether values are text that Tidelog reads as the relation's types."""
        return self in (SourceFormat.CSV, SourceFormat.JSON, SourceFormat.KAFKA)


class Changes(StrEnum):
    """How the rows of a source say what changes.

    `SNAPSHOT`: the source holds all facts; its difference from the last load is the change.
    `INSERT`: every new row is a fact to insert. `OP`: a column says whether to insert or to delete.
    """

    SNAPSHOT = "snapshot"
    INSERT = "insert"
    OP = "op"


class BadRows(StrEnum):
    """What to do with a row that is not a fact."""

    QUARANTINE = "quarantine"
    FAIL = "fail"


class TriggerKind(StrEnum):
    """When a pipeline works: once over what is there, at intervals, or as data arrives."""

    ONCE = "once"
    INTERVAL = "interval"
    STREAMING = "streaming"


def _spans() -> Mapping[str, Span]:
    return field(default_factory=dict, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Trigger:
    """When a pipeline works; `every_seconds` belongs to `INTERVAL`."""

    kind: TriggerKind = TriggerKind.ONCE
    every_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class JobSource:
    """Rows that become facts of a relation, or changes of its facts.

    `path` belongs to formats of files and `table` to `TABLE`; `options` go to Spark's reader.
    `columns` maps columns of the relation to columns of the source; a column that is not in it has
    the same name in both. `op`, `inserts` and `deletes` belong to `Changes.OP`; `order` is a column
    whose greatest value counts where a fact is changed more than once, in one epoch or in several.
    `bookmark` is an increasing column by which new rows of a JDBC or catalog table are found. `fields`
    are the columns of CSV files without a header. `max_deleted_share` is how large a part of its
    relation a snapshot may delete.
    """

    relation: str
    format: SourceFormat
    name: str = ""
    path: str | None = None
    table: str | None = None
    changes: Changes = Changes.SNAPSHOT
    columns: Mapping[str, str] = field(default_factory=dict)
    op: str = "op"
    inserts: tuple[str, ...] = ("+",)
    deletes: tuple[str, ...] = ("-",)
    order: str | None = None
    bookmark: str | None = None
    fields: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    max_deleted_share: float = 0.5
    spans: Mapping[str, Span] = _spans()

    @property
    def id(self) -> str:
        """Return the name of the source in reports and the quarantine."""
        return self.name or self.relation

    @property
    def is_stream(self) -> bool:
        """Say whether Structured Streaming reads the source and knows what of it is new."""
        return self.changes is not Changes.SNAPSHOT and (
            self.format.is_files or self.format is SourceFormat.KAFKA
        )

    def column_of(self, column: str) -> str:
        """Return the source's name of a column of the relation."""
        return self.columns.get(column, column)

    def at(self, key: str) -> Span | None:
        """Return where the job says so; None for a source made in Python."""
        return self.spans.get(key) or self.spans.get("")


@dataclass(frozen=True, slots=True)
class Output:
    """A relation that is published.

    `path` is a folder of Parquet files with all its facts, `table` a table of the catalog in
    `format`; `feed` is a folder of Parquet files with its changes, one folder per epoch, and
    `feed_table` a table of them. All facts are written again every `every` epochs that change them.
    """

    relation: str
    path: str | None = None
    table: str | None = None
    format: str = "parquet"
    feed: str | None = None
    feed_table: str | None = None
    every: int = 1
    spans: Mapping[str, Span] = _spans()

    def at(self, key: str) -> Span | None:
        """Return where the job says so; None for an output made in Python."""
        return self.spans.get(key) or self.spans.get("")


@dataclass(frozen=True, slots=True)
class Job:
    """What `tidelog pipeline run` runs; paths are absolute, or relative to `folder`.

    `state` may also be a URI, for example of an object store; the run then works in the folder `work` of this
    machine, by default in the user's cache folder. `master` and `conf` are for the Spark session,
    `spark_options` for the engine `spark`. `options` are
    further fields of `tidelog.OpenOptions` by name, those of `JOB_OPTIONS`.
    """

    program: str
    state: str
    sources: tuple[JobSource, ...] = ()
    outputs: tuple[Output, ...] = ()
    name: str = "job"
    engine: str = "local"
    bad_rows: BadRows = BadRows.QUARANTINE
    trigger: Trigger = Trigger()
    functions: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    spark_options: Mapping[str, object] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()
    work: str | None = None
    spans: Mapping[str, Span] = _spans()

    def at(self, key: str) -> Span | None:
        """Return where the job says so; None for a job made in Python."""
        return self.spans.get(key) or self.spans.get("")

    def place(self, path: str) -> Path:
        """Return a path of this machine's file system that the job names."""
        return self.folder / path

    def address(self, path: str) -> str:
        """Return a path as Spark takes it: other file systems by their scheme, else this machine's."""
        return path if is_remote(path) else str(self.place(path).resolve())


def is_remote(place: str) -> bool:
    """Say whether a place of a job is named by a URI."""
    return "://" in place


ENGINES: Final = ("local", "spark")
# Options of a session that a job may have.
JOB_OPTIONS: Final = (
    "jobs",
    "memory_limit",
    "iteration_limit",
    "strategy",
    "max_update_share",
    "switch",
    "library_bits",
)
