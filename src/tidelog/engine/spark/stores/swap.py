"""A file that is replaced in one step unless somebody else has replaced it: what commits a state.

A local file is guarded by a lock, which the system releases with the process. S3 writes conditionally.
Elsewhere a lease has to do, see `lease`.
"""

import fcntl
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from pyarrow import fs

from tidelog.engine.spark.stores.lease import Lease
from tidelog.engine.spark.stores.systems import without_secrets
from tidelog.errors import Diagnostic, Severity

# Returns the new content of a file, given the one of now, or None if there is no file; raises if the one of
# now is not what the caller continues. It may be called more than once.
Change = Callable[[bytes | None], bytes]


class Swap(Protocol):
    """Replaces the content of one file."""

    def __call__(self, change: Change) -> None:
        """Replace the content by what `change` makes of it, or raise what it raises and change nothing.

        Raises `OSError` if the file system does not do it.
        """

    @property
    def reason_for_lease(self) -> str | None:
        """Return why only a lease keeps others from writing; None if the file system does.

        Raises `OSError` if it does not answer.
        """


def swap_for(system: fs.FileSystem, path: str) -> Swap:
    """Return what replaces a file in one step, as its file system can."""
    if isinstance(system, fs.LocalFileSystem):
        return LockedFile(Path(path))
    if system.type_name == "s3":
        from tidelog.engine.spark.stores.s3 import conditional_put  # noqa: PLC0415 - only for S3

        return conditional_put(system, path)
    return Lease(system, path, "this file system has no conditional writes that Tidelog knows")


class LockedFile:
    """A file of a local file system, or of one that knows locks."""

    reason_for_lease = None

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, change: Change) -> None:
        """Replace the content while nobody else can."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_suffix(".lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                content = self._path.read_bytes()
            except FileNotFoundError:
                content = None
            beside = self._path.with_name(f"{self._path.name}.tmp")
            beside.write_bytes(change(content))
            beside.replace(self._path)


def lease_warning(uri: str, swap: Swap) -> Diagnostic | None:
    """Return what a user should know of a state that a lease guards, or None if none does."""
    reason = swap.reason_for_lease
    if reason is None:
        return None
    return Diagnostic(
        code="leased-storage",
        message=f"a lease keeps two sessions from committing to `{without_secrets(uri)}` at a time: {reason}",
        hint="let one session at a time work there, or keep the clocks of its machines within 30 seconds",
        severity=Severity.WARNING,
    )
