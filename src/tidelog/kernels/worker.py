"""A process that compiles kernels for another one.

It reads names of kernels, with the types of their arguments, a line each, and answers each with the kernel's
stamp and machine code. It ends with its input, or when nothing was asked for a while. Numba is loaded here
only, so it can be told which processor to make code for without anybody else noticing.
"""

import marshal
import os
import select
import sys
from importlib import import_module
from typing import Any, Final

from tidelog.kernels.samples import samples_of
from tidelog.kernels.stamp import machine_stamp
from tidelog.kernels.target import target

_IDLE_SECONDS: Final = 30


def main(niceness: int) -> None:
    """Answer until the input ends."""
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)
    # The stamp looks at Numba's settings, so it comes before these.
    machine_stamp()
    wanted = target()
    if wanted.name:
        os.environ.update({"NUMBA_CPU_NAME": wanted.name, "NUMBA_CPU_FEATURES": wanted.features})
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # whatever a module prints
        while _is_asked():
            line = sys.stdin.readline()
            if not line:
                return
            marshal.dump(_compiled(line.removesuffix("\n")), answers)
            answers.flush()


def _is_asked() -> bool:
    """Wait for the next line; only one is ever waiting, so none is in a buffer."""
    return sys.platform == "win32" or bool(select.select([sys.stdin], [], [], _IDLE_SECONDS)[0])


def _compiled(wanted: str) -> tuple[str, bytes]:
    """Return stamp and code, nothing if it fails: then whoever asked compiles by itself, and fails too."""
    try:
        signature = signature_in(wanted)
        stamp, code = find_kernel(wanted).make(signature, samples_of(signature))
    except Exception:  # noqa: BLE001 - it happens again where somebody sees it
        return "", b""
    return stamp, code


def find_kernel(wanted: str) -> Any:
    """Return the kernel that a name with types of arguments starts with."""
    module, _, name = wanted.partition(" ")[0].partition(":")
    return getattr(import_module(module), name)


def signature_in(wanted: str) -> str:
    """Return the types of arguments in a name."""
    return wanted.partition(" ")[2]
