"""`tidelog apply`: change scripts, epoch by epoch."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from tidelog.cli.deltas import delta_json, delta_lines, shown_relations
from tidelog.cli.guard import GUARD_BROKEN, INTERRUPTED, MISTAKE, show
from tidelog.cli.output import write_result
from tidelog.cli.parameters import OutputFormat
from tidelog.cli.sessions import SessionOptions, open_target
from tidelog.cli.start import spare_pandas
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.files import reason_of, unreadable_hint
from tidelog.explain.blame.answers import Violation
from tidelog.explain.guards.guards import GuardError
from tidelog.session import Session
from tidelog.syntax.changes import WrittenTransaction, read_changes
from tidelog.views import Delta


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """What the command line asked for; the script `-` is stdin."""

    session: SessionOptions
    scripts: tuple[Path, ...]
    explains: bool
    form: OutputFormat
    shows_all: bool
    keeps_going: bool
    guards: tuple[Path, ...] = ()
    is_strict: bool = False
    profile: Path | None = None


def apply_changes(options: ApplyOptions) -> None:
    """Apply each transaction as soon as it is committed and print its delta at once.

    An epoch with a mistake is rejected as a whole; by default, no later epoch is tried.
    """
    spare_pandas()
    _check_guards(options)
    has_failed = has_broken = False
    with open_target(options.session) as session, _profiling(session, options.profile):
        for path in options.guards:
            session.guard(path, strict=options.is_strict)
        warnings = session.warnings
        try:
            for transaction in read_transactions(options.scripts):
                try:
                    delta = session.apply(transaction)
                except TidelogError as error:
                    show(error.diagnostics)
                    is_guard = isinstance(error, GuardError)
                    if isinstance(error, GuardError):
                        _report_refusal(error, session, options)
                    if not options.keeps_going:
                        raise typer.Exit(GUARD_BROKEN if is_guard else MISTAKE) from None
                    has_failed, has_broken = has_failed or not is_guard, has_broken or is_guard
                    continue
                _print(delta, session, options)
                warnings = _show_new(session, warnings, options)
                if delta.violations:
                    has_broken = True
                    _report(delta.violations)
        except KeyboardInterrupt:
            sys.stderr.write(f"interrupted: epochs up to {session.epoch} are applied\n")
            raise typer.Exit(INTERRUPTED) from None
    if has_failed:
        raise typer.Exit(MISTAKE)
    if has_broken:
        raise typer.Exit(GUARD_BROKEN)


@contextmanager
def _profiling(session: Session, path: Path | None) -> Iterator[None]:
    """Write the profile of a session at the end, also if an epoch was rejected."""
    try:
        yield
    finally:
        if path is not None:
            write_result(session.profile().to_json(), path)


def _check_guards(options: ApplyOptions) -> None:
    """Raise if epochs are to be refused and nothing says which."""
    if options.is_strict and not options.guards:
        raise TidelogError(
            [
                Diagnostic(
                    code="bad-wish",
                    message="--strict refuses epochs that break a guard, and there is none",
                    hint="name a file of guards: --guards FILE",
                )
            ]
        )


def _report_refusal(error: GuardError, session: Session, options: ApplyOptions) -> None:
    """Write the guards that an epoch would break to stderr, and as JSON where that is asked for."""
    _report(error.violations)
    if options.form is OutputFormat.JSON:
        violations = [each.to_dict() for each in error.violations]
        refused = {"epoch": session.epoch + 1, "refused": True, "violations": violations}
        sys.stdout.write(json.dumps(refused) + "\n")


def _report(violations: Sequence[Violation]) -> None:
    """Write broken guards with blame and repair to stderr."""
    for violation in violations:
        sys.stderr.write(f"{violation}\n")


def _show_new(session: Session, known: Sequence[Diagnostic], options: ApplyOptions) -> tuple[Diagnostic, ...]:
    """Show the warnings that are not known yet, and return all."""
    if options.session.shows_warnings:
        show([each for each in session.warnings if each not in known])
    return session.warnings


def _print(delta: Delta, session: Session, options: ApplyOptions) -> None:
    shown = frozenset(session.relations) if options.shows_all else shown_relations(session.program)
    if options.form is OutputFormat.JSON:
        sys.stdout.write(delta_json(delta, shown) + "\n")
    else:
        for line in delta_lines(delta, shown, explains=options.explains):
            sys.stdout.write(line + "\n")
    sys.stdout.flush()


def read_transactions(scripts: Sequence[Path]) -> Iterator[WrittenTransaction]:
    """Yield the transactions of change scripts as they are read."""
    for script in scripts:
        name = "stdin" if str(script) == "-" else str(script)
        yield from read_changes(script_lines(script, name), name)


def script_lines(script: Path, name: str) -> Iterator[str]:
    """Yield the lines of a script as they come in."""
    if name == "stdin":
        yield from _decoded(iter(sys.stdin.buffer.readline, b""), name)
        return
    try:
        file = script.open("rb")
    except OSError as cause:
        message, hint = f"cannot read {name}: {reason_of(cause)}", unreadable_hint(script, cause)
        raise TidelogError([Diagnostic(code="unreadable-script", message=message, hint=hint)]) from cause
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
