"""Batches of orders in files, sorted by a hash of the fact: a few are found without reading all."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidelog.dataclass import dataclass
from tidelog.pipeline.facts import parquet_files

Int64s = npt.NDArray[np.int64]

HASH: Final = "_tidelog_hash"
# What is read to find one fact.
GROUP_ROWS: Final = 4096
# Groups that are in memory at once.
_GROUPS: Final = 64
_ROW: Final = "_tidelog_row"


@dataclass(frozen=True, slots=True)
class _Footer:
    """What is known of a file without its rows: the least and the greatest hash of each group."""

    parts: pq.FileMetaData
    least: Int64s
    greatest: Int64s


class OrderFiles:
    """Reads files of orders in the driver, and remembers their footers."""

    def __init__(self) -> None:
        self._footers: dict[Path, _Footer] = {}

    def find(self, place: Path, hashes: Int64s, schema: pa.Schema) -> pa.Table:
        """Return the rows with one of some hashes, which are sorted.

        Only groups of rows are read that may have one.
        """
        found = [schema.empty_table()]
        wanted = pa.array(hashes)
        for path in parquet_files(place):
            footer = self._footer(path)
            # A group matters if the first hash that is not below its least one is not above its greatest.
            firsts = np.searchsorted(hashes, footer.least)
            groups = np.flatnonzero(firsts < np.searchsorted(hashes, footer.greatest, side="right"))
            with pq.ParquetFile(path, metadata=footer.parts) as file:
                for begin in range(0, groups.size, _GROUPS):
                    rows = file.read_row_groups(groups[begin : begin + _GROUPS].tolist())
                    kept = rows.filter(pc.is_in(rows[HASH], value_set=wanted))
                    found.append(kept.select(schema.names).cast(schema))
        return pa.concat_tables(found)

    def forget(self, places: Sequence[Path]) -> None:
        """Forget the footers of files that are not in one of some folders."""
        kept = set(places)
        self._footers = {path: each for path, each in self._footers.items() if path.parent in kept}

    def _footer(self, path: Path) -> _Footer:
        if path not in self._footers:
            parts = pq.read_metadata(path)
            column = parts.schema.to_arrow_schema().get_field_index(HASH)
            ends = [parts.row_group(each).column(column).statistics for each in range(parts.num_row_groups)]
            least, greatest = (
                np.array([getattr(each, end) for each in ends], np.int64) for end in ("min", "max")
            )
            self._footers[path] = _Footer(parts, least, greatest)
        return self._footers[path]


def write_orders(table: pa.Table, place: Path) -> None:
    """Write orders to one Parquet file in a new folder."""
    place.mkdir(parents=True)
    pq.write_table(table.sort_by(HASH), place / "part-0.parquet", row_group_size=GROUP_ROWS)


def read_orders(place: Path, schema: pa.Schema) -> pa.Table:
    """Return all rows of a folder."""
    tables = [pq.read_table(path).select(schema.names).cast(schema) for path in parquet_files(place)]
    return pa.concat_tables([schema.empty_table(), *tables])


def count_orders(place: Path) -> int:
    """Return how many rows the files of a folder have."""
    return sum(pq.read_metadata(path).num_rows for path in parquet_files(place))


def newest(tables: Sequence[pa.Table], columns: Sequence[str]) -> pa.Table:
    """Return the row of each fact that is in the last of the tables; `columns` are those of facts."""
    together = pa.concat_tables(tables)
    if not columns:
        return together.slice(max(together.num_rows - 1, 0))
    numbered = together.append_column(_ROW, pa.array(np.arange(together.num_rows)))
    rows = numbered.group_by([HASH, *columns]).aggregate([(_ROW, "max")])
    return together.take(rows[f"{_ROW}_max"])
