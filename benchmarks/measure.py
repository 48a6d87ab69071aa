"""One command in a fresh process, and what it took."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# The unit of the operating system's peak memory.
_PEAK_UNIT_BYTES: Final = 1 if sys.platform == "darwin" else 1024


# What a command needs to find this package, wherever it is started.
FIND_US: Final = {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a command took and said; `status` is negative if a signal ended it."""

    status: int
    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int
    is_timeout: bool
    output: str
    errors: str


def measure(
    command: Sequence[str], *, timeout_seconds: float, environment: Mapping[str, str] | None = None
) -> Measurement:
    """Return what the command took, its children included.

    CPU seconds are user and system time of all threads, as the operating system counted them.
    """
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as scratch:
        output, errors = Path(scratch, "output"), Path(scratch, "errors")
        started = time.perf_counter()
        with output.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
            is_timeout = threading.Event()

            def stop() -> None:
                is_timeout.set()
                os.killpg(process.pid, signal.SIGKILL)

            timer = threading.Timer(timeout_seconds, stop)
            timer.start()
            try:
                _, status, usage = os.wait4(process.pid, 0)
            except BaseException:
                # Ctrl-C reaches the runner alone, because the command has a session of its own.
                os.killpg(process.pid, signal.SIGKILL)
                raise
            finally:
                timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        return Measurement(
            status=process.returncode,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            wall_seconds=time.perf_counter() - started,
            peak_bytes=usage.ru_maxrss * _PEAK_UNIT_BYTES,
            is_timeout=is_timeout.is_set(),
            output=output.read_text(encoding="utf-8", errors="replace"),
            errors=errors.read_text(encoding="utf-8", errors="replace"),
        )
