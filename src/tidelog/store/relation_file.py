"""Relations as Parquet files: a column per column, and the annotations of every fact.

Numbers, unsigned and floats are written as what they are; symbols, records and branches as their
codes, which the dictionary files explain: texts would take longer to write and, since each has to
find its code again, many times as long to load. The annotations are called `@level`, `@count` and
`@input`, names that no column can have.
"""

import json
import os
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import IO, Final, Self

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import RelationState
from tidelog.program.nodes import Relation
from tidelog.store.sync import DIGEST_BYTES
from tidelog.values import Codec, Codes, Kind
from tidelog.values.arrow import pa, pq
from tidelog.values.arrow_numbers import numbers_of
from tidelog.values.codes import codes_to_floats, codes_to_unsigneds

ANNOTATIONS: Final = ("@level", "@count", "@input")


@dataclass(frozen=True)
class RelationFile:
    """What is going to stand in a relation's file: its columns, with names and kinds."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    arrays: tuple[npt.NDArray[np.generic], ...]

    @classmethod
    def of(cls, state: RelationState, relation: Relation | None, codec: Codec) -> "RelationFile":
        """Return the columns of a state.

        A relation that the program does not declare was made by a pass; its columns are plain codes.
        """
        names = tuple(column.name for column in relation.columns) if relation is not None else ()
        kinds = (
            tuple(codec.resolve(column.type).kind for column in relation.columns)
            if relation is not None
            else ()
        )
        if len(names) != len(state.columns):
            names = tuple(f"c{place}" for place in range(len(state.columns)))
            kinds = (Kind.NUMBER,) * len(names)
        values = [_values(codes, kind) for codes, kind in zip(state.columns, kinds, strict=True)]
        return cls((*names, *ANNOTATIONS), kinds, (*values, state.levels, state.counts, state.is_input))

    def content(self) -> str:
        """Return a checksum of the columns, by which an unchanged relation is known."""
        sums = blake2b(repr((self.names, self.kinds)).encode(), digest_size=DIGEST_BYTES)
        for array in self.arrays:
            sums.update(f"{array.dtype} {array.size} ".encode())
            sums.update(np.ascontiguousarray(array).view(np.uint8).data)
        return sums.hexdigest()

    def write(self, path: Path) -> bytes:
        """Write the columns to a file, safe on the disk; return the file's checksum."""
        table = pa.table([pa.array(array) for array in self.arrays], names=list(self.names))
        described = json.dumps([kind.value for kind in self.kinds]).encode()
        return _write(path, table.replace_schema_metadata({b"tidelog": described}), ANNOTATIONS)


def read_relation(data: "pa.Buffer") -> RelationState:
    """Return the state that a file's content holds."""
    table = _read(data)
    *columns, levels, counts, is_input = (column.combine_chunks() for column in table.columns)
    return RelationState(
        [_codes(column) for column in columns],
        numbers_of(levels).view(np.int32),
        numbers_of(counts).view(np.int32),
        numbers_of(is_input).view(np.bool_),
    )


def write_symbols(path: Path, first: int, codec: Codec) -> tuple[bytes, int]:
    """Write the texts from a code on, one per row; return the file's checksum and how many."""
    codes = np.arange(first, len(codec.symbols))
    texts = codec.symbols.to_arrow(codes).cast(pa.large_string())
    return _write(path, pa.table({"code": codes, "text": texts}), []), codes.size


def read_symbols(data: "pa.Buffer") -> "pa.ChunkedArray":
    """Return the texts of a file's content."""
    return _read(data, ["text"]).column(0)


def write_records(path: Path, first: int, codec: Codec) -> tuple[bytes, int]:
    """Write the rows from a code on, each a list of codes; return the file's checksum and how many."""
    widths, fields = codec.records.rows_from(first)
    offsets = np.concatenate([[0], np.cumsum(widths)])
    rows = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pa.array(fields))
    codes = np.arange(first, first + widths.size)
    return _write(path, pa.table({"code": codes, "fields": rows}), []), codes.size


def read_records(data: "pa.Buffer") -> tuple[Codes, Codes]:
    """Return the widths of a file's rows and their fields one after another."""
    widths: list[Codes] = [np.empty(0, np.int64)]
    fields: list[Codes] = [np.empty(0, np.int64)]
    for chunk in _read(data, ["fields"]).column(0).chunks:
        widths.append(numbers_of(chunk.value_lengths()).astype(np.int64))
        fields.append(numbers_of(chunk.flatten()).view(np.int64))
    return np.concatenate(widths), np.concatenate(fields)


def _read(data: "pa.Buffer", columns: list[str] | None = None) -> "pa.Table":
    """Return a file's content; `read_table` would load what data sets of many files need."""
    return pq.ParquetFile(pa.BufferReader(data)).read(columns, use_threads=False)


def _values(codes: Codes, kind: Kind) -> npt.NDArray[np.generic]:
    match kind:
        case Kind.UNSIGNED:
            return codes_to_unsigneds(codes)
        case Kind.FLOAT:
            return codes_to_floats(codes)
        case _:
            is_narrow = codes.size == 0 or (codes.min() >= -(2**31) and codes.max() < 2**31)
            return codes.astype(np.int32) if is_narrow else codes


def _codes(column: "pa.Array") -> Codes:
    values = numbers_of(column)
    if pa.types.is_int32(column.type):
        return np.asarray(values, dtype=np.int64)
    codes: Codes = values.view(np.int64)
    return codes


def _write(path: Path, table: "pa.Table", repeated: Sequence[str]) -> bytes:
    """Write a table; the columns named `repeated` hold few distinct values."""
    with path.open("wb") as file:
        sink = _Summing(file)
        pq.write_table(
            table,
            pa.PythonFile(sink, mode="w"),
            compression="lz4",
            use_dictionary=list(repeated),
            write_statistics=False,
            store_schema=False,
        )
        file.flush()
        os.fsync(file.fileno())
    return sink.digest()


class _Summing:
    """A file that keeps the checksum of what is written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._sums = blake2b(digest_size=DIGEST_BYTES)
        self.closed = False

    def write(self, data: bytes) -> int:
        """Write and sum."""
        self._sums.update(data)
        return self._file.write(data)

    def digest(self) -> bytes:
        """Return the checksum of everything written."""
        return self._sums.digest()

    def tell(self) -> int:
        """Return the place behind what is written."""
        return self._file.tell()

    def flush(self) -> None:
        """Hand what is written to the system."""
        self._file.flush()

    def close(self) -> None:
        """Stay open: the caller still waits for the disk."""

    def __enter__(self) -> Self:
        return self
