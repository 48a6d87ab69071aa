"""What is wrong with the places that directives name."""

from collections.abc import Iterator
from pathlib import Path

from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.io.places import Format, Place, place_of
from tidelog.program.nodes import Directive, Program


def check_places(program: Program, directory: Path = Path(), *, kind: str) -> Iterator[Diagnostic]:
    """Yield the mistakes of the `.input` or the `.output` directives, before anything is read or evaluated.

    A second output to a file is a warning: it replaces the first, in Soufflé as well.
    """
    written: dict[tuple[Path, str], Directive] = {}
    for directive in program.directives:
        if directive.kind != kind:
            continue
        try:
            place = place_of(program.relations[directive.relation], directive, directory)
        except TidelogError as error:
            yield from error.diagnostics
            continue
        if kind == "output" and place.path is not None:
            first = written.setdefault(_target(place, place.path), directive)
            if (first.relation, first.parameters) != (directive.relation, directive.parameters):
                yield _replaced(first, directive, place.path)


def check_all_places(program: Program) -> Iterator[Diagnostic]:
    """Yield the mistakes of all directives that name places."""
    for kind in ("input", "output"):
        yield from check_places(program, kind=kind)


def _target(place: Place, path: Path) -> tuple[Path, str]:
    """Return what an output replaces: a file, or one table of a SQLite file."""
    return path, place.table if place.format is Format.SQLITE else ""


def _replaced(first: Directive, second: Directive, path: Path) -> Diagnostic:
    same = "again" if first.relation == second.relation else f"with the facts of `{second.relation}`"
    return Diagnostic(
        code="output-replaced",
        message=f"the output of `{first.relation}` is lost: `{path}` is written {same}",
        span=second.span,
        hint='give each output its own file: `filename="..."`',
        severity=Severity.WARNING,
        related=() if first.span is None else (("first written here", first.span),),
    )
