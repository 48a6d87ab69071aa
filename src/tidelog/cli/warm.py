"""`tidelog warm`: compile kernels before they are needed."""

import os
import subprocess
import sys
import time

from tidelog.kernels.warm import compile_kernels, missing_kernels


def warm_kernels(jobs: int | None) -> None:
    """Compile the kernels that programs commonly need and say how long it took."""
    begun = time.perf_counter()
    wanted = _common_kernels()
    missing = missing_kernels(wanted)
    shows_progress = sys.stderr.isatty()
    for done, _ in enumerate(compile_kernels(missing, jobs), start=1):
        if shows_progress:
            sys.stderr.write(f"\rcompiling kernels: {done} of {len(missing)}")
    if shows_progress and missing:
        sys.stderr.write("\n")
    seconds = time.perf_counter() - begun
    sys.stdout.write(f"{len(wanted)} kernels are ready, {len(missing)} of them compiled in {seconds:.0f} s\n")


def _common_kernels() -> list[str]:
    """Return the kernels that small programs call, found in a process where kernels are plain Python."""
    done = subprocess.run(
        [sys.executable, "-m", "tidelog.cli.warm_samples"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()
