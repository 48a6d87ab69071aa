"""A folder in an object store, or in any other file system that Arrow or fsspec knows by its URI.

Nothing is renamed and nothing is appended to: an object is there once it was written whole.
"""

import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import fs

from tidelog.errors import Diagnostic, TidelogError

_ARROW: Final = ("file", "s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
_PIECE_BYTES: Final = 1 << 22


class ObjectFolder:
    """A folder that is named by a URI such as `s3://bucket/folder`."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        with self._diagnosed():
            self._system, path = _open(uri)
        self._path = path.rstrip("/")

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

    def names(self, under: str = "") -> list[str]:
        """Return the names of all objects below a folder."""
        with self._diagnosed():
            start = posixpath.join(self._path, under) if under else self._path
            selector = fs.FileSelector(start, allow_not_found=True, recursive=True)
            found = [info for info in self._system.get_file_info(selector) if info.type is fs.FileType.File]
            cut = len(self._path.lstrip("/")) + 1
            return sorted(str(info.path).lstrip("/")[cut:] for info in found)

    @contextmanager
    def _written(self, name: str) -> Iterator[pa.NativeFile]:
        """Yield a stream whose content is under the name when all of it was written."""
        path = f"{self._path}/{name}"
        is_local = isinstance(self._system, fs.LocalFileSystem)
        if is_local or self._system.type_name == "hdfs":
            self._system.create_dir(posixpath.dirname(path), recursive=True)
        beside = f"{path}.new" if is_local else path
        with self._system.open_output_stream(beside) as stream:
            yield stream
        if is_local:
            # A file appears under its name before it is complete; elsewhere it does not.
            self._system.move(beside, path)

    @contextmanager
    def _diagnosed(self) -> Iterator[None]:
        """Raise what a file system says as a diagnostic."""
        try:
            yield
        except (OSError, pa.ArrowException, ImportError, ValueError) as cause:
            words = " ".join(str(cause).split())[:300]
            raise TidelogError([_unreachable(self.uri, words)]) from cause


def _open(uri: str) -> tuple[fs.FileSystem, str]:
    scheme = uri.partition("://")[0]
    if scheme in _ARROW:
        found, path = fs.FileSystem.from_uri(uri)
        return found, str(path)
    from fsspec.core import url_to_fs  # noqa: PLC0415 - an optional package

    system, path = url_to_fs(uri)
    return fs.PyFileSystem(fs.FSSpecHandler(system)), str(path)


def _unreachable(uri: str, words: str) -> Diagnostic:
    return Diagnostic(
        code="unwritable-pipeline",
        message=f"`{uri}` cannot be used: {words}",
        hint="check the address and the credentials; schemes that Arrow does not know need fsspec",
    )
