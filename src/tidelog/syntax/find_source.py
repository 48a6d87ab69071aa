"""The text of a program, from wherever the user has it."""

from difflib import get_close_matches
from os import PathLike
from pathlib import Path

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import bad_argument, is_path
from tidelog.source import Source, Span


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
    return Source("program", program)


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
    folder = path.parent
    names = [file.name for file in folder.iterdir()] if is_path(folder) and folder.is_dir() else []
    near = get_close_matches(path.name, names, n=1)
    return Diagnostic(
        code="unreadable-program",
        message=f"cannot read {path}: {getattr(cause, 'strerror', None) or cause}",
        hint=f"did you mean {folder / near[0]}?" if near and near[0] != path.name else None,
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
