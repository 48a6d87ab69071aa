"""Lines of facts, one by one: finds every mistake and accepts every way to write a number."""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.io.fields import Field, split_plain
from tidelog.io.mistakes import Mistakes, TextPlace
from tidelog.io.places import CsvLayout
from tidelog.io.quotes import quoted_lines, unquote
from tidelog.program.nodes import Relation
from tidelog.program.suggest import counted
from tidelog.values import Codec, Codes, Kind, TextError

_BAD_BYTES: Final = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class LineWindow:
    """Whole lines of a file, and how many stand before them."""

    data: bytes
    lines_before: int


def read_carefully(
    window: LineWindow, relation: Relation, layout: CsvLayout, codec: Codec, mistakes: Mistakes
) -> list[Codes]:
    """Return the codes of the facts in a window.

    Mistakes are reported to `mistakes`; the facts on those lines are left out.
    """
    reader = _LineReader(relation, layout, codec, mistakes)
    for line, text in _lines(window.data, layout):
        reader.read(text, line + window.lines_before)
    return [np.array(codes, dtype=np.int64) for codes in reader.columns]


def _lines(data: bytes, layout: CsvLayout) -> Iterator[tuple[int, str]]:
    """Return the 1-based number and the text of every line.

    Bytes that are not UTF-8 become lone surrogates, so that they can be pointed at.
    """
    text = data.decode("utf-8", "surrogateescape")
    if layout.is_quoted:
        yield from quoted_lines(text, layout.delimiter)
        return
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), start=1):
        yield number, line.removesuffix("\r")


class _LineReader:
    def __init__(self, relation: Relation, layout: CsvLayout, codec: Codec, mistakes: Mistakes) -> None:
        self._types = [column.type for column in relation.columns]
        self._name = relation.name
        self._names = [column.name for column in relation.columns]
        self._layout = layout
        self._codec = codec
        self._mistakes = mistakes
        self._keeps_empty = has_empty_texts(relation, codec)
        self.columns: list[list[int]] = [[] for _ in relation.columns]

    def read(self, text: str, line: int) -> None:
        if not text and not self._keeps_empty:
            return
        bad = _BAD_BYTES.search(text)
        if bad is not None:
            byte = ord(bad.group()) - 0xDC00
            shown = _BAD_BYTES.sub("\N{REPLACEMENT CHARACTER}", text)
            message = f"the byte 0x{byte:02x} is not UTF-8"
            hint = "save the file in the encoding UTF-8"
            place = TextPlace(line, shown, bad.start(), bad.end())
            self._mistakes.report("bad-encoding", message, place, hint)
            return
        fields = self._split(text, line)
        if fields is None:
            return
        codes = self._codes(fields, text, line)
        if codes is not None:
            for column, code in zip(self.columns, codes, strict=True):
                column.append(code)

    def _codes(self, fields: list[Field], text: str, line: int) -> list[int] | None:
        codes = []
        is_right = True
        for (value, start, end), type_name, name in zip(fields, self._types, self._names, strict=True):
            try:
                codes.append(self._codec.parse(value, type_name))
            except TextError as error:
                is_right = False
                message = f"column `{name}` of type `{type_name}`: {error.message}"
                place = TextPlace(line, text, start, end)
                if end - start == len(value):
                    place = TextPlace(line, text, start + error.start, start + error.end)
                self._mistakes.report(error.code, message, place, _value_hint(self._codec, type_name))
        return codes if is_right else None

    def _split(self, text: str, line: int) -> list[Field] | None:
        if self._layout.is_quoted:
            fields = self._split_quoted(text, line)
            if fields is None:
                return None
        else:
            is_alone = len(self._types) == 1 and self._layout.positions is None
            fields = split_plain(text, self._layout.delimiter, is_alone=is_alone)
        positions = self._layout.positions
        wanted, is_exact = self._layout.width, True
        if wanted is None:
            wanted = len(self._types) if positions is None else max(positions, default=-1) + 1
            is_exact = positions is None
        if len(fields) < wanted or (is_exact and len(fields) > wanted):
            start = fields[wanted][1] if len(fields) > wanted else len(text)
            message = f"{counted(len(fields), 'column')} where {counted(wanted, 'column')} should be"
            hint = self._delimiter_hint(text, len(fields), wanted)
            place = TextPlace(line, text, start, max(len(text), start + 1))
            self._mistakes.report("wrong-column-count", message, place, hint)
            return None
        return fields if positions is None else [fields[position] for position in positions]

    def _delimiter_hint(self, text: str, found: int, wanted: int) -> str:
        """Return what to do about a line with too few or too many columns."""
        delimiter = _shown(self._layout.delimiter)
        others = [each for each in (",", "\t", ";", "|") if text.count(each) == wanted - 1 > 0]
        if found == 1 and others:
            parameter = '"\\t"' if others[0] == "\t" else f'"{others[0]}"'
            return (
                f"separate columns with {delimiter}, or declare `.input {self._name}(delimiter={parameter})`"
            )
        names = ", ".join(self._names)
        return f"separate columns with {delimiter}; `{self._name}` has {names or 'no columns'}"

    def _split_quoted(self, text: str, line: int) -> list[Field] | None:
        fields = []
        delimiter = self._layout.delimiter
        start = 0
        while True:
            if text[start : start + 1] == '"':
                end, value = unquote(text, start)
                if value is None or not (end == len(text) or text.startswith(delimiter, end)):
                    hint = 'a `"` inside quotes is written `""`'
                    message, wrong = "expected the end of the column", end
                    if value is None:
                        message, wrong = "the quotes are never closed", start
                    place = TextPlace(line, text, wrong, wrong + 1)
                    self._mistakes.report("malformed-row", message, place, hint)
                    return None
            else:
                end = text.find(delimiter, start)
                end = len(text) if end < 0 else end
                value = text[start:end]
            fields.append((value, start, end))
            if end == len(text):
                return fields
            start = end + len(delimiter)


def has_empty_texts(relation: Relation, codec: Codec) -> bool:
    """Say whether an empty line is a fact: that of one column with the empty text."""
    types = [column.type for column in relation.columns]
    return len(types) == 1 and codec.is_symbol(types[0])


def _value_hint(codec: Codec, type_name: str) -> str | None:
    """Return how a value of a number's type is written."""
    match codec.resolve(type_name).kind:
        case Kind.NUMBER:
            return "write a whole number such as -3; a text needs a column of type symbol"
        case Kind.UNSIGNED:
            return "write a whole number from 0 on; a text needs a column of type symbol"
        case Kind.FLOAT:
            return "write a number such as 2.5; a text needs a column of type symbol"
    return None


def _shown(delimiter: str) -> str:
    return {"\t": "a tab", ",": "a comma"}.get(delimiter, f"`{delimiter}`")
