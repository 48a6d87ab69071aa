"""Where machine code is kept: in a file for each kernel and types of arguments.

A wheel brings code in a folder of its own. What is compiled later is kept beside the kernel, where Python
keeps its own compiled files, or, where that cannot be written, in a folder of the user. A file is written
under another name and then renamed, so that nobody reads half of one; a digest tells whether it is whole.
Code of the same kernel that was made of something else is deleted.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from tidelog.kernels.stamp import digest, machine_stamp

# What a wheel brings.
SHIPPED: Final = Path(__file__).parent / "objects"
_MAGIC: Final = b"tidelog kernel 1\n"
_DIGEST: Final = 32


class KernelFile:
    """The file of a kernel for some types of arguments."""

    def __init__(self, function: Callable[..., Any], signature: str, stamp: str) -> None:
        self._beside = Path(function.__code__.co_filename).parent / "__pycache__"
        same = digest(function.__module__, signature, machine_stamp(), size=6)
        self._prefix = f"{function.__module__.rpartition('.')[2]}.{function.__name__}.{same}."
        self._name = f"{self._prefix}{digest(signature, stamp)}.kernel"
        self._heading = f"{function.__module__}:{function.__name__} {signature}\n".encode()

    def read(self) -> bytes | None:
        """Return the code, None if there is none or it is damaged."""
        for folder in (SHIPPED, self._beside, *user_folders()):
            try:
                data = (folder / self._name).read_bytes()
            except OSError:
                continue
            heading, code = _opened(data)
            if heading == self._heading:
                return code
        return None

    def write(self, code: bytes) -> None:
        """Keep the code if any folder can be written to."""
        for folder in self._writable():
            try:
                self.write_to(folder, code)
                self._delete_others(folder)
            except OSError:
                continue
            return

    def write_to(self, folder: Path, code: bytes) -> None:
        """Keep the code in a folder."""
        temporary = folder / f"{self._name}.{os.getpid()}"
        temporary.write_bytes(_MAGIC + digest(self._heading + code).encode() + self._heading + code)
        temporary.replace(folder / self._name)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let one process at a time make the code, if there is a folder to write to."""
        for folder in self._writable():
            lock = folder / f"{self._name}.lock"
            try:
                file = lock.open("wb")
            except OSError:
                continue
            with file:
                _wait_for(file)
                yield
                lock.unlink(missing_ok=True)
            return
        yield

    def _writable(self) -> Iterator[Path]:
        """Yield the folders where code may be kept, if they can be made."""
        for folder in (self._beside, *user_folders()):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError:
                continue
            yield folder

    def _delete_others(self, folder: Path) -> None:
        for other in folder.glob(f"{self._prefix}*.kernel"):
            if other.name != self._name:
                other.unlink(missing_ok=True)


def user_folders() -> tuple[Path, ...]:
    """Return the folder of the user for such files, nothing for a user without a home."""
    try:
        return (Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tidelog"),)
    except RuntimeError:
        return ()


def _wait_for(file: IO[bytes]) -> None:
    """Wait for a file that another process holds; where that is not possible, both make the same code."""
    if sys.platform != "win32":
        import fcntl  # noqa: PLC0415 - not everywhere

        fcntl.flock(file, fcntl.LOCK_EX)


def _opened(data: bytes) -> tuple[bytes, bytes]:
    """Return which kernel and types a file is for, and the code; nothing if it is damaged."""
    begin = len(_MAGIC) + _DIGEST
    if data[:begin] != _MAGIC + digest(data[begin:]).encode():
        return b"", b""
    end = data.index(b"\n", begin) + 1
    return data[begin:end], data[end:]
