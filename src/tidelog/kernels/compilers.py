"""Processes that compile kernels for this one, which never loads the compiler."""

import atexit
import marshal
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from tidelog.progress import activity, detail

# How much less urgent it is to compile what nobody waits for.
_NICENESS: Final = 10
_COMMON: Final = Path(__file__).parent / "common.txt"


class Compiler:
    """A process that compiles kernels, one at a time; it starts with the first."""

    def __init__(self, *, is_urgent: bool = True) -> None:
        self._niceness = 0 if is_urgent else _NICENESS
        self._process: subprocess.Popen[bytes] | None = None

    def compile(self, wanted: str) -> tuple[str, bytes]:
        """Return stamp and machine code of a kernel named with types of arguments.

        Both are empty if it cannot be compiled elsewhere.
        """
        # It may have ended since the last time, as it does when nothing is asked for a while.
        for _ in range(2):
            try:
                return self._ask(wanted)
            except (OSError, EOFError, ValueError):
                self.close()
            except BaseException:
                # Its answer must not be taken for that to the next question.
                self.close()
                raise
        return "", b""

    def _ask(self, wanted: str) -> tuple[str, bytes]:
        if self._process is None:
            self._process = start("tidelog.kernels.worker", self._niceness)
        questions, answers = self._process.stdin, self._process.stdout
        assert questions is not None, "it was started with pipes"
        assert answers is not None, "it was started with pipes"
        questions.write(wanted.encode() + b"\n")
        questions.flush()
        stamp, code = marshal.load(answers)  # noqa: S302 - our own process wrote it
        return stamp, code

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            end(self._process)
            self._process = None


def common_kernels() -> list[str]:
    """Return the kernels that programs commonly call, named with types of arguments."""
    return _COMMON.read_text("utf-8").splitlines()


def start(module: str, *arguments: int | str) -> subprocess.Popen[bytes]:
    """Start Python with `main` of a module, where modules are found as they are here."""
    if not sys.executable:
        raise OSError("Python does not know where it is")
    call = f"from {module} import main; main({', '.join(map(repr, arguments))})"
    path = os.pathsep.join(str(each) or os.getcwd() for each in sys.path)  # noqa: PTH109 - text
    return subprocess.Popen(  # noqa: S603 - it runs what is written above
        [sys.executable, "-P", "-c", call],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process and wait for that."""
    process.terminate()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()


class _Own:
    """The compiler of this process, and whoever compiles in the background."""

    def __init__(self) -> None:
        self.compiler = Compiler()
        self.background: subprocess.Popen[bytes] | None = None
        self.of_parents: list[object] = []
        self.compiled = 0

    def close(self) -> None:
        self.compiler.close()
        if self.background is not None:
            end(self.background)
            self.background = None

    def forget(self) -> None:
        """Leave the processes to the parent, in a fork."""
        self.of_parents += [self.compiler, self.background]
        self.compiler, self.background = Compiler(), None


_OWN: Final = _Own()
atexit.register(_OWN.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_OWN.forget)


def compile_elsewhere(wanted: str) -> tuple[str, bytes]:
    """Return stamp and machine code of a kernel that is needed now; the common ones follow meanwhile."""
    _OWN.compiled += 1
    if _OWN.compiled == 1:
        _tell()
    if _OWN.background is None and wanted in common_kernels():
        with suppress(OSError):
            _OWN.background = start("tidelog.kernels.background")
    with activity("compiling kernels, once for this machine"):
        detail(f"{_OWN.compiled}: {wanted.partition(' ')[0].rpartition(':')[2]}")
        return _OWN.compiler.compile(wanted)


def _tell() -> None:
    """Write a line to the log: the first use of a kernel takes seconds."""
    import logging  # noqa: PLC0415 - rarely needed

    logging.getLogger("tidelog").info("compiling kernels, which is done once; they are kept on disk")
