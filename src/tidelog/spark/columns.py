"""Columns of data frames that become columns of a relation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tidelog.errors import Diagnostic, TidelogError, raise_if_any
from tidelog.program.suggest import did_you_mean
from tidelog.values import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KINDS: Final = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), Kind.NUMBER),
    **dict.fromkeys(("float", "double"), Kind.FLOAT),
    "string": Kind.SYMBOL,
}
# Widest first: a relation has one type for all integers, and one for all floats.
_CASTS: Final = {Kind.NUMBER: "bigint", Kind.FLOAT: "double", Kind.SYMBOL: "string"}


def is_frame(data: object) -> bool:
    """Say whether something is a data frame, of an ordinary session or of Spark Connect."""
    return hasattr(data, "toArrow") and hasattr(data, "sparkSession")


def find_columns(what: str, frame: "DataFrame", names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns as the frame spells them; Spark does not tell upper case from lower.

    Raises `TidelogError` for names that the frame does not have.
    """
    if not is_frame(frame):
        found = type(frame).__name__
        raise TidelogError(
            [Diagnostic("spark-frame", f"{what} must be a Spark data frame, not a {found}", hint=_MAKE)]
        )
    known = {name.lower(): name for name in reversed(frame.columns)}
    mistakes = [
        Diagnostic(
            code="spark-frame",
            message=f"{what} have no column `{name}`",
            hint=did_you_mean(str(name), frame.columns, f"the columns are {', '.join(frame.columns)}"),
        )
        for name in names
        if str(name).lower() not in known
    ]
    raise_if_any(mistakes)
    return tuple(known[str(name).lower()] for name in names)


def kinds_of(
    what: str, frame: "DataFrame", names: Sequence[str], shown: Sequence[str] | None = None
) -> tuple[Kind, ...]:
    """Return the kind of value that each column holds; raises `TidelogError` for types without one.

    `shown` are the names that the user knows the columns by, if they differ.
    """
    types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    mistakes = [
        Diagnostic(
            code="spark-frame",
            message=f"column `{known}` of {what} has the type {types[name]}",
            hint="integers, floats and strings are values of a program: cast the column to one of them",
        )
        for name, known in zip(names, shown or names, strict=True)
        if _kind(types[name]) is None
    ]
    raise_if_any(mistakes)
    return tuple(kind for name in names if (kind := _kind(types[name])) is not None)


def as_relation(frame: "DataFrame", names: Sequence[str], kinds: Sequence[Kind]) -> "DataFrame":
    """Return the columns under the names c0, c1, ... in the types of their kinds."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as everybody calls it

    columns = [F.col(quoted(name)).cast(_CASTS[kind]) for name, kind in zip(names, kinds, strict=True)]
    return frame.select(*(column.alias(f"c{place}") for place, column in enumerate(columns)))


def placed(frame: "DataFrame") -> "DataFrame":
    """Return a frame with its columns called c0, c1, ...; several may have had one name."""
    return frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))


def quoted(name: str) -> str:
    """Return a column's name as Spark reads it whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def _kind(type_name: str) -> Kind | None:
    # Strings with a collation or a length are strings.
    word = type_name.partition("(")[0].partition(" ")[0]
    return _KINDS.get("string" if word in ("varchar", "char") else word)


_MAKE: Final = 'make one with spark.createDataFrame(rows, "src bigint, dst bigint")'
