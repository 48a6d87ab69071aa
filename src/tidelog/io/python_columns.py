"""A column given in Python: a list, an array, a series, Arrow data."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import cast

import numpy as np

from tidelog.errors import TidelogError
from tidelog.io.arrow import ArrowMistakeError, codes_from_arrow
from tidelog.io.conversions import (
    EXPECTED,
    hint_for_column,
    hint_for_nulls,
    hint_for_value,
    is_missing,
    library_of,
)
from tidelog.io.mistakes import Mistakes
from tidelog.program.nodes import Column
from tidelog.values import Codec, Codes, Kind, Value
from tidelog.values.arrow import pa
from tidelog.values.codes import floats_to_codes

_NO_CODES = np.empty(0, dtype=np.int64)


class _NoColumnError(ValueError):
    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def column_codes(data: object, column: Column, codec: Codec, mistakes: Mistakes) -> Codes:
    """Return the codes of a column; what is wrong with it is reported to `mistakes`."""
    kind = codec.resolve(column.type).kind
    codes = _codes_of_array(data, kind)
    if codes is not None:
        return codes
    try:
        values = _values_of(data, column.name)
    except _NoColumnError as error:
        mistakes.note("wrong-value-type", f"column `{column.name}` is {error}", error.hint)
        return _NO_CODES
    except (pa.ArrowException, TypeError, ValueError) as error:
        message = f"column `{column.name}` cannot be read: {_first_line(error)}"
        mistakes.note("wrong-value-type", message, "give a list of values")
        return _NO_CODES
    if isinstance(values, list) and library_of(data) == "pandas":
        values = _objects_of(values, kind)
    if isinstance(values, list):
        return encode_values(cast("list[Value]", values), column, codec, mistakes)
    return _arrow_codes(values, library_of(data), column, codec, mistakes)


def _codes_of_array(data: object, kind: Kind) -> Codes | None:
    """Return the codes of an array of just the wanted numbers; Arrow, which takes any, is slow to import."""
    if type(data) is not np.ndarray or data.ndim != 1:
        return None
    if kind is Kind.NUMBER and data.dtype == np.int64:
        return data.copy()
    if kind is Kind.FLOAT and data.dtype == np.float64:
        return floats_to_codes(data)
    return None


def encode_values(values: Sequence[Value], column: Column, codec: Codec, mistakes: Mistakes) -> Codes:
    """Return the codes of Python values; each wrong one is reported with its row, counted from 1."""
    try:
        return codec.encode_column(values, column.type)
    except TidelogError:
        pass  # the loop below says in which rows
    kind = codec.resolve(column.type).kind
    for number, value in enumerate(values, start=1):
        try:
            codec.encode(value, column.type)
        except TidelogError as error:
            mistake = error.diagnostics[0]
            hint = hint_for_value(value, kind) or mistake.hint
            message = mistake.message.replace("\n", " ")
            mistakes.note(mistake.code, f"row {number}, column `{column.name}`: {message}", hint)
    return _NO_CODES


def _objects_of(values: list[object], kind: Kind) -> "list[object] | pa.ChunkedArray":
    """Return a pandas column of objects as a column of the one type they have, if they have one."""
    if kind is Kind.RECORD:
        return [None if is_missing(value) else value for value in values]
    if kind is Kind.ADT:
        return values
    try:
        return pa.chunked_array([pa.array(values, from_pandas=False)])
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return values


def _arrow_codes(
    values: "pa.ChunkedArray", library: str, column: Column, codec: Codec, mistakes: Mistakes
) -> Codes:
    kind = codec.resolve(column.type).kind
    try:
        # A file or a foreign library may hold texts that are not UTF-8.
        values.validate(full=True)
        return codes_from_arrow(values, column.type, codec)
    except ArrowMistakeError as error:
        message, hint = f"column `{column.name}` of type `{column.type}`: {error}", EXPECTED[kind]
        if error.is_null:
            hint = hint_for_nulls(library)
        elif error.is_type:
            hint = hint_for_column(column.name, values.type, kind, library)
            place = _first_missing(values)
            if place is not None and kind is not Kind.FLOAT:
                message += f", and row {place + 1} is missing (NaN)"
                hint = f"{hint_for_nulls(library)}; then {hint}"
        mistakes.note("wrong-value-type", message, hint)
    except (pa.ArrowException, TypeError, ValueError) as error:
        message = f"column `{column.name}` holds no `{column.type}` values: {_first_line(error)}"
        mistakes.note("wrong-value-type", message, EXPECTED[kind])
    return _NO_CODES


def _first_missing(values: "pa.ChunkedArray") -> int | None:
    """Return the first NaN of a column of floats."""
    if not pa.types.is_floating(values.type):
        return None
    missing = np.flatnonzero(np.isnan(values.to_numpy()))
    return int(missing[0]) if missing.size else None


def _values_of(data: object, name: str) -> "list[object] | pa.ChunkedArray":
    """Return the values of whatever is a column, without taking one value for another."""
    match data:
        case list() | tuple():
            return list(data)
        case pa.ChunkedArray():
            return data
        case pa.Array():
            return pa.chunked_array([data])
        case np.ndarray():
            return _array_values(data)
        case str() | bytes() | bytearray():
            shown = repr(data) if len(data) <= 40 else repr(data[:37])[:-1] + "..."
            raise _NoColumnError(f"{shown}, which is one value", f"give a list: {{{name!r}: [{shown}]}}")
        case None:
            raise _NoColumnError("None", "give a list of values; an empty one is []")
        case Mapping():
            raise _NoColumnError("a mapping", f"give a list of values: {{{name!r}: [...]}}")
        case AbstractSet():
            raise _NoColumnError("a set, which has no order", "give tuples, or a list of values")
    return _foreign_values(data)


def _foreign_values(data: object) -> "list[object] | pa.ChunkedArray":
    if library_of(data) == "pandas" and hasattr(data, "to_numpy"):
        is_plain = isinstance(getattr(data, "dtype", None), np.dtype)
        if is_plain or type(getattr(data, "dtype", None)).__name__ == "SparseDtype":
            return _array_values(np.asarray(data))
        return _chunked(data)
    if library_of(data) == "polars" and str(getattr(data, "dtype", "")) == "Object":
        return list(cast("Iterable[object]", data))
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _chunked(data)
    if hasattr(data, "__cuda_array_interface__") and hasattr(data, "get"):
        return _array_values(data.get())
    if hasattr(data, "__array__"):
        return _array_values(np.asarray(data))
    if isinstance(data, Iterable):
        return list(data)
    raise _NoColumnError(f"{type(data).__name__}, not a column", "give a list of values")


def _array_values(
    array: np.ndarray[tuple[int, ...], np.dtype[np.generic]],
) -> "list[object] | pa.ChunkedArray":
    if array.ndim != 1:
        raise _NoColumnError(f"an array of {array.ndim} dimensions", "give an array of one dimension")
    if array.dtype == object or array.dtype.names:
        values: list[object] = array.tolist()
        return values
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return _chunked(array)


def _chunked(values: object) -> "pa.ChunkedArray":
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    # Arrow would take NaN for a missing value.
    array = pa.array(values, from_pandas=False)
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
