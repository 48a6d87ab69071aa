"""`tidelog check`: every mistake, without running anything."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import typer

from tidelog.cli.guard import MISTAKE, show
from tidelog.cli.parameters import OutputFormat
from tidelog.cli.programs import read_program
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.errors.plain import plain_diagnostics
from tidelog.io.check_places import check_places
from tidelog.program import build_program
from tidelog.program.suggest import counted
from tidelog.source import Span
from tidelog.syntax.find_source import missing_folders
from tidelog.syntax.parser import in_order, parse_what_can_be
from tidelog.syntax.tree import SyntaxTree

_WORD: Final = re.compile(r"[?\w]+")


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
    """Return what is wrong with a program.

    What could be read around mistakes in the syntax is checked too, but for items that use a name which
    may have been declared where a mistake is. Warnings wait until the whole can be read.
    """
    try:
        read = parse_what_can_be(read_program(program), include_path=include_path, defines=defines)
    except TidelogError as error:
        return error.diagnostics
    is_whole = not any(each.severity is Severity.ERROR for each in read.diagnostics)
    if not is_whole and read.lost is None:
        return read.diagnostics
    try:
        built, found = build_program(read.tree)
        found = (*found, *(each for kind in ("input", "output") for each in check_places(built, kind=kind)))
    except TidelogError as error:
        found = error.diagnostics
    if is_whole:
        return found
    unsure = _spans_with(read.lost or frozenset(), read.tree)
    errors = (each for each in found if each.severity is Severity.ERROR)
    sure = (each for each in errors if not any(span.covers(each.span) for span in unsure))
    return in_order([*read.diagnostics, *sure])


def _spans_with(names: frozenset[str], tree: SyntaxTree) -> list[Span]:
    """Return the places of items that use one of the names."""
    return [item.span for item in tree.items if not names.isdisjoint(_WORD.findall(item.span.text))]
