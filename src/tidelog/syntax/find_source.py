"""The text of a program, from wherever the user has it."""

import re
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Final

from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.errors.arguments import bad_argument
from tidelog.errors.files import reason_of, unreadable_hint
from tidelog.source import Source, Span

# A comment is not one, and neither is `commit.`
_NAME_OF_FILE: Final = re.compile(r"(?!//)[\w.~/\\:-]*\w")


def find_source(program: str | Path | Source) -> Source:
    """Return the program's source.

    A `Path`, and a string that ends in `.dl` and has one line, is a file; any other string is the
    text of a program.
    """
    if isinstance(program, Source):
        return program
    if not isinstance(program, str | PathLike):
        raise TidelogError([bad_argument("program", program, "a text or a path")])
    if not isinstance(program, str):
        program = Path(program)
    if isinstance(program, Path) or ("\n" not in program and program.endswith(".dl")):
        return read_source(Path(program))
    if is_name_of_file(program):
        raise TidelogError([_not_a_text(program)])
    return Source("program", program)


def is_name_of_file(text: str) -> bool:
    """Say whether a text where a program, facts or changes belong can only be the name of a file."""
    return _NAME_OF_FILE.fullmatch(text) is not None


def read_source(path: Path) -> Source:
    """Return the text of a file, named as the user named it."""
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as cause:
        # A name that no file can have, with a null byte in it, is a `ValueError`.
        raise TidelogError([_unreadable(path, cause)]) from cause
    try:
        return Source(str(path), content.decode("utf-8-sig"))
    except UnicodeDecodeError as cause:
        raise TidelogError([_bad_encoding(path, content, cause)]) from cause


def _unreadable(path: Path, cause: OSError | ValueError) -> Diagnostic:
    hint = unreadable_hint(path, cause)
    if isinstance(cause, FileNotFoundError) and not path.suffix and hint and not hint.startswith("did"):
        hint = "name a program, a .dl file, or the folder of a store"
    return Diagnostic(code="unreadable-program", message=f"cannot read {path}: {reason_of(cause)}", hint=hint)


def _not_a_text(name: str) -> Diagnostic:
    return Diagnostic(
        code="unreadable-program",
        message=f"`{name}` is not the text of a program, and as a file it would end in .dl",
        hint=f"give the path of a file: pathlib.Path({name!r})",
    )


def _bad_encoding(path: Path, content: bytes, cause: UnicodeDecodeError) -> Diagnostic:
    readable = Source(str(path), content.decode("utf-8", errors="replace"))
    # Every byte before the bad one decodes, so their characters count up to its place.
    place = len(content[: cause.start].decode("utf-8"))
    return Diagnostic(
        code="bad-encoding",
        message=f"byte 0x{content[cause.start]:02x} is not UTF-8",
        span=Span(readable, place, place + 1),
        hint="save the program as UTF-8",
    )


def missing_folders(folders: Sequence[Path]) -> Iterator[Diagnostic]:
    """Yield a warning for each folder for `#include` that is not there."""
    for folder in folders:
        if not folder.is_dir():
            yield Diagnostic(
                code="missing-include-folder",
                message=f"there is no folder `{folder}` for `#include`",
                hint="correct it, or leave it out",
                severity=Severity.WARNING,
            )
