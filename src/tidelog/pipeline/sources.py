"""Rows of sources as Spark frames, with what is needed to say which row was bad."""

from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StringType, StructField, StructType

from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.bookmarks import Bookmark, check_bookmark, rows_after
from tidelog.pipeline.job import Changes, JobSource, SourceFormat
from tidelog.pipeline.spark_types import spark_type
from tidelog.program.suggest import did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Columns that we add beside the source's own.
MALFORMED: Final = "_tidelog_malformed"
FILE: Final = "_tidelog_file"


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
                frame = _read_files(spark, bound, source)
        if source.bookmark is not None:
            _check_columns(source, bound, frame.columns)
            check_bookmark(source, frame)
            if bookmark is not None:
                frame = rows_after(frame, _quoted(source.bookmark), bookmark)
    except PySparkException as cause:
        raise TidelogError([_unreadable(source, cause)]) from cause
    _check_columns(source, bound, frame.columns)
    return frame


def read_stream(spark: "SparkSession", bound: CheckedJob, source: JobSource) -> "DataFrame":
    """Return a stream of the new rows of a source."""
    try:
        if source.format is SourceFormat.KAFKA:
            raw = spark.readStream.format("kafka").options(**source.options).load()
            frame = parse_messages(raw, bound, source)
        else:
            _check_folder(bound, source)
            schema = _stream_schema(spark, bound, source)
            options = _file_options(source)
            stream = spark.readStream.schema(schema).format(source.format.value).options(**options)
            frame = _with_file(stream.load(_address(bound, source)))
    except PySparkException as cause:
        raise TidelogError([_unreadable(source, cause)]) from cause
    _check_columns(source, bound, frame.columns)
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


def _read_files(spark: "SparkSession", bound: CheckedJob, source: JobSource) -> "DataFrame":
    reader = spark.read.format(source.format.value).options(**_file_options(source))
    if source.format.is_text:
        reader = reader.schema(_text_schema(spark, bound, source))
    return _with_file(reader.load(_address(bound, source)))


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


def _text_schema(spark: "SparkSession", bound: CheckedJob, source: JobSource) -> StructType:
    """Return a schema in which every column is text: what is wrong with a value we say ourselves."""
    names = list(wanted_columns(source, bound))
    if source.fields:
        names = list(source.fields)
    elif source.format is SourceFormat.CSV and _file_options(source)["header"].lower() == "true":
        found = spark.read.options(**_file_options(source)).csv(_address(bound, source))
        names = found.columns or names
    return _texts([*names, MALFORMED])


def _stream_schema(spark: "SparkSession", bound: CheckedJob, source: JobSource) -> StructType:
    """Return the schema of files that are there; before the first one comes, what the relation asks for."""
    try:
        if source.format.is_text:
            return _text_schema(spark, bound, source)
        return spark.read.format(source.format.value).load(_address(bound, source)).schema
    except AnalysisException:
        pass  # there is no file yet
    if source.format.is_text:
        return _texts([*wanted_columns(source, bound), MALFORMED])
    types = {
        source.column_of(column.name): spark_type(kind)
        for column, kind in zip(
            bound.relation(source.relation).columns, bound.kinds(source.relation), strict=True
        )
    }
    return StructType(
        [StructField(name, types.get(name, StringType())) for name in wanted_columns(source, bound)]
    )


def _texts(names: list[str]) -> StructType:
    return StructType([StructField(name, StringType()) for name in dict.fromkeys(names)])


def _quoted(name: str) -> str:
    """Return a column's name as Spark reads it whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def _check_columns(source: JobSource, bound: CheckedJob, found: list[str]) -> None:
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
                hint="name the folder that the files come to, or a pattern such as `changes/*.csv`",
            )
        ]
    )


def _unreadable(source: JobSource, cause: PySparkException) -> Diagnostic:
    words = str(cause).split("\n\n")[0].split("\n")[0].strip()
    return Diagnostic(
        code="unreadable-source",
        message=f"Spark cannot read the source `{source.id}`: {words}",
        span=source.at("path") or source.at("table"),
        hint="the path, the table, the options and Spark's packages decide what can be read",
    )
