"""Folders for files that an attempt writes: one for each process, and gone when the run is over."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

# What is written here survives the death of a process, which is all that is asked of it, at no cost.
_IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - the folders in it have names of their own


@contextmanager
def scratch() -> Iterator[Path]:
    """Let everything temporary lie in one folder, which is deleted at the end with all that is left in it."""
    before = tempfile.tempdir
    place = str(_IN_MEMORY) if os.access(_IN_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory("", "tidelog-torture-", place, ignore_cleanup_errors=True) as folder:
        tempfile.tempdir = folder
        try:
            yield Path(folder)
        finally:
            tempfile.tempdir = before


def own_folder() -> Path:
    """Return a folder that only this process uses, the same one every time."""
    return _folder_of(os.getpid(), tempfile.gettempdir())


@cache
def _folder_of(_process: int, parent: str) -> Path:
    return Path(tempfile.mkdtemp(prefix="tidelog-", dir=parent))
