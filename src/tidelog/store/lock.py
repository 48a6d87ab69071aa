"""The lock that keeps a second writer out."""

import os
import socket
import time
from pathlib import Path
from typing import Final

from tidelog.store import mistakes

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

# A reader holds the lock for some milliseconds while it looks at the log.
_TRIES: Final = 10
_WAIT_SECONDS: Final = 0.02


class Lock:
    """A lock on a store's folder: one writer, or readers that look at the log just now.

    The system releases it when the process ends, however it ends.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def take(cls, store: Path, file: Path) -> "Lock":
        """Return the writer's lock, or raise with the name of the process that has it."""
        handle = _open(file)
        for _ in range(_TRIES):
            if _try(handle, is_shared=False):
                break
            time.sleep(_WAIT_SECONDS)
        else:
            writer = os.pread(handle, 1000, 0).decode(errors="replace").strip()
            os.close(handle)
            raise mistakes.in_use(store, writer or "another process")
        lock = cls(handle)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        return lock

    @classmethod
    def look(cls, file: Path) -> "Lock | None":
        """Return a reader's lock, None while there is a writer or if the file cannot be opened."""
        try:
            handle = os.open(file, os.O_RDONLY)
        except OSError:
            return None
        if _try(handle, is_shared=True):
            return cls(handle)
        os.close(handle)
        return None

    def write(self, text: str) -> None:
        """Say who holds the lock; on a full disk the lock holds as well without it."""
        try:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, text.encode(), 0)
        except OSError:
            return

    def release(self) -> None:
        """Let others in."""
        os.close(self._handle)


def _open(file: Path) -> int:
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as cause:
        raise mistakes.unwritable(file, cause) from cause


def _try(handle: int, *, is_shared: bool) -> bool:
    if fcntl is None:  # pragma: no cover - Windows
        raise mistakes.unsupported()
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
