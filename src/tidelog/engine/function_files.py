"""Python files with functions for the functors of a program."""

import runpy
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from tidelog.errors import Diagnostic, TidelogError
from tidelog.values import Value


def load_functions(files: Sequence[Path]) -> dict[str, Callable[..., Value]]:
    """Run Python files and return their public functions by name.

    A function is found under its own name; one decorated with `@tidelog.functor(name=...)` has
    registered itself under that name as well.
    """
    functions: dict[str, Callable[..., Value]] = {}
    for file in files:
        reason = _why_not_a_file(file)
        if reason:
            hint = "name a Python file that defines the functions"
            message = f"cannot read {file}: {reason}"
            raise TidelogError([Diagnostic(code="functions-failed", message=message, hint=hint)])
        try:
            names = runpy.run_path(str(file))
        except Exception as cause:
            raise TidelogError([_failed(file, cause)]) from cause
        functions.update(
            (name, value) for name, value in names.items() if callable(value) and not name.startswith("_")
        )
    return functions


def _why_not_a_file(path: Path) -> str:
    """Return why a path does not lead to a file, nothing if it does."""
    try:
        if path.is_file():
            return ""
        return "it is a folder" if path.is_dir() else "there is no such file"
    except OSError as error:
        # A name may be too long, for one.
        return error.strerror or str(error)


def _failed(file: Path, cause: Exception) -> Diagnostic:
    frames = [frame for frame in traceback.extract_tb(cause.__traceback__) if frame.filename == str(file)]
    place = f"{file}:{frames[-1].lineno}" if frames else str(file)
    return Diagnostic(
        code="functions-failed",
        message=f"{place}: {type(cause).__name__}: {cause}",
        hint="the file given with --functions must run as plain Python",
    )
