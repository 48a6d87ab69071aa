"""What commands print, in the form that `--format` names."""

import sys
from pathlib import Path
from typing import Protocol

from tidelog.cli.parameters import OutputFormat
from tidelog.io.staging import Staging, unwritable


class Printable(Protocol):
    """What has a text and a JSON form."""

    def __str__(self) -> str: ...

    def to_json(self) -> str:
        """Return the JSON form."""


def formed(found: Printable, form: OutputFormat) -> str:
    """Return what was found as text or as JSON."""
    match form:
        case OutputFormat.TEXT:
            return str(found)
        case OutputFormat.JSON:
            return found.to_json()


def write_result(text: str, output: Path | None = None) -> None:
    """Write to a file, which appears as a whole or not at all, or to stdout."""
    whole = text if text.endswith("\n") else text + "\n"
    if output is None:
        sys.stdout.write(whole)
        return
    with Staging() as staging:
        staged = staging.path_for(output)
        try:
            staged.write_text(whole, encoding="utf-8")
        except OSError as cause:
            raise unwritable(output, cause) from cause
