"""Rows of sources as Spark frames, with what is needed to say which row was bad."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StringType, StructField, StructType

from tidelog.engine.spark.java_errors import java_diagnostic, java_errors
from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.bookmarks import Bookmark, check_bookmark, rows_after
from tidelog.pipeline.job import Changes, JobSource, SourceFormat
from tidelog.program.suggest import did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Columns that we add beside the source's own.
MALFORMED: Final = "_tidelog_malformed"
FILE: Final = "_tidelog_file"
# What Spark knows of a file without reading it; all columns must be there, and only some are asked for.
_FILE_SCHEMA: Final = "path string, modificationTime timestamp, length bigint, content binary"
# The option by which Spark takes paths as they are.
_NO_PATTERNS: Final = "__globPaths__"


def read_batch(
    spark: "SparkSession", bound: CheckedJob, source: JobSource, bookmark: Bookmark | None
) -> "DataFrame":
    """Return all rows of a source, or those after the bookmark."""
    reader = spark.read.options(**source.options)
    try:
        match source.format:
            case SourceFormat.TABLE:
                assert source.table is not None
                frame = reader.table(source.table)
            case SourceFormat.JDBC:
                # Times without a zone stay without one, so that they do not depend on the driver's.
                reader = spark.read.options(**{"preferTimestampNTZ": "true", **source.options})
                frame = reader.format("jdbc").load()
            case SourceFormat.KAFKA:
                raise AssertionError("Kafka is read as a stream")
            case _:
                frame = _read_all_files(spark, bound, source)
        if source.bookmark is not None:
            check_columns(source, bound, frame.columns)
            check_bookmark(source, frame)
            if bookmark is not None:
                frame = rows_after(frame, _quoted(source.bookmark), bookmark)
    except java_errors() as cause:
        raise TidelogError([_unreadable(source, cause)]) from cause
    check_columns(source, bound, frame.columns)
    return frame


def read_stream(spark: "SparkSession", bound: CheckedJob, source: JobSource) -> "DataFrame":
    """Return a stream of the new rows of a topic, or of the paths and lengths of a folder's new files."""
    try:
        if source.format is SourceFormat.KAFKA:
            raw = spark.readStream.format("kafka").options(**source.options).load()
            frame = parse_messages(raw, bound, source)
        else:
            _check_folder(bound, source)
            # The stream is one of names: a file that cannot be read must not end it.
            stream = spark.readStream.format("binaryFile").schema(_FILE_SCHEMA).options(**source.options)
            return stream.load(_address(bound, source)).select("path", "length")
    except java_errors() as cause:
        raise TidelogError([_unreadable(source, cause)]) from cause
    check_columns(source, bound, frame.columns)
    return frame


def parse_messages(raw: "DataFrame", bound: CheckedJob, source: JobSource) -> "DataFrame":
    """Return the JSON objects of a topic's messages."""
    schema = _texts([*wanted_columns(source, bound), MALFORMED])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": MALFORMED}
    text = F.col("value").cast("string")
    parsed = raw.select(F.from_json(text, schema, options).alias("message"), text.alias("text"))
    # A message without a value is a null here, where a malformed file row is a row of nulls.
    is_bad = F.col("message").isNull()
    columns = [F.col(f"message.{_quoted(name)}").alias(name) for name in schema.names if name != MALFORMED]
    bad = F.when(is_bad, F.coalesce("text", F.lit(""))).otherwise(F.col(f"message.{MALFORMED}"))
    return parsed.select(*columns, bad.alias(MALFORMED))


def wanted_columns(source: JobSource, bound: CheckedJob) -> dict[str, str]:
    """Return the source's columns that are needed, each with the key of the job that asks for it."""
    wanted = {
        source.column_of(column.name): f"columns.{column.name}"
        for column in bound.relation(source.relation).columns
    }
    if source.changes is Changes.OP:
        wanted.setdefault(source.op, "op")
        if source.order is not None:
            wanted.setdefault(source.order, "order")
    if source.bookmark is not None:
        wanted.setdefault(source.bookmark, "bookmark")
    return wanted


