"""A word on a terminal when kernels are compiled: the first use of a kernel takes seconds, once."""

import sys
from typing import Any

from numba.core import event

_NOTE = "compiling kernels for this machine; that is done once and kept on disk\n"


class _Note(event.Listener):
    """Writes the note when the first kernel is compiled, and nothing after that."""

    def __init__(self) -> None:
        self._is_reported = False

    def on_start(self, event: Any) -> None:  # noqa: ARG002 - numba's interface
        """Tell it."""
        if not self._is_reported:
            self._is_reported = True
            sys.stderr.write(_NOTE)

    def on_end(self, event: Any) -> None:
        """Say nothing."""


def tell_compiling() -> None:
    """Let the first compilation of this process be told on stderr, if that is a terminal.

    Kernels that are on disk already are loaded without a word.
    """
    if sys.stderr.isatty():
        event.register("numba:compile", _Note())  # type: ignore[no-untyped-call]  # numba has no types
