"""Rows of codes as Parquet files on shared storage: any place that Arrow or fsspec knows.

Files are never changed, each has a name of its own, and they count when a manifest names them. The manifest
is what is replaced.
"""

import json
import posixpath
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from tidelog.dataclass import dataclass
from tidelog.engine.spark.stores.swap import Change, Swap, lease_warning, swap_for
from tidelog.engine.spark.stores.systems import (
    modified_seconds,
    needs_folders,
    open_system,
    renames,
    without_secrets,
)
from tidelog.errors import Diagnostic, TidelogError
from tidelog.storage.kernel import CodeArray, Int32s

# The file that names all others of a state.
MANIFEST: Final = "manifest.json"
# Names of the files that a manifest may name, and of those that were never completed.
_OF_A_STATE: Final = re.compile(
    r"(?:[^/]+/[0-9]+/[^/]+\.parquet|(?:symbols|records|numbers)/[^/]+\.json|checkpoints/.+\.json)(?:\.tmp)?"
)


@dataclass(frozen=True)
class Annotated:
    """Rows with their annotations, where they have any."""

    rows: CodeArray
    levels: Int32s | None = None
    counts: Int32s | None = None


def file_name(relation: str, partner: int, name: str) -> str:
    """Return the name of the file to which a partner writes its part of a relation."""
    return f"{quote(relation, safe='')}/{partner}/{name}.parquet"


