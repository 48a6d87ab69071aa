"""The processor that code is made for: not the one at hand but one that most machines have.

Code for it can be shipped in a wheel and shared by machines, and is as fast: kernels wait for memory.
"""

import os
import platform
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

# The features of x86-64-v3 as the kernel of Linux calls them, without those that every x86-64 has.
_NEEDED: Final = {
    *("abm", "avx", "avx2", "bmi1", "bmi2", "cx16", "f16c", "fma"),
    *("lahf_lm", "movbe", "popcnt", "sse4_1", "sse4_2", "ssse3", "xsave"),
}
_LINES: Final = frozenset(
    ("vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "Features")
)
_SMALL_ENOUGH: Final = 1 << 14


class Target(NamedTuple):
    """A processor and its features as LLVM calls them; without a name, the one at hand."""

    name: str
    features: str


@cache
def target() -> Target:
    """Return the processor to make code for.

    The one at hand is taken if it has less than the others, if nobody knows what it has, and if somebody
    chose one for Numba.
    """
    if "NUMBA_CPU_NAME" in os.environ or "NUMBA_CPU_FEATURES" in os.environ:
        return Target("", "")
    machine = platform.machine().lower()
    if machine in {"aarch64", "arm64"}:
        return Target("generic", "+neon")
    flags = {flag for line in processor() if line.startswith("flags") for flag in line.split()}
    return Target("x86-64-v3", "+avx2") if flags >= _NEEDED else Target("", "")


def processor() -> Iterator[str]:
    """Yield what tells processors apart that need different code."""
    yield platform.machine()
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:  # noqa: PTH123 - reads one page, not all cores
            text = file.read(_SMALL_ENOUGH).decode("ascii", "replace")
    except OSError:
        yield platform.processor()
        return
    first = text.split("\n\n", 1)[0]
    yield from (
        line for line in first.splitlines() if line.split("\t", 1)[0].split(":", 1)[0].strip() in _LINES
    )
