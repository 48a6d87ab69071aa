r"""Patterns of `match`: regular expressions of ECMAScript, as C++ reads them, translated for Python.

Soufflé matches whole texts with `std::regex` in its ECMAScript mode. The translation has the same meaning,
or there is none and `PatternError` says why:

    [[:alpha:]_]\w*     [A-Z_a-z][0-9A-Z_a-z]*     (classes are ASCII)
    a$                  a\Z                        (`$` is the end and nothing before it)
    []                  (?!)                       (no character at all)
    (?<=a)b             refused: ECMAScript as C++ reads it does not look behind

Three differences from `std::regex` are meant: texts are code points and not bytes, `\cA` is a control
character as ECMAScript says, and an escaped letter without a meaning is refused.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from tidelog.dataclass import dataclass

Interval = tuple[int, int]

_LAST: Final = 0x10FFFF
_MOST_REPEATED: Final = 100_000
_DEEPEST: Final = 100


class PatternError(ValueError):
    """A text that is not a pattern; the message says why."""


@lru_cache(maxsize=1024)
def compile_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern for Python's `re`, whose `fullmatch` decides `match`; raises `PatternError`."""
    translated = translate_pattern(text)
    try:
        return re.compile(translated, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"it cannot be used: {error}") from error


def translate_pattern(text: str) -> str:
    """Return the pattern in the language of Python's `re`; raises `PatternError`."""
    return _Translator(text).whole()


# --- sets of characters ----------------------------------------------------------------------


def _intervals(characters: str) -> tuple[Interval, ...]:
    """Return the intervals that a text such as `09AZaz` lists, two ends each."""
    points = [ord(character) for character in characters]
    return tuple(zip(points[::2], points[1::2], strict=True))


_CLASSES: Final = {
    "alnum": _intervals("09AZaz"),
    "alpha": _intervals("AZaz"),
    "blank": _intervals("\t\t  "),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "digit": _intervals("09"),
    "graph": _intervals("!~"),
    "lower": _intervals("az"),
    "print": _intervals(" ~"),
    "punct": _intervals("!/:@[`{~"),
    "space": _intervals("\t\r  "),
    "upper": _intervals("AZ"),
    "xdigit": _intervals("09AFaf"),
    "d": _intervals("09"),
    "s": _intervals("\t\r  "),
    "w": _intervals("09AZ__az"),
}
# What POSIX calls the characters that are not letters, as in `[[.hyphen.]]`, in the order of their codes.
_NAMES: Final = """
NUL SOH STX ETX EOT ENQ ACK alert backspace tab newline vertical-tab form-feed carriage-return SO SI
DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC IS4 IS3 IS2 IS1
space exclamation-mark quotation-mark number-sign dollar-sign percent-sign ampersand apostrophe
left-parenthesis right-parenthesis asterisk plus-sign comma hyphen period slash
zero one two three four five six seven eight nine
colon semicolon less-than-sign equals-sign greater-than-sign question-mark commercial-at
left-square-bracket backslash right-square-bracket circumflex underscore grave-accent
left-curly-bracket vertical-line right-curly-bracket tilde DEL
"""
_COLLATING: Final = dict(
    zip(_NAMES.split(), (*range(0x41), *range(0x5B, 0x61), *range(0x7B, 0x80)), strict=True)
)
_CONTROL: Final = {"0": 0, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}


