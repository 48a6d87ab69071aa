"""Mistakes in fact files, collected with the place of each."""

from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.program.suggest import counted
from tidelog.source import Source, Span

MOST_REPORTED: Final = 20
_LONGEST_PREFIX: Final = 400
_LONGEST_REST: Final = 120


@dataclass(frozen=True, slots=True)
class TextPlace:
    """Characters `start` to `end` of a 1-based line of a file."""

    line: int
    text: str
    start: int
    end: int


class Mistakes:
    """What is wrong with one file: the first 20 mistakes, and how many there are."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.diagnostics: list[Diagnostic] = []
        self.count = 0

    def report(self, code: str, message: str, place: TextPlace, hint: str | None = None) -> None:
        """Report a mistake in a line."""
        self.count += 1
        if self.count > MOST_REPORTED:
            return
        text, start, end = place.text, place.start, place.end
        # A line of a fact file may be very long; the reader needs what surrounds the mistake.
        if start > _LONGEST_PREFIX:
            cut = start - _LONGEST_PREFIX // 2
            message += f" (column {start + 1})"
            text, start, end = "..." + text[cut:], start - cut + 3, end - cut + 3
        text = text[: min(end, start + _LONGEST_REST) + _LONGEST_REST].replace("\r", " ").replace("\n", " ")
        end = max(start, min(end, len(text)))
        span = Span(Source(self.name, text), min(start, len(text)), end)
        self.diagnostics.append(Diagnostic(code, message, span, hint, line_offset=place.line - 1))

    def note(self, code: str, message: str, hint: str | None = None) -> None:
        """Report a mistake that has no line."""
        self.count += 1
        if self.count <= MOST_REPORTED:
            self.diagnostics.append(Diagnostic(code, f"{self.name}: {message}", hint=hint))

    def raise_if_any(self) -> None:
        """Raise what was reported, with the number of further mistakes."""
        if not self.count:
            return
        more = self.count - MOST_REPORTED
        if more > 0:
            message = f"{self.name}: {counted(more, 'more mistake')} like these"
            self.diagnostics.append(Diagnostic("more-mistakes", message))
        raise TidelogError(self.diagnostics)


def missing_file(path: Path, span: Span | None = None) -> TidelogError:
    """Return the error for a fact file that is not there, with the closest name of its folder.

    A directive, at `span`, reads from a folder that can be another; else the file itself was named.
    """
    elsewhere = ": -F DIR, or facts= in Python" if span else ""
    names: list[str] = []
    try:
        names = sorted(entry.name for entry in path.parent.iterdir() if entry.is_file())
        hint = f"put the facts there, or an empty file for none, or name the folder that has them{elsewhere}"
    except FileNotFoundError:
        hint = f"there is no folder `{path.parent}`; name the one that has the facts{elsewhere}"
    except NotADirectoryError:
        hint = (
            f"`{path.parent}` is a file; name the folder that it is in, or facts={{'edge': path}} in Python"
        )
    except (OSError, ValueError):
        hint = f"the folder `{path.parent}` cannot be read"
    # By their stems: the suffixes are alike anyway.
    stems = {Path(name).stem: name for name in names}
    close = get_close_matches(path.stem, stems, n=1)
    if close:
        hint = f"did you mean `{stems[close[0]]}`?"
    message = f"there is no fact file `{path}`"
    return TidelogError([Diagnostic(code="missing-fact-file", message=message, span=span, hint=hint)])


def not_needed(relation: str, missing: Diagnostic) -> Diagnostic:
    """Return the warning in place of the error for a fact file that nothing needs."""
    hint = f"nothing that is written depends on `{relation}`, which is empty here; drop its `.input`"
    return replace(missing, severity=Severity.WARNING, hint=hint)


def unreadable_file(name: str, cause: object, span: Span | None = None) -> TidelogError:
    """Return the error for a file whose content cannot be read at all."""
    reason = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
    message = f"`{name}` cannot be read: {reason}"
    return TidelogError([Diagnostic(code="unreadable-file", message=message, span=span)])
