"""Facts given in Python: tuples, frames, Arrow data, columns by name, files."""

from collections.abc import Iterable, Mapping, Sequence
from io import IOBase
from os import PathLike
from pathlib import Path
from typing import Final, cast

import numpy as np

from tidelog.errors import Diagnostic, TidelogError
from tidelog.io.column_names import ColumnNamesError, match_columns
from tidelog.io.conversions import library_of
from tidelog.io.mistakes import Mistakes
from tidelog.io.python_columns import column_codes
from tidelog.io.python_rows import codes_from_rows
from tidelog.io.take_ahead import TakeAhead, nothing_ahead
from tidelog.program.nodes import Directive, Relation
from tidelog.values import Codec, Codes, Kind
from tidelog.values.arrow import pa

_FORMS: Final = "give tuples, a frame, an Arrow table, columns by name or a path"

# What most facts come in; asking for all other forms first would take longer than reading a few rows.
_ROWS: Final = frozenset({tuple, list})
# Columns with their names.
_Named = Sequence[tuple[str, object]]


def columns_from(
    data: object,
    relation: Relation,
    codec: Codec,
    directives: Sequence[Directive] = (),
    take_ahead: TakeAhead = nothing_ahead,
) -> list[Codes] | None:
    """Return the codes of facts given in Python.

    `data` may be an iterable of tuples, dicts, named tuples or data classes (or of bare values for
    one column), a pandas or polars frame or series, anything with the Arrow PyCapsule interface, a
    mapping from column names to columns, a NumPy array, or the path of a file, which is read as the
    relation's `.input` `directives` say. Named columns are matched by name if the names are the
    relation's, by position if none of them is; anything in between is a diagnostic. None means that
    a relation without columns does not hold. `take_ahead` returns what was read ahead of the file.
    """
    if type(data) in _ROWS:
        return codes_from_rows(cast("Iterable[object]", data), relation, codec)
    match data:
        case str() | PathLike():
            return _from_file(data, relation, codec, directives, take_ahead)
        case bool() | np.bool_() if relation.arity == 0:
            return [] if data else None
        case Mapping():
            return _from_named([(str(name), column) for name, column in data.items()], relation, codec)
        case np.ndarray():
            return _from_array(data, relation, codec)
        case bytes() | bytearray() | memoryview() | type() | IOBase():
            raise _wrong_data(relation, f"facts cannot be read from {type(data).__name__}")
    return _from_object(data, relation, codec)


def _from_object(data: object, relation: Relation, codec: Codec) -> list[Codes] | None:
    """Return the codes of what is known by what it can do: frames, series, Arrow data, iterables."""
    if library_of(data) == "polars" and hasattr(data, "collect"):
        data = data.collect()
    if hasattr(data, "toArrow"):
        # A data frame of Spark.
        data = data.toArrow()
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        return _from_pandas(data, relation, codec)
    if library_of(data) == "polars" and hasattr(data, "get_columns"):
        return _from_named([(series.name, series) for series in data.get_columns()], relation, codec)
    if (library_of(data) == "pyarrow" and isinstance(data, (pa.Array, pa.ChunkedArray))) or _is_series(data):
        return _from_series(data, relation, codec)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return columns_from_arrow(_arrow_table(data, relation), relation, codec)
    if isinstance(data, Iterable):
        return codes_from_rows(data, relation, codec)
    raise _wrong_data(relation, f"facts cannot be read from {type(data).__name__}")


def columns_from_arrow(table: "pa.Table", relation: Relation, codec: Codec) -> list[Codes] | None:
    """Return the codes of the facts in an Arrow table."""
    if relation.arity == 0:
        return [] if table.num_rows else None
    try:
        names = table.column_names
    except UnicodeDecodeError:
        raise _wrong_data(relation, "the name of a column is not UTF-8") from None
    return _from_named([(name, table.column(i)) for i, name in enumerate(names)], relation, codec)


def _from_file(
    data: "str | PathLike[str]",
    relation: Relation,
    codec: Codec,
    directives: Sequence[Directive],
    take_ahead: TakeAhead,
) -> list[Codes] | None:
    from tidelog.io.read import read_file  # noqa: PLC0415 - read uses this module

    try:
        return read_file(relation, Path(data), codec, directives, take_ahead)
    except TidelogError as error:
        first = error.diagnostics[0]
        if first.code != "missing-fact-file" or not isinstance(data, str) or Path(data).suffix:
            raise
        hint = f"a text is the path of a file; facts are tuples: [({data[:40]!r}, ...)]"
        raise TidelogError([Diagnostic(first.code, first.message, first.span, hint)]) from None


def _from_named(named: _Named, relation: Relation, codec: Codec, hint: str = "") -> list[Codes] | None:
    if not named:
        # Nothing at all: an empty mapping, or a frame that never had a row.
        return None if relation.arity == 0 else [np.empty(0, dtype=np.int64) for _ in relation.columns]
    try:
        positions = match_columns([name for name, _ in named], [column.name for column in relation.columns])
    except ColumnNamesError as error:
        raise _wrong_data(relation, error.message, code=error.code, hint=error.hint + hint) from error
    return _from_columns([named[position][1] for position in positions], relation, codec)


