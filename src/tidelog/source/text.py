"""A piece of program text and a range inside it."""

from bisect import bisect_right
from dataclasses import field
from functools import cached_property

from tidelog.dataclass import dataclass


@dataclass(frozen=True)
class Source:
    """A named text: a file, an argument of `tidelog.open`, a line typed into the shell."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """Return the offset of the first character of every line."""
        starts = [0]
        found = self.text.find("\n")
        while found >= 0:
            starts.append(found + 1)
            found = self.text.find("\n", found + 1)
        return tuple(starts)

    def line_of(self, offset: int) -> int:
        """Return the 1-based number of the line that holds `offset`."""
        return bisect_right(self.line_starts, offset)

    def line_text(self, line: int) -> str:
        """Return the text of a 1-based line, without its newline."""
        start = self.line_starts[line - 1]
        end = self.text.find("\n", start)
        return self.text[start:] if end < 0 else self.text[start:end]


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `start` (inclusive) to `end` (exclusive) of a source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """Return the 1-based line of the first character."""
        return self.source.line_of(self.start)

    @property
    def column(self) -> int:
        """Return the 1-based column of the first character."""
        return self.start - self.source.line_starts[self.line - 1] + 1

    @property
    def text(self) -> str:
        """Return the characters of the span."""
        return self.source.text[self.start : self.end]

    def covers(self, other: "Span | None") -> bool:
        """Say whether another span lies in this one."""
        is_near = other is not None and other.source is self.source
        return other is not None and is_near and self.start <= other.start and other.end <= self.end

    def to(self, other: "Span") -> "Span":
        """Return the span from the start of this one to the end of `other`.

        Both spans must lie in one source; otherwise this span is returned alone.
        """
        if other.source is not self.source:
            return self
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"
