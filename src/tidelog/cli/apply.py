"""`tidelog apply`: change scripts, epoch by epoch."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from tidelog.cli.deltas import delta_json, delta_lines, shown_relations
from tidelog.cli.guard import INTERRUPTED, MISTAKE, show
from tidelog.cli.sessions import SessionOptions, open_target
from tidelog.cli.start import spare_pandas
from tidelog.errors import Diagnostic, TidelogError
from tidelog.session import Session
from tidelog.syntax.changes import WrittenTransaction, read_changes
from tidelog.views import Delta


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """What the command line asked for; the script `-` is stdin."""

    session: SessionOptions
    scripts: tuple[Path, ...]
    explains: bool
    is_json: bool
    shows_all: bool
    keeps_going: bool


def apply_changes(options: ApplyOptions) -> None:
    """Apply each transaction as soon as it is committed and print its delta at once.

    An epoch with a mistake is rejected as a whole, and it is the last one unless told to go on.
    """
    spare_pandas()
    has_failed = False
    with open_target(options.session) as session:
        try:
            for transaction in _transactions(options.scripts):
                try:
                    delta = session.apply(transaction)
                except TidelogError as error:
                    show(error.diagnostics)
                    if not options.keeps_going:
                        raise typer.Exit(MISTAKE) from None
                    has_failed = True
                    continue
                _print(delta, session, options)
        except KeyboardInterrupt:
            sys.stderr.write(f"interrupted: epochs up to {session.epoch} are applied\n")
            raise typer.Exit(INTERRUPTED) from None
    if has_failed:
        raise typer.Exit(MISTAKE)


def _print(delta: Delta, session: Session, options: ApplyOptions) -> None:
    shown = frozenset(session.relations) if options.shows_all else shown_relations(session.program)
    if options.is_json:
        sys.stdout.write(delta_json(delta, shown) + "\n")
    else:
        for line in delta_lines(delta, shown, explains=options.explains):
            sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _transactions(scripts: Sequence[Path]) -> Iterator[WrittenTransaction]:
    for script in scripts:
        name = "stdin" if str(script) == "-" else str(script)
        yield from read_changes(_lines(script, name), name)


def _lines(script: Path, name: str) -> Iterator[str]:
    """Yield the lines of a script as they come in."""
    if name == "stdin":
        yield from _decoded(iter(sys.stdin.buffer.readline, b""), name)
        return
    try:
        file = script.open("rb")
    except OSError as cause:
        raise TidelogError(
            [Diagnostic(code="unreadable-script", message=f"cannot read {name}: {cause.strerror or cause}")]
        ) from cause
    with file:
        yield from _decoded(iter(file), name)


def _decoded(lines: Iterator[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as cause:
            raise TidelogError(
                [
                    Diagnostic(
                        code="bad-encoding",
                        message=f"line {number} of {name} is not UTF-8",
                        hint="save the script as UTF-8",
                    )
                ]
            ) from cause
