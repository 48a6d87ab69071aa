"""Lines without quotes, taken apart into fields.

Writing asks the same function whether a line will be read as it is meant.
"""

from typing import Final

# A field: its text, and the characters of the line it was read from.
Field = tuple[str, int, int]

_OPENING: Final = frozenset("[(")
_CLOSING: Final = frozenset("])")


def split_plain(text: str, delimiter: str, *, is_alone: bool) -> list[Field]:
    """Return the fields of a line; `is_alone` says that the relation has just one column."""
    if is_alone and delimiter not in text:
        return [(text, 0, len(text))]
    fields = []
    start = 0
    while True:
        end = _end_of_field(text, start, delimiter)
        fields.append((text[start:end], start, end))
        if end == len(text):
            return fields
        start = end + len(delimiter)


def _end_of_field(text: str, start: int, delimiter: str) -> int:
    """Return where the field ends; a comma inside brackets of a record does not end it."""
    if "," in delimiter and text[start : start + 1] in {"[", "$"}:
        end = _end_of_brackets(text, start, delimiter)
        if end is not None:
            return end
    end = text.find(delimiter, start)
    return len(text) if end < 0 else end


def _end_of_brackets(text: str, start: int, delimiter: str) -> int | None:
    """Return the first delimiter outside brackets and the quotes in them, None if they never close."""
    depth = 0
    at = start
    while at < len(text):
        char = text[at]
        if char == '"' and depth > 0:
            at = _end_of_quotes(text, at)
            continue
        if char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth -= 1
        elif depth <= 0 and text.startswith(delimiter, at):
            return at
        at += 1
    return len(text) if depth <= 0 else None


def _end_of_quotes(text: str, start: int) -> int:
    """Return the place after quotes that hold a symbol of a record; a backslash protects a quote."""
    at = start + 1
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == '"':
            return at + 1
        at += 1
    return len(text)
