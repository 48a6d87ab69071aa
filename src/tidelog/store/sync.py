"""Files that are on the disk when the function that wrote them returns."""

import os
from hashlib import blake2b
from pathlib import Path
from typing import Final

DIGEST_BYTES: Final = 16


def digest(*parts: bytes | memoryview) -> bytes:
    """Return the checksum of parts that follow one another."""
    sums = blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        sums.update(part)
    return sums.digest()


def write_all(handle: int, data: bytes | memoryview, offset: int) -> None:
    """Write all the data at the offset; an `OSError` may leave some of it there."""
    view = memoryview(data)
    while view:
        written = os.pwrite(handle, view, offset)
        view, offset = view[written:], offset + written


def write_file(path: Path, data: bytes | memoryview) -> None:
    """Write a file and wait for the disk; its name is safe after `sync_folder`."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        write_all(handle, data, 0)
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_file(path: Path, data: bytes) -> None:
    """Put a file in the place of another: after a crash either the old or the new one is there."""
    beside = path.with_name(path.name + ".new")
    write_file(beside, data)
    beside.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names of a folder's files are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_data(handle: int) -> None:
    """Wait until the content of an open file is on the disk."""
    getattr(os, "fdatasync", os.fsync)(handle)
