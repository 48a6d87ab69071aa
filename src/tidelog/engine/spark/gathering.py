"""Facts of a data frame for the driver, with each text only once per page of rows.

Workers find equal texts; the driver receives numbers and the distinct texts they refer to, and looks up
only those in its dictionary.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PAGE_ROWS: Final = 1 << 18

Batches = Iterator[pa.RecordBatch]


def gather(frame: "DataFrame", page_rows: int = _PAGE_ROWS) -> pa.Table:
    """Return the rows of a data frame, its columns of texts dictionary-encoded by workers."""
    from pyspark.sql.types import StringType  # noqa: PLC0415 - Spark is loaded when it is used

    if not any(isinstance(field.dataType, StringType) for field in frame.schema.fields):
        return frame.toArrow()
    rows = frame.mapInArrow(_pages(page_rows), "page binary").collect()
    tables = [pa.ipc.open_stream(pa.py_buffer(row.page)).read_all() for row in rows]
    return pa.concat_tables(tables) if tables else frame.limit(0).toArrow()


def _pages(page_rows: int) -> Callable[[Batches], Batches]:
    """Return the function that workers run; it is sent by value and so needs nothing but Arrow there."""

    def encode(batches: Batches) -> Batches:
        def page(held: list[pa.RecordBatch]) -> pa.RecordBatch:
            table = pa.Table.from_batches(held).combine_chunks()
            for place, field in enumerate(table.schema):
                if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
                    table = table.set_column(place, field.name, table.column(place).dictionary_encode())
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            content = pa.array([sink.getvalue().to_pybytes()], pa.binary())
            return pa.RecordBatch.from_arrays([content], names=["page"])

        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            if rows >= page_rows:
                yield page(held)
                held, rows = [], 0
        if rows:
            yield page(held)

    return encode
