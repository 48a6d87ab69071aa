"""Facts from Arrow columns."""

import numpy as np

from tidelog.errors import TidelogError
from tidelog.io.column_names import ColumnNamesError, match_columns
from tidelog.values import Codec, Codes, Kind, TextError, Value
from tidelog.values.arrow import pa
from tidelog.values.arrow_numbers import numbers_of
from tidelog.values.codes import NUMBER_MAX, NUMBER_MIN, UNSIGNED_MAX, floats_to_codes, unsigneds_to_codes


class ArrowMistakeError(ValueError):
    """A column holds a value that its type in the program does not have.

    `is_null` says that the value is missing, `is_type` that no value of the column fits.
    """

    def __init__(self, message: str, *, is_null: bool = False, is_type: bool = False) -> None:
        super().__init__(message)
        self.is_null = is_null
        self.is_type = is_type


def codes_from_arrow(column: "pa.ChunkedArray", type_name: str, codec: Codec) -> Codes:
    """Return the codes of an Arrow column.

    Integers fill number, unsigned and float columns, floats fill float columns, texts fill
    symbol columns; records and algebraic types are given as their text, or as lists and
    structs, whose fields are matched by name. Nothing else is converted: a null, a number that does
    not fit and any other type raise `ArrowMistakeError`. An empty column has no values of a wrong
    type.
    """
    kind = codec.resolve(type_name).kind
    if len(column) == 0:
        return np.empty(0, dtype=np.int64)
    if column.null_count and kind is not Kind.RECORD:
        place = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise ArrowMistakeError(f"row {place + 1} is null", is_null=True)
    if pa.types.is_dictionary(column.type) and not _is_text(column.type):
        column = column.cast(column.type.value_type)
    arrow_type = column.type
    is_text = _is_text(arrow_type)
    if kind is Kind.SYMBOL and is_text:
        return codec.symbols.encode_arrow(_plain_text(column))
    if kind in (Kind.NUMBER, Kind.UNSIGNED) and pa.types.is_integer(arrow_type):
        return _integers(column, kind)
    if kind is Kind.FLOAT and (pa.types.is_floating(arrow_type) or pa.types.is_integer(arrow_type)):
        floats = column if arrow_type == pa.float64() else column.cast(pa.float64(), safe=False)
        return floats_to_codes(numbers_of(floats).view(np.float64))
    if kind in (Kind.RECORD, Kind.ADT):
        if is_text and not column.null_count:
            return _nested_texts(_plain_text(column), type_name, codec)
        return _nested_values(column, type_name, codec)
    shown = arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
    raise ArrowMistakeError(f"its type is {shown}", is_type=True)


def _integers(column: "pa.ChunkedArray", kind: Kind) -> Codes:
    target = pa.int64() if kind is Kind.NUMBER else pa.uint64()
    try:
        fitting = column if column.type == target else column.cast(target)
    except pa.ArrowInvalid as error:
        raise ArrowMistakeError(_out_of_range(column, kind)) from error
    if kind is Kind.NUMBER:
        return numbers_of(fitting).view(np.int64)
    return unsigneds_to_codes(numbers_of(fitting).view(np.uint64))


def _out_of_range(column: "pa.ChunkedArray", kind: Kind) -> str:
    low, high = (NUMBER_MIN, NUMBER_MAX) if kind is Kind.NUMBER else (0, UNSIGNED_MAX)
    for number, value in enumerate(column.to_pylist(), start=1):
        if not low <= value <= high:
            return f"in row {number}, {value} does not fit {kind.value} ({low} to {high})"
    raise AssertionError("a column that cannot be cast holds a value that does not fit")


def _is_text(arrow_type: "pa.DataType") -> bool:
    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    return bool(
        pa.types.is_string(arrow_type)
        or pa.types.is_large_string(arrow_type)
        or pa.types.is_string_view(arrow_type)
    )


def _plain_text(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Return the column as strings or as a dictionary of strings."""
    arrow_type = column.type
    if pa.types.is_string_view(arrow_type):
        return column.cast(pa.large_string())
    if pa.types.is_dictionary(arrow_type) and pa.types.is_string_view(arrow_type.value_type):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.large_string()))
            for chunk in column.chunks
        ]
        return pa.chunked_array(chunks)
    return column


def _nested_texts(column: "pa.ChunkedArray", type_name: str, codec: Codec) -> Codes:
    try:
        return codec.parse_column(column, type_name)
    except TextError:
        # Which text it is.
        for text in column.to_pylist():
            _parse(text, type_name, codec)
        raise


def _parse(text: str, type_name: str, codec: Codec) -> int:
    try:
        return codec.parse(text, type_name)
    except TextError as error:
        shown = text if len(text) <= 40 else text[:37] + "..."
        raise ArrowMistakeError(f"`{shown}`: {error.message}") from error


def _nested_values(column: "pa.ChunkedArray", type_name: str, codec: Codec) -> Codes:
    values = [_as_value(item, type_name, codec) for item in column.to_pylist()]
    try:
        return codec.encode_column(values, type_name)
    except TidelogError as error:
        raise ArrowMistakeError(error.diagnostics[0].message) from error


def _as_value(item: object, type_name: str, codec: Codec) -> Value:
    """Return lists and structs as the tuples that records are; a branch stands as its text."""
    value_type = codec.resolve(type_name)
    if value_type.kind is Kind.ADT and isinstance(item, str):
        return codec.decode(_parse(item, type_name, codec), type_name)
    if value_type.kind is not Kind.RECORD or not isinstance(item, (dict, list)):
        return item  # type: ignore[return-value]
    parts = list(item)
    if isinstance(item, dict):
        try:
            positions = match_columns(list(item), [field.name for field in value_type.fields])
        except ColumnNamesError as error:
            raise ArrowMistakeError(f"the fields of `{type_name}`: {error.message}") from error
        values = list(item.values())
        parts = [values[position] for position in positions]
    if len(parts) != len(value_type.fields):
        return tuple(parts)
    return tuple(
        _as_value(part, field.type, codec) for part, field in zip(parts, value_type.fields, strict=True)
    )
