"""`tidelog check`: every mistake, without running anything."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from tidelog.cli.guard import MISTAKE, show
from tidelog.cli.parameters import OutputFormat
from tidelog.cli.programs import read_program
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.errors.plain import plain_diagnostics
from tidelog.io.check_places import check_all_places
from tidelog.program.check_text import check_text
from tidelog.program.suggest import counted
from tidelog.syntax.find_source import missing_folders
from tidelog.syntax.parser import parse_what_can_be


def check_programs(
    programs: Sequence[Path],
    include_path: tuple[Path, ...],
    defines: Mapping[str, str],
    *,
    shows_warnings: bool,
    form: OutputFormat = OutputFormat.TEXT,
) -> None:
    """Show the diagnostics of all programs; exit with status 1 if one of them is an error."""
    of_programs = (each for program in programs for each in _diagnostics(program, include_path, defines))
    found = [
        each
        for each in (*missing_folders(include_path), *of_programs)
        if shows_warnings or each.severity is Severity.ERROR
    ]
    errors = sum(diagnostic.severity is Severity.ERROR for diagnostic in found)
    if form is OutputFormat.JSON:
        sys.stdout.write(json.dumps(plain_diagnostics(found), indent=2, ensure_ascii=False) + "\n")
    else:
        show(found)
        sys.stdout.write(
            f"{counted(len(programs), 'program')} checked:"
            f" {counted(errors, 'error')}, {counted(len(found) - errors, 'warning')}\n"
        )
    if errors:
        raise typer.Exit(MISTAKE)


def _diagnostics(
    program: Path, include_path: tuple[Path, ...], defines: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    """Return what is wrong with a program."""
    try:
        read = parse_what_can_be(read_program(program), include_path=include_path, defines=defines)
    except TidelogError as error:
        return error.diagnostics
    return check_text(read, further=check_all_places)
