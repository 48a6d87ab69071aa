"""Cases tried in a forked child that may neither hang nor grow, and whose death is noticed."""

import faulthandler
import gc
import json
import mmap
import os
import re
import resource
import select
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Final, TypeVar

Case = TypeVar("Case")

HANG: Final = "hang"
# A computation is stopped by its processor time, which a busy machine does not stretch. Waiting takes
# none: a child that waits for a multiple of the limit is killed, and so is one that computes on and on.
_PATIENCE: Final = 3
_POLL_SECONDS: Final = 0.5
_PROGRESS_BYTES: Final = 8
_PACKAGE: Final = f"{os.sep}src{os.sep}tidelog{os.sep}"
_FRAME: Final = re.compile(r'File "(.+)", line (\d+) in (.+)')
# Libraries reserve more address space than they ever use, so that the limit on it is a wide one.
_RESERVED_BYTES: Final = 2 << 30
# What these say depends on where the limit was met, and not on where the mistake is.
_MEMORY: Final = "MemoryError"
_ANYWHERE: Final = frozenset({HANG, _MEMORY, "RecursionError"})


@dataclass(frozen=True, slots=True)
class Limits:
    """What one case may use."""

    seconds: float = 10.0
    extra_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Fault:
    """What a case did: an exception or a hang and where, or the signal that ended the process."""

    what: str
    where: str = ""
    message: str = ""

    @property
    def signature(self) -> tuple[str, str]:
        """Return what two cases of one mistake have in common."""
        return self.what, "" if self.what in _ANYWHERE else self.where

    def __str__(self) -> str:
        place = f" at {self.where}" if self.where else ""
        words = f": {self.message}" if self.message else ""
        return f"{self.what}{place}{words}"


class _TooSlowError(BaseException):
    """Raised in a case that takes too long; no handler of ordinary exceptions holds it up."""


def try_cases(
    attempt: Callable[[Case], object],
    cases: Sequence[Case],
    limits: Limits,
    deadline: float = float("inf"),
) -> Iterator[tuple[int, Fault | None]]:
    """Try the cases one after the other until the deadline; yield the position of every fault.

    The last pair has the number of the cases that were tried, and no fault. After a case that ends
    its process the next ones go on in another.
    """
    begin = 0
    while begin < len(cases):
        child = _Child(attempt, cases, begin, limits, deadline)
        try:
            yield from child.faults()
        finally:
            child.end()
        if child.tried is not None:
            yield child.tried, None
            return
        begin = child.position + 1
    yield len(cases), None


