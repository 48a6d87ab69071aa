"""Bookmarks: the greatest value of an increasing column, as text with its type, whatever the time zone.

A time is kept as microseconds since 1970 and compared as such: the text of a time means another instant
in every zone, and the driver, the session and a database may each have their own.
"""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import (
    DataType,
    DateType,
    DoubleType,
    FloatType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.job import JobSource

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TIMES: Final = (TimestampType, TimestampNTZType, DateType)
_INSTANT: Final = "timestamp"
# More than any two time zones differ by: a database may read the text of a time in its own zone.
_MARGIN_MICROSECONDS: Final = 2 * 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A value as text that means the same everywhere; `type` is Spark's name of its type.

    Bookmarks of earlier versions have no type, and their text is cast to the type of the column.
    """

    text: str
    type: str | None = None


def check_bookmark(source: JobSource, rows: "DataFrame") -> None:
    """Raise `TidelogError` if the bookmark column holds what does not increase."""
    if source.bookmark is None:
        return
    found = rows.schema[source.bookmark].dataType
    if not isinstance(found, (NumericType, StringType, *_TIMES)):
        message = f"the bookmark `{source.bookmark}` of the source `{source.id}` is a {found.simpleString()}"
        hint = "name a column of numbers, dates, times or texts that only increases"
        raise TidelogError([Diagnostic("source-type", message, source.at("bookmark"), hint)])


def rows_after(rows: "DataFrame", name: str, bookmark: Bookmark) -> "DataFrame":
    """Return the rows whose column is greater than the bookmark."""
    column = F.col(name)
    if bookmark.type != _INSTANT:
        value = F.lit(bookmark.text).cast(bookmark.type or rows.select(column).schema[0].dataType)
        return rows.where(column > value)
    microseconds = int(bookmark.text)
    # A database may do the first comparison, for speed; Spark does the second, which is exact.
    near = F.timestamp_micros(F.lit(microseconds - _MARGIN_MICROSECONDS))
    return rows.where((column > near) & (F.unix_micros(column) > F.lit(microseconds)))


def bookmark_text(column: "Column", found: DataType) -> "Column":
    """Return the greatest value of a column as the text of a bookmark; NaN would be the last one for ever."""
    if isinstance(found, TimestampType):
        return F.unix_micros(F.max(column)).cast("string")
    if isinstance(found, FloatType | DoubleType):
        column = F.when(~F.isnan(column), column)
    return F.max(column).cast("string")
