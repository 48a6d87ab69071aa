"""Values as the text of fact files, and that text as values.

Numbers, unsigned and floats are written in digits (a float in the fewest digits that give it
back, or in those that Soufflé writes), a symbol as its bare text, a record as `[1, a, nil]`, a
value of an algebraic type as `$Branch(1, x)`. A symbol inside a record or branch is quoted with `"`
where its bare text could not be told from the text around it.
"""

import math
import re
from typing import Final

from tidelog.values.codes import NUMBER_MAX, NUMBER_MIN, UNSIGNED_MAX
from tidelog.values.types import Kind


class TextError(ValueError):
    """A text is not a value of its type; `start` and `end` say which characters are wrong."""

    def __init__(self, code: str, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.start = start
        self.end = end


_INTEGER: Final = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)", re.ASCII)
_FLOAT: Final = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE
)
# A longer text of digits cannot fit 64 bits, and int() refuses thousands of digits.
_LONGEST_INTEGER: Final = 70
_NEEDS_QUOTES: Final = re.compile(r'[,\[\]()"\\\x00-\x1f]|^\s|\s$|^$')
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
_UNESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


def format_float(value: float) -> str:
    """Return the fewest digits that give the float back: `0.1`, `1.0`, `1e+20`, `inf`, `nan`."""
    return repr(value)


def format_float_as_souffle(value: float) -> str:
    """Return the float as Soufflé writes it, in up to 17 digits: `1`, `2.5`, `0.10000000000000001`."""
    return f"{value:.17g}"


def parse_integer(text: str, kind: Kind, start: int = 0) -> int:
    """Return the number or unsigned that a text writes, in decimal, `0x` or `0b` digits.

    `start` is added to the positions of a `TextError`. An unsigned may end in `u`.
    """
    body = text.strip()
    digits = body[:-1] if kind is Kind.UNSIGNED and body[-1:] in {"u", "U"} else body
    low, high = (0, UNSIGNED_MAX) if kind is Kind.UNSIGNED else (NUMBER_MIN, NUMBER_MAX)
    if _INTEGER.fullmatch(digits) is None:
        message = f"`{_shorten(text)}` is not a valid {kind.value}"
        raise TextError("malformed-value", message, start, start + len(text))
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    base = {"0x": 16, "0b": 2}.get(digits[:2].lower(), 10)
    significant = (digits if base == 10 else digits[2:]).lstrip("0") or "0"
    value = sign * int(significant, base) if len(significant) <= _LONGEST_INTEGER else None
    if value is None or not low <= value <= high:
        message = f"`{_shorten(text)}` does not fit {kind.value} ({low} to {high})"
        raise TextError("number-too-large", message, start, start + len(text))
    return value


def parse_float(text: str, start: int = 0) -> float:
    """Return the float that a text writes."""
    if _FLOAT.fullmatch(text.strip()) is None:
        message = f"`{_shorten(text)}` is not a valid float"
        raise TextError("malformed-value", message, start, start + len(text))
    value = float(text.strip())
    if math.isinf(value) and "inf" not in text.lower():
        message = f"`{_shorten(text)}` does not fit float"
        raise TextError("number-too-large", message, start, start + len(text))
    return value


def quote_inside(text: str) -> str:
    """Return a symbol as it stands inside a record or branch."""
    return quote(text) if _NEEDS_QUOTES.search(text) is not None else text


def quote(text: str) -> str:
    """Return a symbol in quotes."""
    return '"' + "".join(_ESCAPES.get(char, char) for char in text) + '"'


class TextReader:
    """Takes the text of one record or branch apart, from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def skip_space(self) -> None:
        """Move past white space."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def accept(self, token: str) -> bool:
        """Move past white space and `token` if it comes next, and say whether it did."""
        self.skip_space()
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def expect(self, token: str) -> None:
        """Move past `token`, which must come next."""
        if not self.accept(token):
            raise self.error(f"expected `{token}`")

    def word(self) -> tuple[str, int]:
        """Return the trimmed text up to the next `,`, bracket or end, and where it starts."""
        self.skip_space()
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in ",[]()":
            self.at += 1
        return self.text[start : self.at].rstrip(), start

    def symbol(self) -> str:
        """Return a symbol: quoted, or the bare text up to the next `,`, bracket or end."""
        self.skip_space()
        if not self.accept('"'):
            return self.word()[0]
        chars: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == '"':
                return "".join(chars)
            if char == "\\" and self.at < len(self.text):
                char = _UNESCAPES.get(self.text[self.at], self.text[self.at])
                self.at += 1
            chars.append(char)
        raise self.error('expected a closing `"`')

    def finish(self) -> None:
        """Make sure that nothing but white space is left."""
        self.skip_space()
        if self.at < len(self.text):
            raise self.error("expected the end of the value", len(self.text))

    def error(self, message: str, end: int | None = None) -> TextError:
        """Return an error at the present place."""
        return TextError("malformed-value", message, self.at, self.at + 1 if end is None else end)


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
