"""Amounts of memory: what a user allows, and what was used."""

import re
import sys
from pathlib import Path
from typing import Final

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import described

_UNITS: Final = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_memory_size(size: int | str) -> int:
    """Return a number of bytes from `4G`, `512M`, `1.5GiB` or a plain number; 1K is 1024."""
    text = size if isinstance(size, str) else described(size)
    match = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    count = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if count <= 0:
        raise TidelogError(
            [
                Diagnostic(
                    code="bad-memory-limit",
                    message=f"`{text}` is not an amount of memory",
                    hint="write for example 512M or 4G",
                )
            ]
        )
    return count


def peak_memory_bytes() -> int:
    """Return the most memory this process has held at once."""
    # The kernel's own high-water mark is of this program alone; what getrusage gives on Linux may
    # have been inherited from the process that started it.
    status = Path("/proc/self/status")
    if status.exists():
        mark = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii", errors="replace"))
        if mark:
            return int(mark[1]) * 1024
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        import psutil  # noqa: PLC0415 - only where nothing else tells

        return int(psutil.Process().memory_info().peak_wset)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024
