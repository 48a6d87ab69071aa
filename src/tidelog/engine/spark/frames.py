"""Facts as Spark data frames."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.nested_codes import CODE
from tidelog.engine.spark.nested_values import KEY, plain_texts_of_codes
from tidelog.engine.spark.shared_frames import read_files
from tidelog.engine.spark.texts import TEXT, FiledDictionary
from tidelog.engine.spark.value_files import has_unread_values
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Relation
from tidelog.values import Codec, Kind
from tidelog.values.codes import codes_to_floats
from tidelog.values.nesting import NESTED

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from tidelog.values.codes import Codes


def frame_of(table: "pa.Table", spark: object = None) -> "DataFrame":
    """Return a data frame with the rows of an Arrow table; `spark` is the active session by default.

    Spark has no unsigned numbers: they become decimals.
    """
    return _session(spark).createDataFrame(without_unsigned(table))


def frame_of_codes(engine: object, relation: Relation, codec: Codec) -> "DataFrame | None":
    """Return a relation from where workers keep it, or None if the driver has it.

    Workers replace codes by texts in joins with the dictionary; texts stand for records and algebraic values.
    """
    frame = frame_with_texts(engine, relation, codec)
    if frame is None:
        return None
    kinds = [codec.resolve(column.type).kind for column in relation.columns]
    return _with_numbers(frame, kinds).toDF(*(column.name for column in relation.columns))


def belongs_to_workers(engine: object, relation: Relation, codec: Codec) -> bool:
    """Say whether workers should read a relation, not the driver: it is large, or they have its texts."""
    most = getattr(engine, "most_driver_facts", None)
    if most is None:
        return False
    has_texts = not all(codec.resolve(column.type).kind.is_numeric for column in relation.columns)
    # Decoding more than a few texts in the driver would bring all of them there, or all records.
    is_large: bool = engine.size(relation.name) > most  # type: ignore[attr-defined]
    return is_large or (has_texts and has_unread_values(codec))


def frame_with_texts(
    engine: object, relation: Relation, codec: Codec, *, with_keys: bool = False
) -> "DataFrame | None":
    """Return the columns c0, c1, ... of a relation, as `frame_of_codes`: codes of numbers, and texts.

    With keys there are also columns key0, ... for records and algebraic values, in the order of these.
    """
    code_frame = getattr(engine, "code_frame", None)
    frame: DataFrame | None = None if code_frame is None else code_frame(relation.name)
    if frame is None:
        return None
    folder = Folder(engine.folder_uri)  # type: ignore[attr-defined]
    return _with_texts(frame, relation, codec, folder, with_keys=with_keys)


def frame_of_columns(
    columns: "Sequence[Codes]", relation: Relation, codec: Codec, spark: "SparkSession", folder: Folder
) -> "DataFrame":
    """Return facts that the driver has as codes; workers put texts in their place, and numbers."""
    import pyarrow as pa  # noqa: PLC0415 - needed only with Spark

    kinds = [codec.resolve(column.type).kind for column in relation.columns]
    names = [f"c{place}" for place in range(relation.arity)]
    frame = spark.createDataFrame(pa.table(list(map(pa.array, columns)), names=names))
    found = _with_numbers(_with_texts(frame, relation, codec, folder), kinds)
    return found.toDF(*(column.name for column in relation.columns))


def _with_texts(
    frame: "DataFrame", relation: Relation, codec: Codec, folder: Folder, *, with_keys: bool = False
) -> "DataFrame":
    """Return the columns c0, c1, ... of a frame with texts in place of their codes."""
    names = [f"c{place}" for place in range(relation.arity)]
    symbols: DataFrame | None = None
    for place, column in enumerate(relation.columns):
        kind = codec.resolve(column.type).kind
        if kind.is_numeric:
            continue
        if kind in NESTED:
            codes = frame.select(f"c{place}")
            texts = plain_texts_of_codes(codes, column.type, codec, folder, with_keys=with_keys)
            if with_keys:
                names.append(f"key{place}")
                texts = texts.withColumnRenamed(KEY, f"key{place}")
        else:
            symbols = texts = symbols or _dictionary_frame(frame.sparkSession, codec)
        renamed = texts.withColumnRenamed(TEXT, f"text{place}").withColumnRenamed(CODE, f"c{place}")
        frame = frame.join(renamed, f"c{place}").drop(f"c{place}")
        frame = frame.withColumnRenamed(f"text{place}", f"c{place}")
    return frame.select(*names)


def _with_numbers(frame: "DataFrame", kinds: Sequence[Kind]) -> "DataFrame":
    """Return the frame with floats and unsigned numbers in place of their codes; these are decimals."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    for place, kind in enumerate(kinds):
        if kind is Kind.UNSIGNED:
            code = f.col(f"c{place}").cast("decimal(20,0)")
            frame = frame.withColumn(
                f"c{place}", f.when(code < 0, code + f.lit(str(2**64)).cast("decimal(20,0)")).otherwise(code)
            )
            frame = frame.withColumn(f"c{place}", f.col(f"c{place}").cast("decimal(20,0)"))
    floats = [place for place, kind in enumerate(kinds) if kind is Kind.FLOAT]
    if not floats:
        return frame
    types = [f"c{n} double" if n in floats else f"c{n} {each[1]}" for n, each in enumerate(frame.dtypes)]

    def decode(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa  # noqa: PLC0415 - in the worker

        for batch in batches:
            columns = list(batch.columns)
            for place in floats:
                columns[place] = pa.array(codes_to_floats(columns[place].to_numpy(zero_copy_only=False)))
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    return frame.mapInArrow(decode, ", ".join(types))


def _dictionary_frame(spark: "SparkSession", codec: Codec) -> "DataFrame":
    """Return the text and the code of everything in the dictionary."""
    import pyarrow as pa  # noqa: PLC0415 - needed only with Spark

    if isinstance(codec.symbols, FiledDictionary):
        return codec.symbols.frame(spark)
    codes = np.arange(len(codec.symbols), dtype=np.int64)
    return spark.createDataFrame(pa.table({"text": codec.symbols.to_arrow(codes), "code": codes}))


def read_codes(spark: "SparkSession", folder: Folder, files: Sequence[str], arity: int) -> "DataFrame":
    """Return the codes in files as a data frame with the columns c0, c1, ..."""
    return read_files(spark, folder, files, {f"c{place}": "long" for place in range(arity)})


def read_columns(spark: "SparkSession", folder: Folder, files: Sequence[str], arity: int) -> "DataFrame":
    """Return the columns c0, c1, ... of files, codes of numbers and texts, as a data frame."""
    import pyarrow as pa  # noqa: PLC0415 - needed only with Spark

    schema, names = folder.schema(files[0]), [f"c{place}" for place in range(arity)]
    is_number = {name: pa.types.is_integer(schema.field(name).type) for name in names}
    types = {name: "long" if is_number[name] else "string" for name in names}
    return read_files(spark, folder, files, types)


def without_unsigned(table: "pa.Table") -> "pa.Table":
    """Return the table with unsigned columns as decimals."""
    import pyarrow as pa  # noqa: PLC0415 - needed only with Spark

    fields = [
        pa.field(field.name, pa.decimal128(20, 0)) if pa.types.is_unsigned_integer(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _session(spark: object) -> "SparkSession":
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional package
    except ImportError as error:
        message = "a Spark frame needs PySpark, which is not installed"
        hint = "pip install 'tidelog[spark]'"
        raise TidelogError([Diagnostic(code="spark-missing", message=message, hint=hint)]) from error
    found = spark or SparkSession.getActiveSession()
    if found is None:
        message, hint = "there is no active Spark session", "pass one: to_spark(spark)"
        raise TidelogError([Diagnostic(code="spark-no-session", message=message, hint=hint)])
    return cast("SparkSession", found)
