"""Facts on the way between an engine, Arrow and Parquet files."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidelog.dataclass import dataclass
from tidelog.program.nodes import Program, Relation
from tidelog.store.sync import sync_folder
from tidelog.values import Kind

# A relation without columns is published with this one, which is true if the relation holds.
HOLDS: Final = "holds"
_ARROW: Final = {Kind.NUMBER: pa.int64(), Kind.UNSIGNED: pa.uint64(), Kind.FLOAT: pa.float64()}
_DIFF: Final = "diff of a fact"


class SourceFacts(Protocol):
    """Facts of one relation, on the driver or on Spark."""

    def count(self) -> int:
        """Return how many facts there are."""

    def write(self, folder: Path) -> None:
        """Write them to Parquet files in a new folder."""


@dataclass(frozen=True, slots=True)
class ArrowFacts:
    """Facts in the memory of the driver."""

    table: pa.Table

    def count(self) -> int:
        """Return how many facts there are."""
        return int(self.table.num_rows)

    def write(self, folder: Path) -> None:
        """Write them to one Parquet file in a new folder."""
        folder.mkdir(parents=True)
        pq.write_table(self.table, folder / "part-0.parquet")


def published_columns(relation: Relation, program: Program) -> tuple[tuple[str, str], ...]:
    """Return the columns that a published relation has: names and kinds of values."""
    if not relation.columns:
        return ((HOLDS, "boolean"),)
    return tuple((column.name, program.kind_of(column.type).value) for column in relation.columns)


def feed_names(columns: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return what the feed's columns for the op and the epoch are called, beside the relation's own."""
    taken = {name for name, _ in columns}
    return _free("op", taken), _free("epoch", taken)


def arrow_schema(columns: Sequence[tuple[str, str]]) -> pa.Schema:
    """Return the Arrow types of a published relation's columns."""
    return pa.schema([(name, _arrow_type(kind)) for name, kind in columns])


def read_facts(folder: Path, columns: Sequence[tuple[str, str]]) -> pa.Table:
    """Return the rows of all Parquet files of a folder, in Tidelog's types."""
    schema = arrow_schema(columns)
    tables = [pq.read_table(file, columns=schema.names).cast(schema) for file in parquet_files(folder)]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder."""
    return sorted(path for path in folder.glob("*.parquet") if not path.name.startswith(("_", ".")))


def sync_files(folder: Path) -> None:
    """Wait until the files of a folder are on the disk, whoever wrote them."""
    for file in folder.iterdir():
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    sync_folder(folder)


def subtract(left: pa.Table, right: pa.Table) -> pa.Table:
    """Return the facts of `left` that are not in `right`; each table has every fact once."""
    return _summed([(left, 1), (right, -1)], 1)


def add_up(parts: Sequence[tuple[pa.Table, int]]) -> tuple[pa.Table, pa.Table]:
    """Return the facts whose diffs sum up to 1 and those whose diffs sum up to -1."""
    return _summed(parts, 1), _summed(parts, -1)


def _summed(parts: Sequence[tuple[pa.Table, int]], wanted: int) -> pa.Table:
    schema = parts[0][0].schema
    tables = [part.append_column(_DIFF, pa.array([diff] * part.num_rows, pa.int64())) for part, diff in parts]
    together = pa.concat_tables(tables)
    summed = together.group_by(schema.names).aggregate([(_DIFF, "sum")])
    kept = summed.filter(pc.equal(summed[f"{_DIFF}_sum"], wanted))
    return kept.select(schema.names).cast(schema)


def _arrow_type(kind: str) -> pa.DataType:
    if kind == "boolean":
        return pa.bool_()
    return _ARROW.get(Kind(kind), pa.string())


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
