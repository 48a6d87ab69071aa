"""Columns that order changes: in which types their values are compared and kept.

A time is kept as microseconds since 1970, for the same text means another instant in every zone.
"""

import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import (
    BinaryType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from tidelog.pipeline.job import JobSource

if TYPE_CHECKING:
    from pyspark.sql import Column

# What orders are kept as, by Spark's names of types; decimals have names of their own.
_KEPT: Final[dict[str, tuple[DataType, pa.DataType]]] = {
    "bigint": (LongType(), pa.int64()),
    "double": (DoubleType(), pa.float64()),
    "string": (StringType(), pa.string()),
    "binary": (BinaryType(), pa.binary()),
    "date": (DateType(), pa.date32()),
    "timestamp": (LongType(), pa.int64()),
    "timestamp_ntz": (TimestampNTZType(), pa.timestamp("us")),
}
_INTEGERS: Final = (ByteType, ShortType, IntegerType, LongType)
_TEXT_NUMBER: Final = "decimal(38,9)"
_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
_MOST_DIGITS: Final = 38
_LONG_DIGITS: Final = 19


def order_type(found: DataType, source: JobSource) -> str | None:
    """Return the name of the type in which the orders of a column are kept; None if they have none."""
    if source.format.is_text:
        return _TEXT_NUMBER
    match found:
        case ByteType() | ShortType() | IntegerType() | LongType():
            return "bigint"
        case FloatType() | DoubleType():
            return "double"
        case StringType():
            return "string"
        case DecimalType() | BinaryType() | DateType() | TimestampType() | TimestampNTZType():
            return found.simpleString()
    return None


def order_value(column: "Column", found: DataType, source: JobSource) -> "Column":
    """Return the orders of a column as they are kept; null for those that are none."""
    if source.format.is_text:
        return column.try_cast(_TEXT_NUMBER)
    match found:
        case TimestampType():
            return F.unix_micros(column)
        case FloatType() | DoubleType():
            # NaN would be the last one for ever.
            return F.when(~F.isnan(column), column.cast("double"))
        case StringType():
            return column.cast("string")
        case _:
            return column.cast("bigint") if isinstance(found, _INTEGERS) else column


def wider_type(one: str, other: str) -> str | None:
    """Return the type that has the orders of both types; None if they do not compare exactly."""
    if one == other:
        return one
    sizes = [size for size in (_digits(one), _digits(other)) if size is not None]
    if len(sizes) < 2:
        return None
    whole, fraction = (max(size[part] for size in sizes) for part in (0, 1))
    return f"decimal({whole + fraction},{fraction})" if whole + fraction <= _MOST_DIGITS else None


def spark_order(name: str) -> DataType:
    """Return the type of kept orders on Spark."""
    size = _DECIMAL.fullmatch(name)
    return _KEPT[name][0] if size is None else DecimalType(int(size[1]), int(size[2]))


def arrow_order(name: str) -> pa.DataType:
    """Return the type of kept orders in Arrow."""
    size = _DECIMAL.fullmatch(name)
    return _KEPT[name][1] if size is None else pa.decimal128(int(size[1]), int(size[2]))


def _digits(name: str) -> tuple[int, int] | None:
    """Return how many digits numbers have before and after the point; None if the type has others."""
    if name == "bigint":
        return _LONG_DIGITS, 0
    size = _DECIMAL.fullmatch(name)
    return None if size is None else (int(size[1]) - int(size[2]), int(size[2]))
