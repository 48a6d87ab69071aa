"""Rows of codes as Parquet files on shared storage: any path that Arrow's file systems know.

Files are never changed. A file appears under its name when it is complete.
"""

import fcntl
import json
import posixpath
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from tidelog.dataclass import dataclass
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
        try:
            self._system, self._path = fs.FileSystem.from_uri(uri)
        except (OSError, pa.ArrowException) as error:
            message = f"`{uri}` cannot be used to keep the state: {error}"
            kinds = "file, hdfs, s3, gs, abfs"
            hint = f"give an absolute path or a URI that Arrow knows ({kinds}), the same on all workers"
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
        path = f"{self._path}/{name}"
        self._system.create_dir(posixpath.dirname(path), recursive=True)
        with self._system.open_output_stream(f"{path}.tmp") as stream:
            pq.write_table(
                table,
                stream,
                use_dictionary=False,
                compression=compression,
                write_statistics=False,
                row_group_size=group_rows,
            )
        self._system.move(f"{path}.tmp", path)
        return name

    def write_tables(self, name: str, schema: pa.Schema, tables: Iterable[pa.Table]) -> int:
        """Write tables to a new file, one after the other, and return how many rows they have.

        No file is written if they have none.
        """
        path, rows = f"{self._path}/{name}", 0
        with ExitStack() as opened:
            writer = None
            for table in tables:
                if writer is None and table.num_rows:
                    self._system.create_dir(posixpath.dirname(path), recursive=True)
                    stream = opened.enter_context(self._system.open_output_stream(f"{path}.tmp"))
                    writer = opened.enter_context(pq.ParquetWriter(stream, schema, compression="lz4"))
                if writer is not None:
                    writer.write_table(table)
                rows += table.num_rows
        if rows:
            self._system.move(f"{path}.tmp", path)
        return rows

    def read_batches(self, name: str, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file in their order, at most so many at a time."""
        with self._system.open_input_file(f"{self._path}/{name}") as stream:
            yield from pq.ParquetFile(stream).iter_batches(rows)

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

    def read_places(
        self, name: str, column: str, places: npt.NDArray[np.int64]
    ) -> Iterator[tuple[pa.ChunkedArray, int]]:
        """Yield the groups of a column that have these rows, each with the number of its first row."""
        with self._system.open_input_file(f"{self._path}/{name}") as stream:
            file, first = pq.ParquetFile(stream), 0
            for group in range(file.metadata.num_row_groups):
                count = file.metadata.row_group(group).num_rows
                if ((places >= first) & (places < first + count)).any():
                    yield file.read_row_group(group, columns=[column]).column(0), first
                first += count

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
        """Write a small file that readers see whole or not at all."""
        self.write_bytes(name, json.dumps(value, indent=1).encode())

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write bytes to a file that appears when it is complete."""
        path = f"{self._path}/{name}"
        self._system.create_dir(posixpath.dirname(path), recursive=True)
        with self._system.open_output_stream(f"{path}.tmp") as stream:
            stream.write(data)
        self._system.move(f"{path}.tmp", path)

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Let nobody else hold this lock; only on a local file system, where the system releases it."""
        if not isinstance(self._system, fs.LocalFileSystem):
            yield
            return
        path = Path(self._path) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

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

    def names(self, under: str) -> list[str]:
        """Return the complete files below a folder, with the folder's name."""
        selector = fs.FileSelector(f"{self._path}/{under}", allow_not_found=True, recursive=True)
        found = self._system.get_file_info(selector)
        start = len(self._path) + 1
        return sorted(
            str(info.path)[start:]
            for info in found
            if info.type is fs.FileType.File and not info.path.endswith(".tmp")
        )

    def sweep(self, kept: Collection[str], older_than_seconds: float) -> int:
        """Delete files of states that are not among these and not new; return how many.

        Files of other kinds may lie in the folder: they are left alone.
        """
        until = time.time() - older_than_seconds
        selector = fs.FileSelector(self._path, allow_not_found=True, recursive=True)
        start, deleted = len(self._path) + 1, 0
        for info in self._system.get_file_info(selector):
            name = str(info.path)[start:]
            is_ours = info.type is fs.FileType.File and _OF_A_STATE.fullmatch(name) is not None
            if is_ours and name not in kept and info.mtime is not None and info.mtime.timestamp() <= until:
                self._system.delete_file(info.path)
                deleted += 1
        return deleted

    def path_of(self, names: Sequence[str]) -> list[str]:
        """Return files as Spark names them."""
        return [f"{self.uri.rstrip('/')}/{name}" for name in names]

    def delete(self, name: str) -> None:
        """Delete a file or folder that is no longer needed."""
        path = f"{self._path}/{name}"
        kind = self._system.get_file_info(path).type
        if kind is fs.FileType.Directory:
            self._system.delete_dir(path)
        elif kind is fs.FileType.File:
            self._system.delete_file(path)
