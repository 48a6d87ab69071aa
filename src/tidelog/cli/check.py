"""`tidelog check`: every mistake, without running anything."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from tidelog.cli.guard import MISTAKE, show
from tidelog.cli.programs import read_program
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.program import build_program
from tidelog.program.suggest import counted
from tidelog.syntax import parse


def check_programs(
    programs: Sequence[Path],
    include_path: tuple[Path, ...],
    defines: Mapping[str, str],
    *,
    shows_warnings: bool,
) -> None:
    """Show the diagnostics of all programs; exit with status 1 if one of them is an error."""
    found = [
        diagnostic
        for program in programs
        for diagnostic in _diagnostics(program, include_path, defines)
        if shows_warnings or diagnostic.severity is Severity.ERROR
    ]
    show(found)
    errors = sum(diagnostic.severity is Severity.ERROR for diagnostic in found)
    sys.stdout.write(
        f"{counted(len(programs), 'program')} checked:"
        f" {counted(errors, 'error')}, {counted(len(found) - errors, 'warning')}\n"
    )
    if errors:
        raise typer.Exit(MISTAKE)


def _diagnostics(
    program: Path, include_path: tuple[Path, ...], defines: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    try:
        _, warnings = build_program(parse(read_program(program), include_path=include_path, defines=defines))
    except TidelogError as error:
        return error.diagnostics
    return warnings
