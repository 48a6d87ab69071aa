"""Lines of text as Arrow reads them, in the calling thread alone."""

from typing import Final

from tidelog.io.arrow import ArrowMistakeError
from tidelog.io.csv_careful import has_empty_texts
from tidelog.io.csv_pieces import BYTE_ORDER_MARK
from tidelog.io.places import CsvLayout
from tidelog.program.nodes import Relation
from tidelog.values import Codec, Kind
from tidelog.values.arrow import pa

_LARGEST_BLOCK: Final = 2**31 - 1


def is_plain(data: bytes, layout: CsvLayout, kinds: list[Kind]) -> bool:
    """Say whether Arrow cuts the data into fields as we do, if quotes close at the end of their fields."""
    if len(layout.delimiter) != 1 or not layout.delimiter.isascii() or layout.delimiter == "\0":
        return False
    # Arrow drops a byte order mark from the start of every piece, not of the file alone.
    if data.startswith(BYTE_ORDER_MARK):
        return False
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return False
    # Records in fields that are separated by commas need their brackets counted.
    nested = any(kind in (Kind.RECORD, Kind.ADT) for kind in kinds)
    return layout.is_quoted or layout.delimiter != "," or not (nested or b"[" in data or b"$" in data)


def arrow_table(
    data: bytes, relation: Relation, layout: CsvLayout, codec: Codec, kinds: list[Kind]
) -> "pa.Table":
    """Return the columns of lines that `is_plain` accepts; raise what Arrow raises if they are not facts.

    All lines are one block, so that a column of texts is one array of distinct texts and of their numbers.
    """
    import pyarrow.csv  # noqa: PLC0415 - see csv_few

    width = relation.arity if layout.width is None else layout.width
    if layout.positions is not None and layout.width is None:
        width = data.partition(b"\n")[0].count(layout.delimiter.encode()) + 1
        if width <= max(layout.positions):
            raise ArrowMistakeError("the first line has too few columns")
    names = [str(position) for position in range(width)]
    texts = pa.dictionary(pa.int32(), pa.string())
    types = {Kind.NUMBER: pa.int64(), Kind.UNSIGNED: pa.uint64(), Kind.FLOAT: pa.float64()}
    chosen = range(width) if layout.positions is None else layout.positions
    column_types = dict.fromkeys(names, pa.binary())
    for position, kind in zip(chosen, kinds, strict=True):
        column_types[str(position)] = types.get(kind, texts)
    return pyarrow.csv.read_csv(
        pa.BufferReader(data),
        read_options=pyarrow.csv.ReadOptions(
            column_names=names, block_size=min(len(data) + 1, _LARGEST_BLOCK), use_threads=False
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=layout.delimiter,
            quote_char='"' if layout.is_quoted else False,
            newlines_in_values=layout.is_quoted,
            ignore_empty_lines=not has_empty_texts(relation, codec),
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=column_types, null_values=[], strings_can_be_null=False
        ),
    )
