"""Places in a text as the protocol counts them: lines, and code units within a line."""

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from typing import Final

from lsprotocol import types

from tidelog.dataclass import dataclass

# The protocol's line ends; Python's `splitlines` knows others.
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_UNITS: Final[dict[str, Callable[[str], int]]] = {
    "utf-8": lambda text: len(text.encode(errors="surrogatepass")),
    "utf-16": lambda text: len(text.encode("utf-16-le", errors="surrogatepass")) // 2,
    "utf-32": len,
}


@dataclass(frozen=True)
class Positions:
    """A text whose characters are counted as a client counts them: in UTF-16 code units by default.

        Positions("a😀b").position(2)  ->  Position(line=0, character=3)

    A position outside the text, or inside a character, is taken for the nearest one before it.
    """

    text: str
    encoding: str = "utf-16"

    @cached_property
    def starts(self) -> list[int]:
        """Return the offset of the first character of every line."""
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    def offset(self, position: types.Position) -> int:
        """Return the offset of the character at a position."""
        if position.line < 0:
            return 0
        if position.line >= len(self.starts):
            return len(self.text)
        line = self._line(position.line)
        start, wanted = self.starts[position.line], max(position.character, 0)
        if line.isascii():
            return start + min(wanted, len(line))
        units, count = 0, _UNITS[self.encoding]
        for place, char in enumerate(line):
            units += count(char)
            if units > wanted:
                return start + place
        return start + len(line)

    def position(self, offset: int) -> types.Position:
        """Return the position of the character at an offset."""
        line = bisect_right(self.starts, offset) - 1
        before = self.text[self.starts[line] : offset]
        return types.Position(line, len(before) if before.isascii() else _UNITS[self.encoding](before))

    def range(self, start: int, end: int) -> types.Range:
        """Return the range between two offsets."""
        return types.Range(self.position(start), self.position(end))

    @cached_property
    def whole(self) -> types.Range:
        """Return the range of the whole text."""
        return self.range(0, len(self.text))

    def changed(self, change: types.TextDocumentContentChangeEvent) -> str:
        """Return the text after a change; one without a range is the new text."""
        if not isinstance(change, types.TextDocumentContentChangePartial):
            return clean(change.text)
        start, end = sorted((self.offset(change.range.start), self.offset(change.range.end)))
        return f"{self.text[:start]}{clean(change.text)}{self.text[end:]}"

    def _line(self, number: int) -> str:
        """Return a line without its end."""
        last = number + 1 == len(self.starts)
        end = len(self.text) if last else self.starts[number + 1]
        return self.text[self.starts[number] : end].rstrip("\r\n")


def clean(text: str) -> str:
    """Return a text with marks in place of halves of characters, which no file can have."""
    if text.isascii():
        return text
    return text.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="replace")
