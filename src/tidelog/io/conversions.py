"""What to write so that a value, or a column of a frame, becomes one of the wanted type."""

import datetime as dt
import enum
import uuid
from collections.abc import Mapping
from decimal import Decimal
from pathlib import PurePath
from typing import Final

import numpy as np

from tidelog.values import Kind
from tidelog.values.arrow import pa

NULL_HINT: Final = "only a record can be null, which is nil; "

# What a column of each kind may hold.
EXPECTED: Final = {
    Kind.NUMBER: "give integers",
    Kind.UNSIGNED: "give integers that are not negative",
    Kind.FLOAT: "give floats or integers",
    Kind.SYMBOL: "give texts",
    Kind.RECORD: "give texts such as `[1, a]`, lists, structs or Python tuples",
    Kind.ADT: "give texts such as `$Branch(1)`, or tidelog.Branch",
}

_CASTS: Final = {
    "pandas": {Kind.NUMBER: "int64", Kind.UNSIGNED: "uint64", Kind.FLOAT: "float64", Kind.SYMBOL: "str"},
    "polars": {Kind.NUMBER: "Int64", Kind.UNSIGNED: "UInt64", Kind.FLOAT: "Float64", Kind.SYMBOL: "String"},
    "pyarrow": {Kind.NUMBER: "int64", Kind.UNSIGNED: "uint64", Kind.FLOAT: "float64", Kind.SYMBOL: "string"},
}

_SECONDS: Final = "int(value.timestamp()) for seconds"
_WHOLE_SECONDS: Final = "int(value.total_seconds())"
_UNITS: Final = "int(value.astype('int64'))"
_TEXT: Final = "str(value)"
_ISO_TEXT: Final = "value.isoformat()"
_TIMES: Final[Mapping[type, Mapping[Kind, str]]] = {
    dt.datetime: {Kind.NUMBER: _SECONDS, Kind.FLOAT: "value.timestamp()", Kind.SYMBOL: _ISO_TEXT},
    dt.date: {Kind.NUMBER: "value.toordinal() for days", Kind.SYMBOL: _ISO_TEXT},
    dt.time: {Kind.SYMBOL: _ISO_TEXT},
    dt.timedelta: {Kind.NUMBER: _WHOLE_SECONDS, Kind.FLOAT: "value.total_seconds()", Kind.SYMBOL: _TEXT},
    np.datetime64: {Kind.NUMBER: _UNITS, Kind.SYMBOL: _TEXT},
    np.timedelta64: {Kind.NUMBER: _UNITS, Kind.SYMBOL: _TEXT},
}


def library_of(data: object) -> str:
    """Return the package that a frame or column is of: `pandas`, `polars`, `pyarrow`, `numpy`."""
    return type(data).__module__.partition(".")[0]


def is_missing(value: object) -> bool:
    """Say whether a value is one that stands for a missing one: None, NaN, `pandas.NA`, `NaT`."""
    if value is None or (library_of(value) == "pandas" and type(value).__name__ in {"NAType", "NaTType"}):
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def hint_for_value(value: object, kind: Kind) -> str | None:
    """Return how to turn a Python value into one of the kind, None if there is no usual way."""
    if is_missing(value):
        return NULL_HINT + "leave the fact out, or give a value in its place"
    way = _way_from(value, kind)
    return None if way is None else f"convert it: {way}"


def _way_from(value: object, kind: Kind) -> str | None:
    match value:
        case bytes() | bytearray():
            return 'value.decode("utf-8")' if kind is Kind.SYMBOL else None
        case enum.Enum():
            return "value.name, or value.value"
        case list() | Mapping():
            return "a record is a tuple of its fields in order" if kind is Kind.RECORD else None
        case dt.datetime() | dt.date() | dt.time() | dt.timedelta() | np.datetime64() | np.timedelta64():
            return _TIMES.get(_time_of(value), {}).get(kind)
    return _plain_way(value, kind)


def _time_of(value: object) -> type:
    """Return which sort of time a value is; a datetime is a date to Python, and is not one here."""
    sorts = (dt.datetime, dt.date, dt.time, dt.timedelta, np.datetime64, np.timedelta64)
    return next(sort for sort in sorts if isinstance(value, sort))