class _Child:
    """A forked process that tries cases, seen from its parent."""

    def __init__(
        self,
        attempt: Callable[[Case], object],
        cases: Sequence[Case],
        begin: int,
        limits: Limits,
        deadline: float,
    ) -> None:
        self.tried: int | None = None
        self._has_stopped = False
        self._limits = limits
        self._progress = mmap.mmap(-1, _PROGRESS_BYTES)
        self._note(begin)
        self._reading, writing = os.pipe()
        self._last_words = os.memfd_create("last words")
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._reading)
            self._live(attempt, cases, begin, writing, deadline)
        os.close(writing)

    @property
    def position(self) -> int:
        """Return the position of the case that is being tried, or was when the child died."""
        return int.from_bytes(self._progress[:], "little")

    def _note(self, position: int) -> None:
        self._progress[:] = position.to_bytes(_PROGRESS_BYTES, "little")

    def faults(self) -> Iterator[tuple[int, Fault]]:
        """Yield what the child reports; its own end, unless it is done, is a fault too."""
        held = b""
        position, since, before = self.position, time.monotonic(), 0.0
        while True:
            ready, _, _ = select.select([self._reading], [], [], _POLL_SECONDS)
            if ready:
                read = os.read(self._reading, 1 << 16)
                if not read:
                    break
                *lines, held = (held + read).split(b"\n")
                for line in lines:
                    yield from self._report(json.loads(line))
                # Whoever got the report may have taken long over it.
                since = time.monotonic()
            is_running, used = self._activity()
            if self.position != position:
                position, since, before = self.position, time.monotonic(), used
            elif is_running and used - before < self._limits.seconds * _PATIENCE:
                since = time.monotonic()
            elif time.monotonic() - since > self._limits.seconds * _PATIENCE:
                os.kill(self._pid, signal.SIGKILL)
                yield position, Fault(HANG, message="the process had to be killed")
                return
        if self.tried is None and not self._has_stopped:
            yield self.position, self._death()

    def _activity(self) -> tuple[bool, float]:
        """Return whether the child computes, or would if it were let, and its processor seconds."""
        fields = Path(f"/proc/{self._pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return fields[0] == "R", (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _report(self, report: dict[str, str | int]) -> Iterator[tuple[int, Fault]]:
        if "tried" in report:
            self.tried = int(report["tried"])
            return
        self._has_stopped = self._has_stopped or bool(report["is_last"])
        words = [str(report[key]) for key in ("what", "where", "message")]
        yield int(report["position"]), Fault(*words)

    def _death(self) -> Fault:
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        code = os.waitstatus_to_exitcode(status)
        what = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit {code}"
        # What a library said before it gave up, then what faulthandler wrote.
        size = os.fstat(self._last_words).st_size
        words = os.pread(self._last_words, size, 0).decode(errors="replace")
        said, _, stack = words.partition("Fatal Python error")
        frames = _FRAME.findall(stack)
        ours = [frame for frame in frames if _PACKAGE in frame[0]] or frames
        lines = said.splitlines()
        return Fault(what, _place(*ours[0]) if ours else "", lines[-1][:200] if lines else "")

    def end(self) -> None:
        """End the child, whatever it does."""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0
        os.close(self._reading)
        os.close(self._last_words)

    # --- in the child --------------------------------------------------------------------------

    def _live(
        self,
        attempt: Callable[[Case], object],
        cases: Sequence[Case],
        begin: int,
        writing: int,
        deadline: float,
    ) -> None:
        status = 1
        try:
            parent = os.getppid()
            _confine(self._limits, self._last_words)
            peak = _peak_bytes() + self._limits.extra_bytes
            tried = begin
            for tried in range(begin, len(cases)):
                if time.monotonic() > deadline or os.getppid() != parent:
                    break
                self._note(tried)
                os.ftruncate(self._last_words, 0)
                os.lseek(self._last_words, 0, os.SEEK_SET)
                fault = _try(attempt, cases[tried], self._limits)
                is_last = _peak_bytes() > peak
                if is_last and fault is None:
                    fault = Fault(_MEMORY, message=f"took more than {self._limits.extra_bytes >> 20} MiB")
                if fault is not None:
                    _tell(writing, {"position": tried, "is_last": is_last, **asdict(fault)})
                if is_last:
                    # The peak does not sink again, so that another process has to go on.
                    return
            else:
                tried = len(cases)
            _tell(writing, {"tried": tried})
            status = 0
        finally:
            os._exit(status)


def _confine(limits: Limits, last_words: int) -> None:
    """Make this process quiet, deaf to the keyboard and bounded; what it says last goes to a file."""
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, _too_slow)
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(silence, stream)
    os.dup2(last_words, 2)
    faulthandler.enable(file=last_words, all_threads=False)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + limits.extra_bytes + _RESERVED_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # The peak of this process is what counts, not that of the one it was forked from.
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _too_slow(_signal: int, _frame: FrameType | None) -> None:
    raise _TooSlowError


def _try(attempt: Callable[[Case], object], case: Case, limits: Limits) -> Fault | None:
    try:
        signal.setitimer(signal.ITIMER_PROF, limits.seconds)
        try:
            attempt(case)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except _TooSlowError as error:
        return Fault(HANG, _where(error), f"stopped after {limits.seconds:g} s")
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is what was looked for
        lines = str(error).splitlines()
        return Fault(type(error).__name__, _where(error), lines[0][:200] if lines else "")
    return None


def _where(error: BaseException) -> str:
    """Return the innermost place in the package, or the innermost at all."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if _PACKAGE in frame.filename] or list(frames)
    return _place(ours[-1].filename, str(ours[-1].lineno), ours[-1].name) if ours else ""


def _place(filename: str, line: str, function: str) -> str:
    name = filename.rpartition(_PACKAGE)[2]
    name = name if name != filename else Path(name).name
    return f"{name}:{line} in {function}"


def _tell(writing: int, report: dict[str, str | int]) -> None:
    data = json.dumps(report).encode() + b"\n"
    while data:
        data = data[os.write(writing, data) :]
