"""`tidelog warm`: compile kernels before they are needed."""

import sys
import time

from tidelog.kernels.compilers import common_kernels
from tidelog.kernels.warm import compile_kernels, missing_kernels
from tidelog.progress import activity, bar, detail


def warm_kernels(jobs: int | None) -> None:
    """Compile the kernels that programs commonly need and say how long it took."""
    begun = time.perf_counter()
    wanted = common_kernels()
    with activity("compiling kernels"):
        missing = missing_kernels(wanted)
        detail(bar(0, len(missing)))
        done = 0
        for done, _ in enumerate(compile_kernels(missing, jobs), start=1):
            detail(bar(done, len(missing)))
    seconds = time.perf_counter() - begun
    ready = len(wanted) - len(missing) + done
    sys.stdout.write(f"{ready} kernels are ready, {done} of them compiled in {seconds:.0f} s\n")
