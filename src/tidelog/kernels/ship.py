"""Machine code for a wheel."""

from collections.abc import Callable
from pathlib import Path

from tidelog.kernels.compilers import common_kernels
from tidelog.kernels.store import SHIPPED
from tidelog.kernels.target import target
from tidelog.kernels.warm import compile_kernels, missing_kernels
from tidelog.kernels.worker import find_kernel, signature_in


def ship_kernels(package: Path, tell: Callable[[str], object]) -> None:
    """Put the code of the common kernels into this package as it is built."""
    if not target().name:
        raise RuntimeError("a wheel is built on x86-64 with AVX2 or on arm64, without settings for Numba")
    missing = missing_kernels(common_kernels())
    for count, name in enumerate(compile_kernels(missing), start=1):
        tell(f"compiled kernel {count} of {len(missing)}: {name.partition(' ')[0]}")
    folder = package / SHIPPED.name
    folder.mkdir(parents=True, exist_ok=True)
    for each in common_kernels():
        find_kernel(each).ship(signature_in(each), folder)
