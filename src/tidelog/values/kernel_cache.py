"""When a kernel that was compiled before may be used, and by whom.

Numba looks at the file of the kernel alone. But a kernel also contains what it calls and the constants it
reads, which stand in other files: with those edited, it would go on computing what they said before. And
two processes that compile a kernel for different arrays at the same time may write to one file, so that
a third would run code made for other arrays; so processes wait for each other.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

try:
    import fcntl
except ImportError:  # pragma: no cover - there is none on Windows, where nothing waits
    fcntl = None  # type: ignore[assignment]

_PACKAGE: Final = Path(__file__).parents[1]
# Where kernels keep what those of other folders are made of.
_SHARED: Final = (_PACKAGE / "values", _PACKAGE / "storage")
_LOCK: Final = "kernels.lock"


class _GuardedFiles:
    """The files of a compiled kernel, read and written by one process at a time."""

    def __init__(self, files: Any, folder: str) -> None:
        self.files = files
        self._lock = os.path.join(folder, _LOCK)  # noqa: PTH118 - Numba's own form

    def load(self, key: object) -> object:
        """Return what was compiled for a signature, None if nothing was."""
        with self._locked():
            return self.files.load(key)

    def save(self, key: object, data: object) -> None:
        """Keep what was compiled for a signature."""
        with self._locked():
            self.files.save(key, data)

    def flush(self) -> None:
        """Forget everything."""
        with self._locked():
            self.files.flush()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            lock = os.open(self._lock, os.O_RDWR | os.O_CREAT)
        except OSError:
            # No such folder yet, or one that cannot be written: then nobody writes.
            yield
            return
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            # Closing it lets it go.
            os.close(lock)


def guard_cache(compiled: Any, function: Callable[..., Any]) -> None:
    """Let what was compiled of a kernel count only while all files it may be made of are as they were.

    These are the files of its own folder and of the folders where shared parts of kernels stand.
    """
    kept = compiled._cache  # noqa: SLF001 - Numba offers no other way
    files = kept._cache_file  # noqa: SLF001 - see above
    folder = Path(function.__code__.co_filename).parent
    files._source_stamp = (files._source_stamp, *map(_stamp, dict.fromkeys((folder, *_SHARED))))  # noqa: SLF001 - see above
    kept._cache_file = _GuardedFiles(files, kept.cache_path)  # noqa: SLF001 - see above


@cache
def _stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return names, times and sizes of the Python files in a folder."""
    with os.scandir(folder) as found:
        files = [(each.name, each.stat()) for each in found if each.name.endswith(".py")]
    return tuple(sorted((name, status.st_mtime_ns, status.st_size) for name, status in files))
