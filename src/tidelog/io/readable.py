"""Lines without quotes: whether they are read back as the same facts."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.io.fields import split_plain
from tidelog.io.places import CsvLayout
from tidelog.program.nodes import Column, Relation
from tidelog.source import Span
from tidelog.values import Codec, Codes

_NEWLINE: Final = ord("\n")
_RETURN: Final = ord("\r")
_BYTE_ORDER_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class ReadableLines:
    """What lines of a relation hold, checked before they are written; `span` is the directive's."""

    relation: Relation
    layout: CsvLayout
    codec: Codec
    span: Span | None

    def mistake_in(
        self, lines: memoryview | bytes, batch: Sequence[Codes], *, is_start: bool
    ) -> Diagnostic | None:
        """Return a diagnostic if lines would not be read back as the facts they write.

        `lines` are the bytes of the batch and `is_start` says that the file begins with them.
        Counting newlines and delimiters shows that nearly every batch is fine; only others are taken
        apart line by line, as the reader does it.
        """
        if self.layout.is_quoted or self.relation.arity == 0:
            return None
        starts_with_mark = is_start and bytes(lines[:3]) == _BYTE_ORDER_MARK.encode()
        if not starts_with_mark and self._has_expected_marks(lines, len(batch[0])):
            return None
        for number, fields in enumerate(self._rows(batch)):
            if (starts_with_mark and number == 0) or not _reads_back(fields, self.layout):
                return self._unreadable(fields)
        return None

    def mistake_in_header(self) -> Diagnostic | None:
        """Return a diagnostic if the names of the columns cannot stand in a header."""
        names = [column.name for column in self.relation.columns]
        if names and not self.layout.is_quoted and not _reads_back(names, self.layout):
            delimiter = self.layout.delimiter
            message = f"the names of the columns of `{self.relation.name}` hold the delimiter {delimiter!r}"
            hint = "use another delimiter, or rfc4180=true"
            return Diagnostic("unwritable-value", message, self.span, hint)
        return None

    def _has_expected_marks(self, lines: memoryview | bytes, rows: int) -> bool:
        """Say whether newlines and delimiters are just those between lines and fields."""
        delimiter = self.layout.delimiter.encode()
        if len(delimiter) != 1:
            return False
        data = np.frombuffer(lines, dtype=np.uint8)
        if delimiter == b"," and ((data == ord("[")).any() or (data == ord("$")).any()):
            return False
        delimiters = rows * (self.relation.arity - 1)
        return bool(
            np.count_nonzero(data == _NEWLINE) == rows
            and np.count_nonzero(data == delimiter[0]) == delimiters
            and not (data == _RETURN).any()
        )

    def _rows(self, batch: Sequence[Codes]) -> Iterator[list[str]]:
        for row in range(len(batch[0])):
            columns = zip(batch, self.relation.columns, strict=True)
            yield [
                self.codec.format(int(codes[row]), column.type, self.layout.style)
                for codes, column in columns
            ]

    def _unreadable(self, fields: Sequence[str]) -> Diagnostic:
        column, text, what = self._find_mark(fields)
        noun = "symbol" if self.codec.is_symbol(column.type) else "value"
        shown = repr(text) if len(text) <= 60 else repr(text[:57])[:-1] + "...'"
        name = self.relation.name
        message = f"column `{column.name}` of `{name}` has the {noun} {shown}: a line cannot hold {what}"
        hint = f"quote texts with `.output {name}(rfc4180=true)`, or write JSON with `IO=jsonfile`"
        return Diagnostic("unwritable-value", message, self.span, hint)

    def _find_mark(self, fields: Sequence[str]) -> tuple[Column, str, str]:
        """Return the column, the text and the mark in it because of which a line is not read back."""
        delimiter = self.layout.delimiter
        named = "a tab" if delimiter == "\t" else f"the delimiter {delimiter!r}"
        marks = {"\n": "a newline", delimiter: named, "\r": "a carriage return at its end"}
        if len(delimiter) > 1:
            marks[delimiter[0]] = f"part of the delimiter {delimiter!r}"
        marks |= {_BYTE_ORDER_MARK: "a byte order mark at the start", "[": "a bracket", "$": "a `$`"}
        for mark, what in marks.items():
            for text, column in zip(fields, self.relation.columns, strict=True):
                if mark in text:
                    return column, text, what
        raise AssertionError("a line that is not read back holds one of the marks")


def _reads_back(fields: list[str], layout: CsvLayout) -> bool:
    line = layout.delimiter.join(fields)
    if "\n" in line or line.endswith("\r"):
        return False
    found = split_plain(line, layout.delimiter, is_alone=len(fields) == 1)
    return [text for text, _, _ in found] == fields
