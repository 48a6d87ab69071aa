"""Facts from few lines of text, in less time than it takes to load Arrow."""

from typing import Final

import numpy as np

from tidelog.io.csv_careful import has_empty_texts
from tidelog.io.places import CsvLayout
from tidelog.program.nodes import Relation
from tidelog.values import Codec, Codes, TextError

FEW_BYTES: Final = 1 << 15


def read_few(data: bytes, relation: Relation, layout: CsvLayout, codec: Codec) -> list[Codes] | None:
    """Return the codes of the facts in lines, or None if the careful reader must look at them.

    Requires fields without quotes. Texts get their codes column by column, as Arrow reads them.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    if not has_empty_texts(relation, codec):
        lines = [line for line in lines if line]
    rows = [line.split(layout.delimiter) for line in lines]
    positions = range(relation.arity) if layout.positions is None else layout.positions
    width = relation.arity if layout.positions is None else max(positions, default=-1) + 1
    if layout.width is not None:
        width = layout.width
    is_exact = layout.width is not None or layout.positions is None
    if any(len(row) < width or (is_exact and len(row) > width) for row in rows):
        return None
    try:
        return [
            np.array([codec.parse(row[position], column.type) for row in rows], dtype=np.int64)
            for position, column in zip(positions, relation.columns, strict=True)
        ]
    except TextError:
        return None
