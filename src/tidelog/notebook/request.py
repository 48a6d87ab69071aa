"""What stands behind `%%tidelog`: which session, and where facts come from."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError

_USAGE: Final = "write %%tidelog [NAME] [-F DIR] [RELATION=VARIABLE ...]"


@dataclass(frozen=True, slots=True)
class CellRequest:
    """The session of a cell by its name, a folder of facts, and variables whose facts are inserted.

    The session without a name belongs to all cells that name none.
    """

    name: str = ""
    folder: Path | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


def parse_request(line: str) -> CellRequest:
    """Return what a line asks for: `db -F data edge=frame`."""
    try:
        words = iter(shlex.split(line))
    except ValueError as cause:
        raise _mistake(f"{line!r} has a quote that does not end") from cause
    name, folder = "", None
    facts: dict[str, str] = {}
    for word in words:
        relation, equals, variable = word.partition("=")
        if word in ("-F", "--fact-dir"):
            folder = Path(_next(words, word))
        elif equals and relation and variable.isidentifier():
            facts[relation] = variable
        elif word.isidentifier() and not name:
            name = word
        elif word.isidentifier():
            raise _mistake(f"there are two sessions, `{name}` and `{word}`")
        else:
            raise _mistake(f"`{word}` is neither the name of a session nor an option")
    return CellRequest(name, folder, facts)


def _next(words: Iterator[str], option: str) -> str:
    found = next(words, None)
    if found is None:
        raise _mistake(f"there is no folder after {option}")
    return found


def _mistake(message: str) -> TidelogError:
    return TidelogError([Diagnostic(code="bad-argument", message=message, hint=_USAGE)])