def _from_columns(columns: Sequence[object], relation: Relation, codec: Codec) -> list[Codes]:
    mistakes = Mistakes(f"facts of `{relation.name}`")
    codes = [
        column_codes(data, column, codec, mistakes)
        for data, column in zip(columns, relation.columns, strict=True)
    ]
    mistakes.raise_if_any()
    if len({part.size for part in codes}) > 1:
        sizes = ", ".join(str(part.size) for part in codes)
        raise _wrong_data(relation, f"its columns have different lengths: {sizes}")
    return codes


def _from_array(
    array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], relation: Relation, codec: Codec
) -> list[Codes] | None:
    """Return the codes of an array: a structured one has names, one of two dimensions a row per fact."""
    if array.dtype.names is not None and array.ndim == 1:
        fields = cast("Mapping[str, object]", array)
        return _from_named([(name, fields[name]) for name in array.dtype.names], relation, codec)
    if array.ndim == 1:
        return _from_series(array, relation, codec)
    if array.ndim != 2:
        hint = "give an array of two dimensions, a row per fact"
        raise _wrong_data(relation, f"an array of {array.ndim} dimensions is not facts", hint=hint)
    if relation.arity == 0:
        return [] if len(array) else None
    if isinstance(array, np.matrix):
        array = np.asarray(array)
    if array.shape[1] != relation.arity:
        message = f"an array of {array.shape[1]} columns where {relation.arity} should be"
        raise _wrong_data(relation, message, code="wrong-column-count")
    kinds = {codec.resolve(column.type).kind for column in relation.columns}
    if len(array) and array.dtype.kind == "U" and kinds - {Kind.SYMBOL}:
        # NumPy makes texts of all values if one of them is a text.
        hint = "give dtype=object to np.array, or give tuples"
        raise _wrong_data(relation, "an array of texts, where some columns are not symbols", hint=hint)
    return _from_columns([array[:, place] for place in range(relation.arity)], relation, codec)


def _from_pandas(frame: object, relation: Relation, codec: Codec) -> list[Codes] | None:
    names = [str(name) for name in frame.columns]  # type: ignore[attr-defined]
    if relation.arity == 0 and not names:
        return [] if len(frame) else None  # type: ignore[arg-type]
    index = [str(name) for name in getattr(frame.index, "names", ()) if name is not None]  # type: ignore[attr-defined]
    wanted = {column.name for column in relation.columns}
    hint = "; `frame.reset_index()` makes columns of its index" if wanted & set(index) else ""
    named = [(name, frame.iloc[:, place]) for place, name in enumerate(names)]  # type: ignore[attr-defined]
    return _from_named(named, relation, codec, hint)


def _is_series(data: object) -> bool:
    """Say whether data is one column of pandas or polars."""
    return (
        library_of(data) in {"pandas", "polars"} and hasattr(data, "dtype") and not hasattr(data, "columns")
    )


def _from_series(data: object, relation: Relation, codec: Codec) -> list[Codes] | None:
    """Return the codes of one column: of values, of structs with names, or of tuples."""
    if not len(data):  # type: ignore[arg-type]
        return _from_named((), relation, codec)
    is_record = relation.arity == 1 and codec.resolve(relation.columns[0].type).kind is Kind.RECORD
    if not is_record:
        struct = _struct_of(data)
        if struct is not None:
            return columns_from_arrow(struct, relation, codec)
    if relation.arity == 1:
        return _from_columns([data], relation, codec)
    if str(getattr(data, "dtype", "")).lower() == "object":
        return codes_from_rows(list(data), relation, codec)  # type: ignore[call-overload]
    message = f"1 column where {relation.arity} should be"
    hint = "give a frame, or one column for each name"
    raise _wrong_data(relation, message, code="wrong-column-count", hint=hint)


def _struct_of(data: object) -> "pa.Table | None":
    """Return the fields of an Arrow or polars column of structs as columns."""
    if library_of(data) == "polars":
        data = pa.chunked_array(data)
    if isinstance(data, pa.Array):
        data = pa.chunked_array([data])
    if isinstance(data, pa.ChunkedArray) and pa.types.is_struct(data.type) and not data.null_count:
        return pa.Table.from_struct_array(data)
    return None


def _arrow_table(data: object, relation: Relation) -> "pa.Table":
    try:
        if isinstance(data, pa.RecordBatchReader):
            return data.read_all()
        return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise _wrong_data(relation, f"the Arrow data cannot be read: {error}") from error


def _wrong_data(
    relation: Relation, message: str, *, code: str = "wrong-value-type", hint: str | None = None
) -> TidelogError:
    message = f"facts of `{relation.name}`: {message}"
    return TidelogError([Diagnostic(code=code, message=message, hint=hint or _FORMS)])