def _complement(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    found: list[Interval] = []
    start = 0
    for low, high in _merged(intervals):
        if low > start:
            found.append((start, low - 1))
        start = high + 1
    if start <= _LAST:
        found.append((start, _LAST))
    return tuple(found)


def _merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the intervals in order, those that touch made one."""
    found: list[Interval] = []
    for low, high in sorted(intervals):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def _written_set(intervals: Iterable[Interval]) -> str:
    """Return a set of Python's `re`."""
    merged = _merged(intervals)
    if not merged:
        return "(?!)"
    parts = (_point(low) if low == high else f"{_point(low)}-{_point(high)}" for low, high in merged)
    return f"[{''.join(parts)}]"


def _point(code_point: int) -> str:
    character = chr(code_point)
    is_plain = character.isascii() and (character.isalnum() or character == "_")
    return character if is_plain else f"\\U{code_point:08x}"


# --- the translation -------------------------------------------------------------------------


@dataclass(slots=True)
class _Set:
    """A set in brackets while it is read; `last` is a character that may begin a range."""

    intervals: list[Interval]
    last: int | None = None
    is_behind_class: bool = False

    def add(self, code_point: int) -> None:
        """Add a character."""
        self.flush()
        self.last, self.is_behind_class = code_point, False

    def add_class(self, intervals: Iterable[Interval]) -> None:
        """Add a class, with which no range can begin."""
        self.flush()
        self.intervals.extend(intervals)
        self.last, self.is_behind_class = None, True

    def close_range(self, high: int) -> None:
        """Add the range from the last character on."""
        assert self.last is not None
        if high < self.last:
            raise PatternError(f"the range `{chr(self.last)}-{chr(high)}` is empty")
        self.intervals.append((self.last, high))
        self.last, self.is_behind_class = None, False

    def flush(self) -> None:
        """Add the last character, which begins no range."""
        if self.last is not None:
            self.intervals.append((self.last, self.last))


class _Translator:
    """Reads a pattern from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.opened = 0
        self.closed: set[int] = set()
        self.depth = 0

    # --- reading ---

    def peek(self, length: int = 1) -> str:
        """Return the next characters without reading them."""
        return self.text[self.position : self.position + length]

    def take(self, expected: str) -> bool:
        """Read the expected characters if they come next."""
        if expected and self.text.startswith(expected, self.position):
            self.position += len(expected)
            return True
        return False

    def next(self) -> str:
        """Read a character."""
        character = self.peek()
        self.position += 1
        return character

    # --- terms ---

    def whole(self) -> str:
        """Return the translation of the whole pattern."""
        translated = self.disjunction()
        if self.position < len(self.text):
            self.unexpected()
        return translated

    def unexpected(self) -> None:
        """Raise the error for a character that cannot stand where it does."""
        character = self.peek()
        if character == ")":
            raise PatternError("`)` closes no group")
        if character == "{":
            raise PatternError(r"there is nothing before `{` to repeat; write `\{` for the character")
        raise PatternError(f"there is nothing before `{character}` to repeat")

    def disjunction(self) -> str:
        """Return alternatives, up to the end or a closing bracket."""
        alternatives = [self.alternative()]
        while self.take("|"):
            alternatives.append(self.alternative())
        return "|".join(alternatives)

    def alternative(self) -> str:
        """Return terms, one after the other."""
        terms: list[str] = []
        while self.position < len(self.text) and self.peek() not in ")|*+?{":
            assertion = self.assertion()
            terms.append(self.quantified(self.atom()) if assertion is None else assertion)
        return "".join(terms)

    def assertion(self) -> str | None:
        """Return what holds at a place without reading a character; None if that does not come next."""
        if self.take("^"):
            return r"\A"
        if self.take("$"):
            return r"\Z"
        if self.take(r"\b"):
            return r"\b"
        if self.take(r"\B"):
            # `\B` of Python does not hold in an empty text.
            return r"(?!\b)"
        for opening in ("(?=", "(?!"):
            if self.take(opening):
                return f"{opening}{self.group()})"
        return None

    def atom(self) -> str:
        """Return what can be repeated."""
        if self.take("(?:"):
            return f"(?:{self.group()})"
        if self.peek(2) == "(?":
            raise PatternError(
                f"a group cannot begin with `{self.peek(3)}`; there are `(`, `(?:`, `(?=` and `(?!`"
            )
        if self.take("("):
            self.opened += 1
            number = self.opened
            inside = self.group()
            self.closed.add(number)
            return f"({inside})"
        if self.take("["):
            return self.bracket()
        if self.take("."):
            return _written_set(_complement(((0x0A, 0x0A), (0x0D, 0x0D))))
        if self.take("\\"):
            return self.escape()
        return re.escape(self.next())

    def group(self) -> str:
        """Return what stands in a group, and read its closing bracket."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise PatternError(f"groups are nested more than {_DEEPEST} deep")
        inside = self.disjunction()
        self.depth -= 1
        if not self.take(")"):
            if self.position < len(self.text):
                self.unexpected()
            raise PatternError("a group is not closed with `)`")
        return inside

    # --- repetition ---

    def quantified(self, atom: str) -> str:
        """Return the atom with the quantifiers behind it; a second one repeats the first."""
        translated = atom
        is_repeated = False
        while (quantifier := self.quantifier()) is not None:
            translated = f"(?:{translated}){quantifier}" if is_repeated else f"{translated}{quantifier}"
            is_repeated = True
        return translated

    def quantifier(self) -> str | None:
        """Return a quantifier, perhaps lazy; None if none comes next."""
        character = self.peek()
        if character and character in "*+?":
            self.position += 1
            quantifier = character
        elif self.take("{"):
            quantifier = self.count()
        else:
            return None
        return quantifier + "?" if self.take("?") else quantifier

    def count(self) -> str:
        """Return a quantifier in braces, whose opening one is read."""
        found = re.compile(r"([0-9]+)(?:(,)([0-9]*))?\}").match(self.text, self.position)
        if found is None:
            raise PatternError(r"`{` needs a count, as in `{2}` or `{1,3}`; write `\{` for the character")
        self.position = found.end()
        least, comma, most = found.groups()
        if any(len(number) > len(str(_MOST_REPEATED)) for number in (least, most or "")):
            raise PatternError(f"nothing is repeated more than {_MOST_REPEATED} times")
        if max(int(least), int(most or 0)) > _MOST_REPEATED:
            raise PatternError(f"nothing is repeated more than {_MOST_REPEATED} times")
        if most and int(most) < int(least):
            raise PatternError(f"`{{{least},{most}}}` has its larger count first")
        return f"{{{int(least)}{comma or ''}{int(most) if most else ''}}}"

    # --- escapes ---

    def escape(self) -> str:
        """Return what stands behind a backslash outside brackets."""
        character = self.peek()
        if character.isascii() and character.isdigit() and character != "0":
            return self.back_reference()
        if character and character in "dswDSW":
            self.position += 1
            return _written_set(_shorthand(character))
        return re.escape(chr(self.escaped_character()))

    def back_reference(self) -> str:
        """Return a reference to the text of a group."""
        found = re.compile("[0-9]+").match(self.text, self.position)
        assert found is not None
        self.position = found.end()
        digits = found.group().lstrip("0")
        if len(digits) > 4 or int(digits) not in self.closed:
            raise PatternError(f"`\\{digits}` refers to a group that is not closed before it")
        return f"(?:\\{int(digits)})"

    def escaped_character(self) -> int:
        """Return the code point of an escape that stands for one character."""
        if self.position >= len(self.text):
            raise PatternError("a backslash is the last character")
        character = self.next()
        if character in _CONTROL:
            return _CONTROL[character]
        if character in ("x", "u"):
            width = 2 if character == "x" else 4
            digits = self.peek(width)
            if re.fullmatch(f"[0-9a-fA-F]{{{width}}}", digits) is None:
                raise PatternError(f"`\\{character}` needs {width} hexadecimal digits")
            self.position += width
            return int(digits, 16)
        if character == "c":
            letter = self.next()
            if not letter.isascii() or not letter.isalpha():
                raise PatternError(r"`\c` needs a letter")
            return ord(letter) % 32
        if character.isascii() and character.isalnum():
            raise PatternError(f"`\\{character}` has no meaning")
        return ord(character)

    # --- brackets ---

    def bracket(self) -> str:
        """Return a set whose opening bracket is read."""
        is_negated = self.take("^")
        found = _Set([])
        while not self.take("]"):
            if self.position >= len(self.text):
                raise PatternError("a set is not closed with `]`")
            self.member(found)
        found.flush()
        return _written_set(_complement(found.intervals) if is_negated else found.intervals)

    def member(self, found: _Set) -> None:
        """Read a character, a class, or the dash of a range."""
        if self.peek() == "-" and self.peek(2) != "-]" and (found.last is not None or found.is_behind_class):
            if found.is_behind_class:
                raise PatternError("a class of characters cannot begin a range")
            self.position += 1
            found.close_range(self.range_end())
            return
        for opening, add in (("[:", self.named_class), ("[=", self.equivalent), ("[.", self.collating)):
            if self.take(opening):
                add(self.name_in_bracket(opening[1]), found)
                return
        if self.peek() == "\\" and self.peek(2)[1:] in tuple("dswDSW"):
            found.add_class(_shorthand(self.peek(2)[1]))
            self.position += 2
            return
        found.add(self.character_in_bracket())

    def range_end(self) -> int:
        """Return the character that ends a range."""
        if self.peek() == "[" and self.peek(2)[1:] in (":", "=", "."):
            raise PatternError("a class of characters cannot end a range")
        if self.peek() == "\\" and self.peek(2)[1:] in tuple("dswDSW"):
            raise PatternError("a class of characters cannot end a range")
        if self.position >= len(self.text):
            raise PatternError("a set is not closed with `]`")
        return self.character_in_bracket()

    def character_in_bracket(self) -> int:
        """Return one character of a set."""
        if not self.take("\\"):
            return ord(self.next())
        character = self.peek()
        if character == "b":
            self.position += 1
            return 0x08
        return self.escaped_character()

    def name_in_bracket(self, mark: str) -> str:
        """Return the name up to `:]`, `=]` or `.]`."""
        end = self.text.find(mark, self.position)
        if end < 0 or self.text[end + 1 : end + 2] != "]":
            raise PatternError(f"`[{mark}` is not closed with `{mark}]`")
        name = self.text[self.position : end]
        self.position = end + 2
        return name

    def named_class(self, name: str, found: _Set) -> None:
        """Add `[:name:]`."""
        if name.lower() not in _CLASSES:
            raise PatternError(f"there is no class `[:{name}:]`")
        found.add_class(_CLASSES[name.lower()])

    def equivalent(self, name: str, found: _Set) -> None:
        """Add `[=x=]`: without a locale, just the character."""
        if len(name) != 1:
            raise PatternError(f"`[={name}=]` must name one character")
        found.add_class(((ord(name), ord(name)),))

    def collating(self, name: str, found: _Set) -> None:
        """Add `[.x.]`, a character or the name of one."""
        if len(name) != 1 and name not in _COLLATING:
            raise PatternError(f"there is no character `[.{name}.]`")
        found.add(ord(name) if len(name) == 1 else _COLLATING[name])


def _shorthand(letter: str) -> tuple[Interval, ...]:
    r"""Return what `\d` and its like stand for."""
    intervals = _CLASSES[letter.lower()]
    return _complement(intervals) if letter.isupper() else intervals
