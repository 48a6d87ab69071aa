"""Programs named on the command line."""

import sys
from pathlib import Path

from tidelog.errors import Diagnostic, TidelogError
from tidelog.source import Source
from tidelog.syntax.find_source import read_source


def read_program(path: Path) -> Source:
    """Return the text of a program; `-` is standard input."""
    if str(path) != "-":
        return read_source(path)
    try:
        return Source("stdin", sys.stdin.buffer.read().decode("utf-8-sig"))
    except UnicodeDecodeError as cause:
        raise TidelogError(
            [
                Diagnostic(
                    code="bad-encoding",
                    message=f"the program on stdin is not UTF-8 at byte {cause.start + 1}",
                    hint="save the program as UTF-8",
                )
            ]
        ) from cause
