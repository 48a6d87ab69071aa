"""Facts from Arrow columns."""

import numpy as np
import pyarrow as pa

from tidelog.errors import TidelogError
from tidelog.values import Codec, Codes, Kind, TextError, Value
from tidelog.values.codes import floats_to_codes, unsigneds_to_codes


class ArrowMistakeError(ValueError):
    """A column holds a value that its type in the program does not have."""


def codes_from_arrow(column: pa.ChunkedArray, type_name: str, codec: Codec) -> Codes:
    """Return the codes of an Arrow column.

    Integers fill number, unsigned and float columns, floats fill float columns, texts fill
    symbol columns; records and algebraic types are given as their text, or as lists and
    structs. Nothing else is converted: a null, a number that does not fit and any other type
    raise `ArrowMistakeError`.
    """
    kind = codec.resolve(type_name).kind
    if column.null_count and kind is not Kind.RECORD:
        place = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise ArrowMistakeError(f"row {place + 1} is null")
    arrow_type = column.type
    is_text = _is_text(arrow_type)
    if pa.types.is_null(arrow_type) and len(column) == 0:
        return np.empty(0, dtype=np.int64)
    if kind is Kind.SYMBOL and is_text:
        return codec.symbols.encode_arrow(_plain_text(column))
    if kind in (Kind.NUMBER, Kind.UNSIGNED) and pa.types.is_integer(arrow_type):
        return _integers(column, kind)
    if kind is Kind.FLOAT and (pa.types.is_floating(arrow_type) or pa.types.is_integer(arrow_type)):
        floats = column if arrow_type == pa.float64() else column.cast(pa.float64(), safe=False)
        return floats_to_codes(floats.to_numpy())
    if kind in (Kind.RECORD, Kind.ADT):
        if is_text and not column.null_count:
            return _nested_texts(column, type_name, codec)
        return _nested_values(column, type_name, codec)
    shown = arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
    raise ArrowMistakeError(f"its type is {shown}")


def _integers(column: pa.ChunkedArray, kind: Kind) -> Codes:
    target = pa.int64() if kind is Kind.NUMBER else pa.uint64()
    try:
        values = (column if column.type == target else column.cast(target)).to_numpy()
    except pa.ArrowInvalid as error:
        raise ArrowMistakeError(str(error)) from error
    return values if kind is Kind.NUMBER else unsigneds_to_codes(values)


def _is_text(arrow_type: pa.DataType) -> bool:
    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    return bool(
        pa.types.is_string(arrow_type)
        or pa.types.is_large_string(arrow_type)
        or pa.types.is_string_view(arrow_type)
    )


def _plain_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column as strings or as a dictionary of strings."""
    arrow_type = column.type
    if pa.types.is_string_view(arrow_type):
        return column.cast(pa.large_string())
    if pa.types.is_dictionary(arrow_type) and pa.types.is_string_view(arrow_type.value_type):
        return column.cast(pa.large_string())
    return column


def _nested_texts(column: pa.ChunkedArray, type_name: str, codec: Codec) -> Codes:
    parts = [np.empty(0, dtype=np.int64)]
    for chunk in column.chunks:
        texts = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        try:
            distinct = [codec.parse(text, type_name) for text in texts.dictionary.to_pylist()]
        except TextError as error:
            raise ArrowMistakeError(error.message) from error
        parts.append(np.array(distinct, dtype=np.int64)[texts.indices.to_numpy()])
    return np.concatenate(parts)


def _nested_values(column: pa.ChunkedArray, type_name: str, codec: Codec) -> Codes:
    try:
        return codec.encode_column([_as_value(item) for item in column.to_pylist()], type_name)
    except TidelogError as error:
        raise ArrowMistakeError(error.diagnostics[0].message) from error


def _as_value(item: object) -> Value:
    """Return lists and structs as the tuples that records are."""
    if isinstance(item, dict):
        return tuple(_as_value(part) for part in item.values())
    if isinstance(item, list):
        return tuple(_as_value(part) for part in item)
    return item  # type: ignore[return-value]
