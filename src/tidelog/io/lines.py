"""Batches of facts as bytes of text files."""

import json
from collections.abc import Sequence
from typing import Final

import numpy as np

from tidelog.io.places import CsvLayout
from tidelog.program.nodes import Relation
from tidelog.values import Codec, Codes, Kind
from tidelog.values.arrow import pa

# Up to so many rows Python is quick enough, and Arrow need not be imported.
_SOME: Final = 256
# The characters of numbers, unsigned and floats.
_OF_NUMBERS: Final = frozenset("0123456789+-.aefin")


def header_line(relation: Relation, layout: CsvLayout) -> bytes:
    """Return the line with the columns' names."""
    names = [column.name for column in relation.columns]
    if layout.is_quoted and any(layout.delimiter[0] in name for name in names):
        names = [f'"{name}"' for name in names]
    return (layout.delimiter.join(names) + "\n").encode()


def csv_lines(
    relation: Relation, layout: CsvLayout, batch: Sequence[Codes], codec: Codec
) -> memoryview | bytes:
    """Return one line per fact.

    Texts stand as they are, as Soufflé writes them; in a quoted layout they stand in quotes, and so
    do numbers where the delimiter may be part of them.
    A relation without columns has the line `()`.
    """
    if relation.arity == 0:
        return b"()\n"
    if batch[0].size <= _SOME:
        return _few_lines(relation, layout, batch, codec)
    texts = []
    for codes, column in zip(batch, relation.columns, strict=True):
        kind = codec.resolve(column.type).kind
        text = codec.column_to_text(codes, column.type, layout.style)
        texts.append(_csv_quoted(text) if _has_quotes(kind, layout) else text)
    return _bytes_of(_joined(texts, layout.delimiter), "\n")


def json_lines(
    relation: Relation, batch: Sequence[Codes], codec: Codec, *, has_objects: bool
) -> memoryview | bytes:
    """Return one JSON value per fact, separated by `,` and newline."""
    if relation.arity == 0:
        return b"{}" if has_objects else b"[]"
    pieces: list[pa.Array | str] = []
    for position, (codes, column) in enumerate(zip(batch, relation.columns, strict=True)):
        name = f"{json.dumps(column.name)}: " if has_objects else ""
        pieces.append((", " if position else "") + name)
        pieces.append(_json_texts(codes, column.type, codec, has_objects=has_objects))
    left, right = ("{", "}") if has_objects else ("[", "]")
    return _bytes_of(_joined([left, *pieces, right], ""), ",\n")[:-2]


def _few_lines(relation: Relation, layout: CsvLayout, batch: Sequence[Codes], codec: Codec) -> bytes:
    columns = []
    for codes, column in zip(batch, relation.columns, strict=True):
        texts = [codec.format(code, column.type, layout.style) for code in codes.tolist()]
        if _has_quotes(codec.resolve(column.type).kind, layout):
            texts = ['"' + text.replace('"', '""') + '"' for text in texts]
        columns.append(texts)
    return "".join(layout.delimiter.join(row) + "\n" for row in zip(*columns, strict=True)).encode()


def _has_quotes(kind: Kind, layout: CsvLayout) -> bool:
    return layout.is_quoted and (not kind.is_numeric or not _OF_NUMBERS.isdisjoint(layout.delimiter))


def _joined(texts: "Sequence[pa.Array | str]", delimiter: str) -> "pa.Array":
    import pyarrow.compute  # noqa: PLC0415 - see _SOME

    return texts[0] if len(texts) == 1 else pyarrow.compute.binary_join_element_wise(*texts, delimiter)


def _bytes_of(lines: "pa.Array", end: str) -> memoryview:
    """Return all texts, each followed by `end`, as they lie in Arrow's buffer."""
    lines = _joined([lines, ""], end)
    if isinstance(lines, pa.ChunkedArray):
        lines = lines.combine_chunks()
    width = np.int64 if pa.types.is_large_string(lines.type) else np.int32
    _, offsets, data = lines.buffers()
    if data is None:
        return memoryview(b"")
    places = np.frombuffer(offsets, dtype=width)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(data)[int(places[0]) : int(places[-1])]


def _csv_quoted(texts: "pa.Array") -> "pa.Array":
    import pyarrow.compute  # noqa: PLC0415 - see _SOME

    doubled = pyarrow.compute.replace_substring(texts, '"', '""')
    return _joined(['"', doubled, '"'], "")


def _json_texts(codes: Codes, type_name: str, codec: Codec, *, has_objects: bool) -> "pa.Array":
    kind = codec.resolve(type_name).kind
    if kind in (Kind.NUMBER, Kind.UNSIGNED):
        return codec.column_to_text(codes, type_name)
    return codec.column_to_json(codes, type_name, has_objects=has_objects)