class Folder:
    """A folder on shared storage, named by a path or a URI such as `hdfs://host/folder`."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._swaps: dict[str, Swap] = {}
        try:
            self._system, self._path = open_system(uri)
        except (OSError, ValueError, ImportError, pa.ArrowException) as error:
            message = f"`{without_secrets(uri)}` cannot be used to keep the state: {error}"
            kinds = "file, hdfs, s3, gs, abfs"
            hint = f"give an absolute path or a URI of Arrow ({kinds}) or fsspec, the same on all workers"
            raise TidelogError([Diagnostic(code="spark-no-storage", message=message, hint=hint)]) from error

    def write_rows(self, name: str, content: Annotated) -> str:
        """Write rows to a new file and return its name."""
        rows = content.rows
        columns: dict[str, Any] = {
            f"c{place}": np.ascontiguousarray(rows[:, place]) for place in range(rows.shape[1])
        }
        if not rows.shape[1]:
            columns["none"] = np.zeros(rows.shape[0], np.int8)
        if content.levels is not None and content.counts is not None:
            columns["level"] = content.levels
            columns["count"] = content.counts
        # Codes rarely repeat enough to compress well; plain pages are written and read at memory speed.
        return self.write_table(name, pa.table(columns), compression="none")

    def write_table(
        self, name: str, table: pa.Table, *, compression: str, group_rows: int | None = None
    ) -> str:
        """Write an Arrow table to a new file and return its name."""
        with self._new_file(name) as stream:
            pq.write_table(
                table,
                stream,
                use_dictionary=False,
                compression=compression,
                write_statistics=False,
                row_group_size=group_rows,
            )
        return name

    def write_tables(self, name: str, schema: pa.Schema, tables: Iterable[pa.Table]) -> int:
        """Write tables to a new file, one after the other, and return how many rows they have.

        No file is written if they have none.
        """
        rows = 0
        with ExitStack() as opened:
            writer = None
            for table in tables:
                if writer is None and table.num_rows:
                    stream = opened.enter_context(self._new_file(name))
                    writer = opened.enter_context(pq.ParquetWriter(stream, schema, compression="lz4"))
                if writer is not None:
                    writer.write_table(table)
                rows += table.num_rows
        return rows

    def read_batches(
        self, name: str, rows: int, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file in their order, at most so many at a time: all columns, or these."""
        with self._system.open_input_file(f"{self._path}/{name}") as stream:
            yield from pq.ParquetFile(stream).iter_batches(rows, columns=columns)

    def read_table(self, name: str, columns: list[str]) -> pa.Table:
        """Return columns of a file."""
        with self._system.open_input_file(f"{self._path}/{name}") as stream:
            return pq.read_table(stream, columns=columns)

    def read_groups(self, name: str, column: str) -> Iterator[pa.ChunkedArray]:
        """Yield a column of a file, a group of rows at a time."""
        with self._system.open_input_file(f"{self._path}/{name}") as stream:
            file = pq.ParquetFile(stream)
            for group in range(file.metadata.num_row_groups):
                yield file.read_row_group(group, columns=[column]).column(0)

    def read_group(self, name: str, column: str, group: int) -> pa.ChunkedArray:
        """Return a column of one group of rows of a file."""
        with self._system.open_input_file(f"{self._path}/{name}") as stream:
            return pq.ParquetFile(stream).read_row_group(group, columns=[column]).column(0)

    def read_rows(
        self, name: str, arity: int, codes: Mapping[int, int] | None = None, group: int | None = None
    ) -> Annotated:
        """Return the rows of a file: all, those of one group, or those that have codes in these columns."""
        wanted = [(f"c{place}", "==", code) for place, code in (codes or {}).items()]
        with self._system.open_input_file(f"{self._path}/{name}") as stream:
            if group is not None:
                table = pq.ParquetFile(stream).read_row_group(group)
            else:
                table = pq.read_table(stream, filters=wanted or None)
        columns = [table.column(f"c{place}").to_numpy() for place in range(arity)]
        width = np.result_type(*columns) if columns else np.dtype(np.int32)
        rows: CodeArray = np.empty((table.num_rows, arity), width)
        for place, column in enumerate(columns):
            rows[:, place] = column
        if "level" not in table.column_names:
            return Annotated(rows)
        return Annotated(rows, table.column("level").to_numpy(), table.column("count").to_numpy())

    def count_rows(self, name: str) -> int:
        """Return how many rows a file has; only its footer is read."""
        with self._system.open_input_file(f"{self._path}/{name}") as stream:
            return int(pq.ParquetFile(stream).metadata.num_rows)

    def count_groups(self, name: str) -> int:
        """Return in how many groups the rows of a file are; only its footer is read."""
        with self._system.open_input_file(f"{self._path}/{name}") as stream:
            return int(pq.ParquetFile(stream).metadata.num_row_groups)

    def write_json(self, name: str, value: object) -> None:
        """Write a small file."""
        self.write_bytes(name, json.dumps(value, indent=1).encode())

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write bytes to a new file."""
        with self._new_file(name) as stream:
            stream.write(data)

    @contextmanager
    def _new_file(self, name: str) -> Iterator[pa.NativeFile]:
        """Yield a stream whose content is under the name when all of it was written.

        After a failure a part of it may be there, which nothing names.
        """
        path = f"{self._path}/{name}"
        if needs_folders(self._system):
            self._system.create_dir(posixpath.dirname(path), recursive=True)
        beside = f"{path}.tmp" if renames(self._system) else path
        with self._system.open_output_stream(beside) as stream:
            yield stream
        if beside != path:
            self._system.move(beside, path)

    def swap(self, name: str, change: Change) -> None:
        """Replace a file by what `change` makes of it, in one step, see `Swap`."""
        try:
            self._swap(name)(change)
        except OSError as error:
            message = f"`{without_secrets(self.uri)}` does not take `{name}`: {error}"
            hint = "check that it can be reached and written to; nothing was committed"
            raise TidelogError([Diagnostic(code="spark-no-storage", message=message, hint=hint)]) from error

    def lease_warning(self, name: str) -> Diagnostic | None:
        """Return what a user should know if only a lease guards a file."""
        return lease_warning(self.uri, self._swap(name))

    def _swap(self, name: str) -> Swap:
        if name not in self._swaps:
            self._swaps[name] = swap_for(self._system, f"{self._path}/{name}")
        return self._swaps[name]

    def read_json(self, name: str) -> Any:
        """Return the content of a small file, or None if there is no such file."""
        data = self.read_bytes(name)
        return None if data is None else json.loads(data)

    def read_bytes(self, name: str) -> bytes | None:
        """Return the bytes of a file, or None if there is no such file."""
        path = f"{self._path}/{name}"
        if self._system.get_file_info(path).type is fs.FileType.NotFound:
            return None
        with self._system.open_input_stream(path) as stream:
            data: bytes = stream.read()
        return data

    def schema(self, name: str) -> pa.Schema:
        """Return the columns of a file; only its footer is read."""
        with self._system.open_input_file(f"{self._path}/{name}") as stream:
            return pq.read_schema(stream)

    def names(self, under: str) -> list[str]:
        """Return the complete files below a folder, with the folder's name."""
        selector = fs.FileSelector(f"{self._path}/{under}", allow_not_found=True, recursive=True)
        found = self._system.get_file_info(selector)
        return sorted(
            self._name(info)
            for info in found
            if info.type is fs.FileType.File and not info.path.endswith(".tmp")
        )

    def _name(self, info: fs.FileInfo) -> str:
        """Return the name of a file below this folder; not every file system keeps a slash at the start."""
        return str(info.path).lstrip("/")[len(self._path.lstrip("/")) + 1 :]

    def sweep(self, kept: Collection[str], older_than_seconds: float) -> int:
        """Delete files of states that are not among these and not new; return how many.

        Files of other kinds may lie in the folder: they are left alone.
        """
        until = time.time() - older_than_seconds
        selector = fs.FileSelector(self._path, allow_not_found=True, recursive=True)
        deleted = 0
        for info in self._system.get_file_info(selector):
            name = self._name(info)
            if info.type is not fs.FileType.File or name in kept or not _OF_A_STATE.fullmatch(name):
                continue
            modified = modified_seconds(self._system, info)
            if modified is not None and modified <= until:
                self._system.delete_file(info.path)
                deleted += 1
        return deleted

    def paths_for_spark(self, names: Sequence[str]) -> list[str] | None:
        """Return files as Spark names them, or None if Spark may not know the place, or not by this name."""
        if self._system.type_name not in {"local", "hdfs"} or "?" in self.uri:
            return None
        return [f"{self.uri.rstrip('/')}/{name}" for name in names]

    def delete(self, name: str) -> None:
        """Delete a file or folder that is no longer needed."""
        path = f"{self._path}/{name}"
        kind = self._system.get_file_info(path).type
        if kind is fs.FileType.Directory:
            self._system.delete_dir(path)
        elif kind is fs.FileType.File:
            self._system.delete_file(path)
