"""The lines that differ between two versions of files, as `git diff` tells them."""

import re
from typing import Final

from tidelog.dataclass import dataclass

_HEADER: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of a file that replace others; both ranges are from 1, and empty where nothing is.

    `text` has the lines themselves, with `-` and `+` before them.
    """

    path: str
    old: range
    new: range
    text: str = ""

    def __str__(self) -> str:
        lines = self.new or self.old
        sign = "" if self.new else "-"
        last = f"-{lines[-1]}" if len(lines) > 1 else ""
        return f"{self.path}:{sign}{lines[0] if lines else self.new.start}{last}"

    def touches(self, first: int, last: int, *, is_new: bool) -> bool:
        """Say whether some of these lines, of the new or the old text, are the hunk's."""
        lines = self.new if is_new else self.old
        return bool(lines) and lines.start <= last and first < lines.stop


def parse_hunks(diff: str) -> tuple[Hunk, ...]:
    """Return the hunks of a unified diff without context and without prefixes of paths."""
    found: list[Hunk] = []
    path = old_path = ""
    header: tuple[range, range] | None = None
    lines: list[str] = []

    def finish() -> None:
        if header is not None:
            found.append(Hunk(path, *header, "\n".join(lines)))

    # Not `splitlines`: source may have other characters in a line that it takes for ends.
    for line in diff.split("\n"):
        match = _HEADER.match(line)
        if match is not None:
            finish()
            header, lines = (_range(match[1], match[2]), _range(match[3], match[4])), []
        elif header is not None and line[:1] in ("-", "+", "\\"):
            lines.append(line)
        elif line.startswith("diff --git "):
            finish()
            header = None
        elif header is None and line.startswith("--- "):
            old_path = _path(line[4:])
        elif header is None and line.startswith("+++ "):
            path = _path(line[4:])
            path = old_path if path == "/dev/null" else path
    finish()
    return tuple(found)


def _range(start: str, count: str | None) -> range:
    size = 1 if count is None else int(count)
    return range(int(start), int(start) + size)


def _path(written: str) -> str:
    """Return a path as git writes it in a header: with a tab behind it if it has spaces, or in quotes."""
    text = written.removesuffix("\t").removesuffix("\r")
    if not text.startswith('"'):
        return text
    raw = text[1:-1].encode(errors="surrogateescape").decode("unicode_escape", errors="replace")
    return raw.encode("latin-1", errors="replace").decode(errors="surrogateescape")
