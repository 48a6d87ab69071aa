"""The file system of a URI: one that Arrow knows, or any of fsspec."""

import re
from typing import TYPE_CHECKING, Final

from pyarrow import fs

if TYPE_CHECKING:
    from collections.abc import Sequence

_ARROW: Final = ("file", "s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
_USER: Final = re.compile("://[^/@]*@")
# Where a file must have a folder; elsewhere names just have slashes.
_WITH_FOLDERS: Final = ("local", "hdfs")
# Where a rename is one step. Elsewhere a file is written under its own name.
_RENAMING: Final = ("local", "hdfs")


def open_system(uri: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a URI or an absolute path, and the path there.

    Raises `OSError`, `ValueError`, `ImportError` or an exception of Arrow if there is none.
    """
    scheme, is_uri, rest = uri.partition("://")
    if scheme == "s3a":
        # What Hadoop calls it.
        scheme, uri = "s3", f"s3://{rest}"
    if not is_uri or scheme in _ARROW:
        found, path = fs.FileSystem.from_uri(uri)
        return found, str(path).rstrip("/")
    from fsspec.core import url_to_fs  # noqa: PLC0415 - an optional package

    system, path = url_to_fs(uri)
    return fs.PyFileSystem(_Unbuffered(system)), str(path).rstrip("/")


def without_secrets(uri: str) -> str:
    """Return a URI as messages show it, without what a user and a password may stand for."""
    return _USER.sub("://", uri.partition("?")[0])


def needs_folders(system: fs.FileSystem) -> bool:
    """Say whether the folder of a file must be made before the file."""
    return system.type_name in _WITH_FOLDERS or isinstance(system, fs.PyFileSystem)


def renames(system: fs.FileSystem) -> bool:
    """Say whether a file is better written under another name, and renamed when it is complete."""
    return system.type_name in _RENAMING


def modified_seconds(system: fs.FileSystem, info: fs.FileInfo) -> float | None:
    """Return when a file was written, or None if the file system does not say."""
    if info.mtime is not None:
        return float(info.mtime.timestamp())
    if isinstance(system, fs.PyFileSystem):
        try:
            return float(system.handler.fs.modified(info.path).timestamp())
        except (NotImplementedError, FileNotFoundError):
            return None
    return None


class _Unbuffered(fs.FSSpecHandler):  # type: ignore[misc]
    """A file system of fsspec that is asked anew each time: others write there, too."""

    def get_file_info(self, paths: "Sequence[str]") -> "Sequence[fs.FileInfo]":
        self.fs.invalidate_cache()
        found: Sequence[fs.FileInfo] = super().get_file_info(paths)
        return found

    def get_file_info_selector(self, selector: fs.FileSelector) -> "Sequence[fs.FileInfo]":
        self.fs.invalidate_cache()
        found: Sequence[fs.FileInfo] = super().get_file_info_selector(selector)
        return found
