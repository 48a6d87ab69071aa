"""Where the keys and values of a TOML text stand, which Python's own reader does not tell."""

import re
import tomllib
from dataclasses import field
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.source import Source, Span

# A key's way from the root: names of tables and places in arrays.
Way = tuple[str | int, ...]

_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_INLINE_BLANK: Final = re.compile(r"[ \t]*")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_BASIC: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL: Final = re.compile(r"'[^'\n]*'")
# A long text may end in up to two quotes of its own.
_LONG_BASIC: Final = re.compile(r'"""(?:[^\\]|\\.)*?"""(?!")', re.DOTALL)
_LONG_LITERAL: Final = re.compile(r"'''.*?'''(?!')", re.DOTALL)
_PLAIN: Final = re.compile(r"[^,\]}#\n]*")
# More names in one key than this are a mistake, and every one would be looked up with all before it.
_MOST_NAMES: Final = 100
_AT: Final = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass
class TomlPlaces:
    """The spans of a TOML text: `keys` of the names, `values` of what they are given."""

    source: Source
    keys: dict[Way, Span] = field(default_factory=dict)
    values: dict[Way, Span] = field(default_factory=dict)

    def key(self, *way: str | int) -> Span:
        """Return where a key stands; if it is not there, where the nearest table around it begins."""
        while way and way not in self.keys:
            way = way[:-1]
        return self.keys.get(way, Span(self.source, 0, min(1, len(self.source.text))))

    def value(self, *way: str | int) -> Span:
        """Return where a value stands, or its key if it is a table."""
        return self.values.get(way) or self.key(*way)


def read_toml(source: Source) -> tuple[dict[str, object], TomlPlaces]:
    """Return the content of a TOML text and the places of its keys and values.

    Raises `TidelogError` where the text is not TOML.
    """
    try:
        return tomllib.loads(source.text), _Walk(source).walk()
    except RecursionError as cause:
        raise TidelogError([_no_toml(source, "Values are nested too deeply")]) from cause
    except ValueError as cause:
        # `TOMLDecodeError`, or a number of more digits than Python reads.
        raise TidelogError([_no_toml(source, str(cause))]) from cause


def _no_toml(source: Source, message: str) -> Diagnostic:
    match = _AT.match(message)
    words = message if match is None else match[1]
    place = len(source.text)
    if match is not None and match[2] is not None:
        place = source.line_starts[int(match[2]) - 1] + int(match[3]) - 1
    place = max(0, min(place, len(source.text) - 1))
    return Diagnostic(
        code="job-syntax",
        message=f"the job is not valid TOML: {words[:1].lower()}{words[1:]}",
        span=Span(source, place, min(place + 1, len(source.text))),
        hint='write `key = "value"` lines under `[job]`, `[[source]]` and `[[output]]`',
    )


class _Walk:
    """One way through a text that is known to be TOML."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = source.text
        self._at = 0
        self._places = TomlPlaces(source)
        # How many tables each array of tables has so far.
        self._counts: dict[Way, int] = {}

    def walk(self) -> TomlPlaces:
        table: Way = ()
        while True:
            self._skip(_BLANK)
            if self._at >= len(self._text):
                return self._places
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Way:
        """Read `[a.b]` or `[[a.b]]` and return the way of the table that begins there."""
        start = self._at
        is_array = self._text.startswith("[[", start)
        self._at += 2 if is_array else 1
        names = self._names()
        self._skip(_INLINE_BLANK)
        self._at += 2 if is_array else 1
        span = Span(self._source, start, self._at)
        way: Way = ()
        for name in names[:-1]:
            way = self._inside((*way, name))
        way = (*way, names[-1])
        if is_array:
            self._counts[way] = self._counts.get(way, 0) + 1
            self._places.keys.setdefault(way, span)
            way = (*way, self._counts[way] - 1)
        self._places.keys[way] = span
        return way

    def _inside(self, way: Way) -> Way:
        """Return the last table of an array of tables, and any other table as it is."""
        count = self._counts.get(way)
        return way if count is None else (*way, count - 1)

    def _pair(self, table: Way) -> None:
        start = self._at
        way = (*table, *self._names())
        self._places.keys[way] = Span(self._source, start, self._at)
        self._skip(_INLINE_BLANK)
        self._at += 1  # the equals sign
        self._skip(_INLINE_BLANK)
        self._value(way)

    def _names(self) -> list[str]:
        names = []
        while True:
            self._skip(_INLINE_BLANK)
            names.append(self._name())
            if len(names) > _MOST_NAMES:
                raise RecursionError
            end = self._at
            self._skip(_INLINE_BLANK)
            if not self._text.startswith(".", self._at):
                self._at = end
                return names
            self._at += 1

    def _name(self) -> str:
        quoted = self._text[self._at]
        if quoted not in "\"'":
            return self._take(_BARE_KEY)
        text = self._take(_BASIC if quoted == '"' else _LITERAL)
        return str(next(iter(tomllib.loads(f"{text} = 0"))))

    def _value(self, way: Way) -> None:
        start = self._at
        match self._text[start]:
            case '"':
                self._take(_LONG_BASIC if self._text.startswith('"""', start) else _BASIC)
            case "'":
                self._take(_LONG_LITERAL if self._text.startswith("'''", start) else _LITERAL)
            case "[":
                self._array(way)
            case "{":
                self._inline_table(way)
            case _:
                self._at = start + len(self._take(_PLAIN).rstrip())
        self._places.values[way] = Span(self._source, start, self._at)

    def _array(self, way: Way) -> None:
        self._at += 1
        count = 0
        while not self._closes("]"):
            self._value((*way, count))
            self._places.keys[(*way, count)] = self._places.values[(*way, count)]
            count += 1

    def _inline_table(self, way: Way) -> None:
        self._at += 1
        while not self._closes("}"):
            self._pair(way)

    def _closes(self, bracket: str) -> bool:
        """Go to the next member, or past the closing bracket and say so."""
        self._skip(_BLANK)
        if self._text.startswith(",", self._at):
            self._at += 1
            self._skip(_BLANK)
        if self._text.startswith(bracket, self._at):
            self._at += 1
            return True
        return False

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        assert match is not None, "a text that is not TOML after all"
        self._at = match.end()
        return match[0]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        self._take(pattern)
