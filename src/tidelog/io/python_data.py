"""Facts given in Python: tuples, frames, Arrow data, columns by name, files."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidelog.errors import Diagnostic, TidelogError
from tidelog.io.arrow import ArrowMistakeError, codes_from_arrow
from tidelog.io.mistakes import Mistakes
from tidelog.program.nodes import Relation
from tidelog.values import Codec, Codes, Kind, Value


def columns_from(data: object, relation: Relation, codec: Codec) -> list[Codes] | None:
    """Return the codes of facts given in Python.

    `data` may be an iterable of tuples (or of bare values for one column), a pandas or polars
    frame, anything with the Arrow PyCapsule interface, a mapping from column names to columns,
    a two-dimensional NumPy array, or the path of a file. Named columns are matched by name if
    all names are the relation's, else by position. None means that a relation without columns
    does not hold.
    """
    match data:
        case str() | PathLike():
            from tidelog.io.read import read_file  # noqa: PLC0415 - read uses this module's row encoder

            return read_file(relation, Path(data), codec)
        case bool() if relation.arity == 0:
            return [] if data else None
        case Mapping():
            return _from_named(dict(data), relation, codec)
        case np.ndarray() if data.ndim == 2:
            return _from_named({str(i): data[:, i] for i in range(data.shape[1])}, relation, codec)
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        names = [str(name) for name in data.columns]
        return _from_pairs([(name, data.iloc[:, i]) for i, name in enumerate(names)], relation, codec)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return columns_from_arrow(_arrow_table(data, relation), relation, codec)
    if isinstance(data, Iterable):
        return _from_rows(data, relation, codec)
    raise _wrong_data(relation, f"facts cannot be read from {type(data).__name__}")


def columns_from_arrow(table: pa.Table, relation: Relation, codec: Codec) -> list[Codes] | None:
    """Return the codes of the facts in an Arrow table."""
    if relation.arity == 0:
        return [] if table.num_rows else None
    pairs = [(name, table.column(i)) for i, name in enumerate(table.column_names)]
    return _from_pairs(pairs, relation, codec)


def encode_rows(rows: Sequence[object], relation: Relation, codec: Codec, mistakes: Mistakes) -> list[Codes]:
    """Return the codes of facts given as tuples; mistakes name the row, counted from 1."""
    arity = relation.arity
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, (tuple, list)):
            hint = "give every fact as a tuple"
            mistakes.note("wrong-value-type", f"row {number} is no tuple but {_shown(row)}", hint)
        elif len(row) != arity:
            message = f"row {number} has {len(row)} values where {arity} should be"
            mistakes.note("wrong-column-count", message)
    mistakes.raise_if_any()
    columns: list[tuple[Value, ...]] = list(zip(*rows, strict=True)) if rows else [()] * arity
    codes = [
        _encode(values, column.name, column.type, codec, mistakes)
        for values, column in zip(columns, relation.columns, strict=True)
    ]
    mistakes.raise_if_any()
    return codes


def _encode(values: Sequence[Value], name: str, type_name: str, codec: Codec, mistakes: Mistakes) -> Codes:
    try:
        return codec.encode_column(values, type_name)
    except TidelogError:
        pass  # the loop below says in which rows
    for number, value in enumerate(values, start=1):
        try:
            codec.encode(value, type_name)
        except TidelogError as error:
            mistake = error.diagnostics[0]
            mistakes.note(mistake.code, f"row {number}, column `{name}`: {mistake.message}", mistake.hint)
    return np.empty(0, dtype=np.int64)


def _from_rows(data: Iterable[object], relation: Relation, codec: Codec) -> list[Codes] | None:
    rows = list(data)
    mistakes = Mistakes(f"facts of `{relation.name}`")
    if relation.arity == 1:
        rows = [row if isinstance(row, (tuple, list)) else (row,) for row in rows]
    codes = encode_rows(rows, relation, codec, mistakes)
    return codes if relation.arity or rows else None


def _from_named(columns: Mapping[object, object], relation: Relation, codec: Codec) -> list[Codes] | None:
    return _from_pairs([(str(name), column) for name, column in columns.items()], relation, codec)


def _from_pairs(pairs: list[tuple[str, object]], relation: Relation, codec: Codec) -> list[Codes] | None:
    wanted = [column.name for column in relation.columns]
    names = [name for name, _ in pairs]
    if len(names) != len(wanted):
        message = f"{len(names)} columns ({', '.join(names[:10])}) where {len(wanted)} should be"
        raise _wrong_data(relation, message, code="wrong-column-count", hint=f"give {', '.join(wanted)}")
    if set(names) == set(wanted):
        by_name = dict(pairs)
        pairs = [(name, by_name[name]) for name in wanted]
    mistakes = Mistakes(f"facts of `{relation.name}`")
    codes = []
    for (_, data), column in zip(pairs, relation.columns, strict=True):
        codes.append(_column(data, column.name, column.type, codec, mistakes))
    mistakes.raise_if_any()
    if len({part.size for part in codes}) > 1:
        sizes = ", ".join(str(part.size) for part in codes)
        raise _wrong_data(relation, f"its columns have different lengths: {sizes}")
    return codes


def _column(data: object, name: str, type_name: str, codec: Codec, mistakes: Mistakes) -> Codes:
    kind = codec.resolve(type_name).kind
    values = data
    # Arrow would take NaN for a missing value, and cannot hold columns of tuples.
    if hasattr(data, "to_numpy") and not isinstance(data, (pa.Array, pa.ChunkedArray)):
        array = data.to_numpy()
        if kind is Kind.FLOAT or array.dtype == object:
            values = array
    if isinstance(values, np.ndarray) and values.dtype == object:
        values = values.tolist()
    if isinstance(values, (list, tuple)):
        return _encode(values, name, type_name, codec, mistakes)
    try:
        return codes_from_arrow(_chunked(values), type_name, codec)
    except (ArrowMistakeError, pa.ArrowException, TypeError) as error:
        message = f"column `{name}` holds no `{type_name}` values: {error}"
        mistakes.note("wrong-value-type", message)
        return np.empty(0, dtype=np.int64)


def _chunked(values: object) -> pa.ChunkedArray:
    if isinstance(values, pa.ChunkedArray):
        return values
    if isinstance(values, pa.Array):
        return pa.chunked_array([values])
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    array = pa.array(values, from_pandas=False)
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _arrow_table(data: object, relation: Relation) -> pa.Table:
    try:
        if isinstance(data, pa.RecordBatchReader):
            return data.read_all()
        if isinstance(data, (pa.Array, pa.ChunkedArray)):
            return pa.table({"0": data})
        return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise _wrong_data(relation, f"the Arrow data cannot be read: {error}") from error


def _wrong_data(
    relation: Relation, message: str, *, code: str = "wrong-value-type", hint: str | None = None
) -> TidelogError:
    hint = hint or "give tuples, a frame, an Arrow table, columns by name or a path"
    return TidelogError([Diagnostic(code=code, message=f"facts of `{relation.name}`: {message}", hint=hint)])


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