class SourceFiles:
    """Reads files of a source, and remembers the header of the last CSV file."""

    def __init__(self, spark: "SparkSession", bound: CheckedJob, source: JobSource) -> None:
        self._spark = spark
        self._bound = bound
        self._source = source
        self._header: list[str] | None = None

    def read(self, paths: Sequence[str]) -> "DataFrame":
        """Return the rows of files, whose names are not patterns.

        Raises `TidelogError` if the files do not have the columns that are needed.
        """
        source = self._source
        options = {**_file_options(source), _NO_PATTERNS: "false", **self._base()}
        reader = self._spark.read.format(source.format.value)
        if source.format.is_text:
            reader = reader.schema(self._text_schema(paths, options))
        elif len(paths) > 1:
            # Columns that only some of the files have are nulls in the others.
            options |= {"mergeSchema": "true"}
        frame = _with_file(reader.options(**options).load(list(paths)))
        check_columns(source, self._bound, frame.columns)
        return frame

    def forget(self) -> None:
        """Look at the header of the next CSV file."""
        self._header = None

    def _base(self) -> dict[str, str]:
        """Return the option that makes columns of folders such as `day=1`."""
        address = _address(self._bound, self._source)
        return {} if any(sign in address for sign in "*?[{") else {"basePath": address}

    def _text_schema(self, paths: Sequence[str], options: Mapping[str, str]) -> StructType:
        """Return a schema in which every column is text: what is wrong with a value we say ourselves."""
        names = list(wanted_columns(self._source, self._bound))
        if self._source.fields:
            names = list(self._source.fields)
        elif self._source.format is SourceFormat.CSV and options["header"].lower() == "true":
            if self._header is None:
                found = self._spark.read.options(**options).csv(paths[0])
                self._header = found.columns or names
            names = self._header
        return _texts([*names, MALFORMED])


def _read_all_files(spark: "SparkSession", bound: CheckedJob, source: JobSource) -> "DataFrame":
    """Return the rows of all files of a source, whose files may differ as those of a stream may."""
    reader = spark.read.format(source.format.value).options(**_file_options(source))
    address = _address(bound, source)
    if source.format.is_text:
        names = list(source.fields) or list(wanted_columns(source, bound))
        if source.format is SourceFormat.CSV and _file_options(source)["header"].lower() == "true":
            names = spark.read.options(**_file_options(source)).csv(address).columns or names
        reader = reader.schema(_texts([*names, MALFORMED]))
    return _with_file(reader.load(address))


def _with_file(frame: "DataFrame") -> "DataFrame":
    return frame.withColumn(FILE, F.col("_metadata.file_path"))


def _address(bound: CheckedJob, source: JobSource) -> str:
    assert source.path is not None
    return bound.job.address(source.path)


def _file_options(source: JobSource) -> dict[str, str]:
    usual: dict[str, str] = {}
    if source.format.is_text:
        usual = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": MALFORMED}
    if source.format is SourceFormat.CSV:
        # Files whose header names other columns, or in another order, must not be read by position.
        usual |= {"header": "false" if source.fields else "true", "enforceSchema": "false"}
        # A quote inside quotes is written twice, as in RFC 4180.
        usual |= {"escape": '"'}
    return {**usual, **source.options}


def _texts(names: list[str]) -> StructType:
    return StructType([StructField(name, StringType()) for name in dict.fromkeys(names)])


def _quoted(name: str) -> str:
    """Return a column's name as Spark reads it whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def check_columns(source: JobSource, bound: CheckedJob, found: list[str]) -> None:
    """Raise `TidelogError` with every column that the relation needs and a source does not have."""
    own = [name for name in found if name not in (FILE, MALFORMED)]
    mistakes = [
        Diagnostic(
            code="missing-source-column",
            message=f"the source `{source.id}` has no column `{name}`",
            span=source.at(key) or source.at("columns"),
            hint=did_you_mean(name, own, f"it has {', '.join(own[:20]) or 'none'}; map it under `columns`"),
        )
        for name, key in wanted_columns(source, bound).items()
        if name not in own
    ]
    if mistakes:
        raise TidelogError(mistakes)


def has_files(bound: CheckedJob, source: JobSource) -> bool:
    """Say whether a source has files to look at; a folder of this machine may be empty still."""
    _check_folder(bound, source)
    assert source.path is not None
    path = bound.job.place(source.path)
    return not path.is_dir() or any(not each.name.startswith((".", "_")) for each in path.iterdir())


def _check_folder(bound: CheckedJob, source: JobSource) -> None:
    assert source.path is not None
    if "://" in source.path or "*" in source.path:
        return
    path = bound.job.place(source.path)
    if path.is_dir():
        return
    words = "is a file" if path.exists() else "does not exist"
    raise TidelogError(
        [
            Diagnostic(
                code="unreadable-source",
                message=f"the source `{source.id}` reads new files of a folder, but {path} {words}",
                span=source.at("path"),
                hint="name the folder that the files arrive in, or a pattern such as `changes/*.csv`",
            )
        ]
    )


def _unreadable(source: JobSource, cause: Exception) -> Diagnostic:
    span = source.at("path") or source.at("table")
    found = java_diagnostic(cause, f"Spark cannot read the source `{source.id}`", span)
    if found.code != "spark-failed":
        return found
    hint = "the path, the table, the options and Spark's packages decide what can be read"
    return replace(found, code="unreadable-source", hint=hint)
