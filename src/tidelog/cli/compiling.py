"""A word on a terminal when kernels are compiled: the first use of a kernel takes seconds, once."""

import sys

from tidelog.kernels import when_compiling

_NOTE = "compiling kernels for this machine; that is done once and kept on disk\n"


def tell_compiling() -> None:
    """Let the first compilation of this process be told on stderr, if that is a terminal.

    Kernels that are on disk already are loaded without a word.
    """
    if sys.stderr.isatty():
        when_compiling(lambda: sys.stderr.write(_NOTE))