def _plain_way(value: object, kind: Kind) -> str | None:
    is_number = isinstance(value, (bool, np.bool_, int, float, np.number, Decimal))
    if kind is Kind.SYMBOL and (is_number or isinstance(value, (uuid.UUID, PurePath))):
        return "str(value)"
    if kind is Kind.FLOAT and isinstance(value, (bool, np.bool_, Decimal, str)):
        return "float(value)"
    if kind in (Kind.NUMBER, Kind.UNSIGNED) and (
        isinstance(value, str) or (is_number and not _is_integer(value))
    ):
        return "int(value)"
    return None


def _is_integer(value: object) -> bool:
    """Say whether a value is an integer already, which then does not fit."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def hint_for_nulls(library: str) -> str:
    """Return what to do about missing values in a column."""
    drop = {"pandas": "frame.dropna()", "polars": "frame.drop_nulls()", "pyarrow": "table.drop_null()"}
    fill = {
        "pandas": "frame.fillna(...)",
        "polars": "frame.fill_null(...)",
        "pyarrow": 'table["column"].fill_null(...)',
    }
    if library not in drop:
        return NULL_HINT + "leave those facts out, or give values in their place"
    return NULL_HINT + f"leave those rows out with `{drop[library]}`, or fill them with `{fill[library]}`"


def hint_for_column(name: str, arrow_type: "pa.DataType", kind: Kind, library: str) -> str:
    """Return how to convert a column of a frame, or what to give if there is no usual way.

    hint_for_column("t", pa.bool_(), Kind.NUMBER, "polars")
    # 'convert it first: `frame["t"].cast(pl.Int64)`'
    """
    if kind in (Kind.RECORD, Kind.ADT):
        return EXPECTED[kind]
    frame = f'table["{name}"]' if library == "pyarrow" else f'frame["{name}"]'
    way = _column_way(frame, arrow_type, kind, library)
    return EXPECTED[kind] if way is None else f"convert it first: `{way}`"


def _column_way(frame: str, arrow_type: "pa.DataType", kind: Kind, library: str) -> str | None:
    types = pa.types
    if types.is_binary(arrow_type) or types.is_large_binary(arrow_type) or types.is_binary_view(arrow_type):
        if kind is not Kind.SYMBOL:
            return None
        ways = {"pandas": f'{frame}.str.decode("utf-8")', "numpy": 'np.char.decode(array, "utf-8")'}
        return ways.get(library, _cast(frame, kind, library))
    if types.is_nested(arrow_type) or types.is_null(arrow_type):
        return None
    is_whole = kind in (Kind.NUMBER, Kind.UNSIGNED)
    if is_whole and (types.is_temporal(arrow_type)):
        return _whole_from_time(frame, arrow_type, library)
    if kind is Kind.FLOAT and types.is_duration(arrow_type) and library in {"pandas", "polars"}:
        return f"{frame}.dt.total_seconds()" + (".cast(pl.Float64)" if library == "polars" else "")
    if kind is Kind.FLOAT and types.is_temporal(arrow_type):
        whole = _whole_from_time(frame, arrow_type, library)
        return None if whole is None else _cast(whole, kind, library)
    return _cast(frame, kind, library)


def _whole_from_time(frame: str, arrow_type: "pa.DataType", library: str) -> str | None:
    types = pa.types
    if types.is_duration(arrow_type):
        ways = {
            "pandas": f'{frame}.dt.total_seconds().astype("int64")',
            "polars": f"{frame}.dt.total_seconds()",
            "numpy": 'array.astype("timedelta64[s]").astype("int64")',
        }
        return ways.get(library, f"{frame}.cast(pa.int64())")
    if types.is_time(arrow_type) and library != "polars":
        return f"{frame}.cast(pa.int64())" if library == "pyarrow" and types.is_time64(arrow_type) else None
    if types.is_time(arrow_type):
        return f"{frame}.cast(pl.Int64)"
    ways = {
        "pandas": f'pd.to_datetime({frame}).astype("int64")',
        "polars": f'{frame}.dt.epoch("{"d" if types.is_date(arrow_type) else "s"}")',
        "numpy": 'array.astype("datetime64[s]").astype("int64")',
    }
    return ways.get(library, f"{frame}.cast(pa.{'int32' if types.is_date32(arrow_type) else 'int64'}())")


def _cast(frame: str, kind: Kind, library: str) -> str | None:
    if library == "numpy":
        return f'array.astype("{_CASTS["pandas"][kind]}")'
    name = _CASTS.get(library, {}).get(kind)
    if name is None:
        return None
    if library == "pandas":
        return f'{frame}.astype("{name}")'
    return f"{frame}.cast(pl.{name})" if library == "polars" else f"{frame}.cast(pa.{name}())"
