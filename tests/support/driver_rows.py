"""How many rows come to the driver, counted where they come."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq


@contextmanager
def few_rows_in_driver(most: int) -> Iterator[list[int]]:
    """Raise where the driver reads more rows at once than it may, from Spark or from a file.

    Yields a list that gets the numbers of rows. Those that come as pages of bytes are counted by the page.
    Workers are other processes, and not counted; neither is who reads a file one group of rows after the
    other, for groups do not grow.
    """
    from pyspark.sql.classic.dataframe import DataFrame  # noqa: PLC0415 - an optional package

    seen: list[int] = []

    def counting(count, read):
        def counted(*args, **named):
            found = read(*args, **named)
            seen.append(count(found))
            assert seen[-1] <= most, f"{seen[-1]} rows came to the driver"
            return found

        return counted

    def rows_of(rows):
        pages = [row.page for row in rows if "page" in getattr(row, "__fields__", ())]
        return len(rows) + sum(pa.ipc.open_stream(page).read_all().num_rows for page in pages)

    def rows_of_table(table):
        return table.num_rows

    with (
        patch.object(DataFrame, "collect", counting(rows_of, DataFrame.collect)),
        patch.object(DataFrame, "toArrow", counting(rows_of_table, DataFrame.toArrow)),
        patch.object(DataFrame, "toPandas", counting(len, DataFrame.toPandas)),
        patch.object(pq, "read_table", counting(rows_of_table, pq.read_table)),
        patch.object(pq.ParquetFile, "read", counting(rows_of_table, pq.ParquetFile.read)),
    ):
        yield seen
