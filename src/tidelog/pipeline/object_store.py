"""A folder in an object store, or in any other file system that Arrow or fsspec knows by its URI.

Nothing is renamed and nothing is appended to: an object is there once it was written whole.
"""

import posixpath
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import fs

from tidelog.engine.spark.stores.swap import Change, Swap, lease_warning, swap_for
from tidelog.engine.spark.stores.systems import (
    modified_seconds,
    needs_folders,
    open_system,
    renames,
    without_secrets,
)
from tidelog.errors import Diagnostic, TidelogError

_PIECE_BYTES: Final = 1 << 22


class ObjectFolder:
    """A folder that is named by a URI such as `s3://bucket/folder`."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._swaps: dict[str, Swap] = {}
        with self._diagnosed():
            self._system, self._path = open_system(uri)

    def read(self, name: str) -> bytes | None:
        """Return the bytes of an object, or None if there is none."""
        with self._diagnosed():
            path = f"{self._path}/{name}"
            if self._system.get_file_info(path).type is not fs.FileType.File:
                return None
            with self._system.open_input_stream(path) as stream:
                return bytes(stream.read())

    def write(self, name: str, data: bytes) -> None:
        """Put an object in the place of the one before: readers get the old or the new one."""
        with self._diagnosed(), self._written(name) as stream:
            stream.write(data)

    def swap(self, name: str, change: Change) -> None:
        """Replace an object by what `change` makes of it, in one step, see `Swap`."""
        with self._diagnosed():
            self._swap(name)(change)

    def lease_warning(self, name: str) -> Diagnostic | None:
        """Return what a user should know if only a lease guards an object."""
        with self._diagnosed():
            return lease_warning(self.uri, self._swap(name))

    def _swap(self, name: str) -> Swap:
        if name not in self._swaps:
            self._swaps[name] = swap_for(self._system, f"{self._path}/{name}")
        return self._swaps[name]

    def upload(self, file: Path, name: str) -> None:
        """Put the content of a file of this machine under a name."""
        with self._diagnosed(), self._written(name) as stream, file.open("rb") as source:
            while piece := source.read(_PIECE_BYTES):
                stream.write(piece)

    def download(self, name: str, file: Path) -> None:
        """Put an object into a file of this machine."""
        file.parent.mkdir(parents=True, exist_ok=True)
        source = f"{self._path}/{name}"
        with self._diagnosed(), self._system.open_input_stream(source) as stream, file.open("wb") as target:
            while piece := stream.read(_PIECE_BYTES):
                target.write(piece)

    def delete(self, name: str) -> None:
        """Delete an object, if it is there."""
        with self._diagnosed():
            path = f"{self._path}/{name}"
            if self._system.get_file_info(path).type is fs.FileType.File:
                self._system.delete_file(path)

    def sweep(self, under: str, kept: Collection[str], older_than_seconds: float) -> None:
        """Delete the objects below a folder that are not among these and not new."""
        until = time.time() - older_than_seconds
        with self._diagnosed():
            for name, info in self._found(under):
                modified = modified_seconds(self._system, info) if name not in kept else None
                if modified is not None and modified <= until:
                    self._system.delete_file(info.path)

    def names(self, under: str = "") -> list[str]:
        """Return the names of all objects below a folder."""
        with self._diagnosed():
            return sorted(name for name, _ in self._found(under))

    def _found(self, under: str) -> list[tuple[str, fs.FileInfo]]:
        start = posixpath.join(self._path, under) if under else self._path
        selector = fs.FileSelector(start, allow_not_found=True, recursive=True)
        found = [info for info in self._system.get_file_info(selector) if info.type is fs.FileType.File]
        cut = len(self._path.lstrip("/")) + 1
        return [(str(info.path).lstrip("/")[cut:], info) for info in found]

    @contextmanager
    def _written(self, name: str) -> Iterator[pa.NativeFile]:
        """Yield a stream whose content is under the name when all of it was written."""
        path = f"{self._path}/{name}"
        if needs_folders(self._system):
            self._system.create_dir(posixpath.dirname(path), recursive=True)
        # A file appears under its name before it is complete; an object does not.
        beside = f"{path}.new" if renames(self._system) else path
        with self._system.open_output_stream(beside) as stream:
            yield stream
        if beside != path:
            self._system.move(beside, path)

    @contextmanager
    def _diagnosed(self) -> Iterator[None]:
        """Raise what a file system says as a diagnostic."""
        try:
            yield
        except (OSError, pa.ArrowException, ImportError, ValueError) as cause:
            words = " ".join(str(cause).split())[:300]
            raise TidelogError([_unreachable(without_secrets(self.uri), words)]) from cause


def _unreachable(uri: str, words: str) -> Diagnostic:
    return Diagnostic(
        code="unwritable-pipeline",
        message=f"`{uri}` cannot be used: {words}",
        hint="check the address and the credentials; schemes that Arrow does not know need fsspec",
    )
