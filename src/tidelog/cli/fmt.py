"""`tidelog fmt`: programs in the canonical layout."""

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import typer

from tidelog.cli.guard import MISTAKE
from tidelog.cli.programs import read_program
from tidelog.errors import Diagnostic, TidelogError
from tidelog.syntax import format_text


def format_programs(programs: Sequence[Path], *, only_checks: bool, writes: bool) -> None:
    """Print the programs laid out, rewrite them, or name those that would change.

    All programs are read before one is rewritten: a mistake in any of them changes none.
    """
    changed: list[tuple[Path, str]] = []
    diagnostics: list[Diagnostic] = []
    for program in programs:
        try:
            source = read_program(program)
            formatted = format_text(source)
        except TidelogError as error:
            diagnostics += error.diagnostics
            continue
        if not only_checks and (not writes or str(program) == "-"):
            sys.stdout.write(formatted)
        elif formatted != source.text:
            changed.append((program, formatted))
    if diagnostics:
        raise TidelogError(diagnostics)
    for program, formatted in changed:
        if writes:
            _replace(program, formatted)
        sys.stdout.write(f"{program}\n")
    if only_checks and changed:
        raise typer.Exit(MISTAKE)


def _replace(path: Path, text: str) -> None:
    """Put the text in the file's place at once, so that an interruption leaves one or the other."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            Path(name).chmod(path.stat().st_mode & 0o777)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as cause:
        raise TidelogError(
            [
                Diagnostic(
                    code="unwritable-file", message=f"`{path}` cannot be written: {cause.strerror or cause}"
                )
            ]
        ) from cause
