"""Bytes of fact files: found, opened, unpacked."""

import gzip
import sys
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final, cast

from tidelog.io.mistakes import missing_file, unreadable_file
from tidelog.source import Span

_GZIP_START: Final = b"\x1f\x8b"


def existing_file(path: Path, span: Span | None) -> Path:
    """Return the path, or that of its compressed form; neither is a diagnostic."""
    if path.is_file() or path.is_fifo() or path.is_char_device():
        return path
    compressed = path.with_name(path.name + ".gz") if path.name else path
    if compressed.is_file():
        return compressed
    if path.is_dir():
        raise unreadable_file(str(path), "it is a folder", span)
    raise missing_file(path, span)


def is_packed(path: Path) -> bool:
    """Say whether a regular file is packed."""
    with path.open("rb") as stream:
        return stream.read(2) == _GZIP_START


def open_bytes(path: Path | None) -> BinaryIO:
    """Return the bytes of a file, unpacked if they are packed, or those of standard input."""
    if path is None:
        # The stream belongs to the interpreter: closing the copy must not close it.
        return BytesIO(sys.stdin.buffer.read())
    stream = path.open("rb")
    if path.is_file() and stream.peek(2)[:2] == _GZIP_START:
        stream.close()
        return cast("BinaryIO", gzip.open(path, "rb"))
    return stream
