"""Programs named on the command line."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.errors import Diagnostic, TidelogError
from tidelog.source import Source
from tidelog.syntax.find_source import read_source

if TYPE_CHECKING:
    from tidelog.options import OpenOptions


def with_facts(options: "OpenOptions", program: Path) -> "OpenOptions":
    """Return the options of a program whose facts are where `-F` says, beside the program by default."""
    folder = Path() if str(program) == "-" else program.parent
    return replace(options, facts=folder) if options.facts is None else options


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
