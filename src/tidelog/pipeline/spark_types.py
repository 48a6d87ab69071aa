"""Values of columns as Spark has them, and rows checked for being facts."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
)

from tidelog.dataclass import dataclass
from tidelog.values import Codec, Kind, TextError
from tidelog.values.types import TypeTable

if TYPE_CHECKING:
    from pyspark.sql import Column


class Reason(StrEnum):
    """Why a row is not a fact."""

    MALFORMED = "malformed"
    NULL = "null"
    WRONG_TYPE = "wrong-type"
    OUT_OF_RANGE = "out-of-range"
    UNKNOWN_OP = "unknown-op"
    CONFLICT = "conflict"
    UNREADABLE_FILE = "unreadable-file"


_UNSIGNED: Final = DecimalType(20, 0)
_SPARK: Final[Mapping[Kind, DataType]] = {
    Kind.NUMBER: LongType(),
    Kind.UNSIGNED: _UNSIGNED,
    Kind.FLOAT: DoubleType(),
}
_INTEGERS: Final = (ByteType, ShortType, IntegerType, LongType)
_INTEGER: Final = r"^\s*[+-]?[0-9]+\s*$"
_FLOAT: Final = (
    r"(?i)^\s*[+-]?([0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?|inf|infinity|nan)\s*$"
)
_GREATEST: Final = {Kind.NUMBER: 2**63 - 1, Kind.UNSIGNED: 2**64 - 1}
_LEAST: Final = {Kind.NUMBER: -(2**63), Kind.UNSIGNED: 0}


@dataclass(frozen=True, slots=True)
class CheckedValue:
    """A value in Tidelog's type, and what is wrong with it: a code and words, null where nothing is."""

    value: "Column"
    reason: "Column"
    detail: "Column"


def spark_type(kind: Kind) -> DataType:
    """Return the type of a column's values on Spark; records and algebraic values are their text."""
    return _SPARK.get(kind, StringType())


def column_type(kind: str) -> DataType:
    """Return the type on Spark of a published column, by the name of its kind."""
    return BooleanType() if kind == "boolean" else spark_type(Kind(kind))


def accepts(kind: Kind, found: DataType) -> bool:
    """Say whether values of a Spark type can be values of a column."""
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return isinstance(found, _INTEGERS) or (isinstance(found, DecimalType) and found.scale == 0)
        case Kind.FLOAT:
            return isinstance(found, (*_INTEGERS, FloatType, DoubleType, DecimalType))
        case _:
            return isinstance(found, StringType)


def check_value(  # noqa: PLR0913 - a value, its names and its two types
    column: "Column", name: str, type_name: str, types: TypeTable, *, is_text: bool, found: DataType
) -> CheckedValue:
    """Return a value of a source as a value of the program's type.

    `is_text` says that the source gives all values as text, else `found` is one that `accepts` takes.
    """
    kind = types[type_name].kind
    what = f"column `{name}`"
    value, reason, detail = _typed(column, kind, is_text=is_text, found=found)
    if kind in (Kind.RECORD, Kind.ADT):
        problem = _nested_check(type_name, types)(column)
        value, detail = column, problem
        reason = F.when(problem.isNotNull(), F.lit(Reason.WRONG_TYPE.value))
    is_null = column.isNull()
    reason = F.when(is_null, F.lit(Reason.NULL.value)).otherwise(reason)
    words = F.when(is_null, F.lit("is null")).otherwise(detail)
    return CheckedValue(value, reason, F.concat(F.lit(f"{what} "), words))


def _typed(
    column: "Column", kind: Kind, *, is_text: bool, found: DataType
) -> tuple["Column", "Column", "Column"]:
    """Return the value, what is wrong and its words, for values that are not null."""
    shown = F.concat(F.lit("holds `"), F.substring(column.cast("string"), 1, 60), F.lit("`"))
    nothing = F.lit(None).cast("string")
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            exact = F.regexp_like(column, F.lit(_INTEGER)) if is_text else F.lit(True)
            wide = F.trim(column) if is_text else column
            number = wide.try_cast(DecimalType(38, 0))
            is_inside = number.between(F.lit(_LEAST[kind]).cast("decimal(38,0)"), _constant(_GREATEST[kind]))
            # A text that is not an integer, and one too long for 38 digits, have no number.
            reason = F.when(~exact, F.lit(Reason.WRONG_TYPE.value)).when(
                ~F.coalesce(is_inside, F.lit(False)), F.lit(Reason.OUT_OF_RANGE.value)
            )
            words = F.when(~exact, F.concat(shown, F.lit(f", which is not a valid {kind.value}"))).otherwise(
                F.concat(shown, F.lit(f", which is beyond the range of {kind.value}"))
            )
            return F.when(is_inside, number).try_cast(spark_type(kind)), reason, words
        case Kind.FLOAT:
            if not is_text:
                return column.cast("double"), nothing, nothing
            exact = F.regexp_like(column, F.lit(_FLOAT))
            reason = F.when(~exact, F.lit(Reason.WRONG_TYPE.value))
            words = F.concat(shown, F.lit(", which is not a valid float"))
            return F.when(exact, F.trim(column).try_cast("double")), reason, words
        case _:
            assert is_text or isinstance(found, StringType)
            reason = F.when(~F.is_valid_utf8(column), F.lit(Reason.WRONG_TYPE.value))
            return column, reason, F.lit("holds bytes that are not UTF-8")


def _constant(number: int) -> "Column":
    return F.lit(str(number)).cast("decimal(38,0)")


def _nested_check(type_name: str, types: TypeTable) -> "Callable[[Column], Column]":
    """Return a function that says what is wrong with the text of a record or of an algebraic value."""
    known = dict(types)

    def problem(text: str | None) -> str | None:
        if text is None:
            return None
        try:
            Codec(known).parse(text, type_name)
        except TextError as error:
            return f"holds `{text[:60]}`: {error.message}"
        return None

    return F.udf(problem, "string", useArrow=False)
