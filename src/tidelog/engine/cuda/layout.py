"""How the facts of a relation are packed into words of 64 bits."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.engine.cuda.code_ranges import CodeRange, Ranges
from tidelog.engine.protocol import Codes

Words = npt.NDArray[np.uint64]

# The table of packed facts keeps words plus one, so the word with all bits set is not used.
_PACKED_BITS = 63
_WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class PackedColumn:
    """A column of a packed fact: `bits` bits of a word, from `shift` on, hold the code less `base`."""

    word: int
    shift: int
    bits: int
    base: int


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The columns of a relation in words.

    A fact that `is_packed` is one word of at most 63 bits, which a table of facts holds itself.
    """

    columns: tuple[PackedColumn, ...]
    words: int
    is_packed: bool

    def pack(self, columns: Sequence[Codes], count: int) -> Words:
        """Return facts as words, one array for each word."""
        packed = np.zeros((self.words, count), np.uint64)
        for place, column in zip(self.columns, columns, strict=True):
            codes = column.astype(np.int64, copy=False) - np.int64(place.base)
            packed[place.word] |= codes.view(np.uint64) << np.uint64(place.shift)
        return packed

    def unpack(self, words: Sequence[Any]) -> list[Any]:
        """Return the columns of facts in words, as arrays of the sort that the words are in."""
        columns = []
        for place in self.columns:
            mask = np.uint64((1 << place.bits) - 1)
            codes = (words[place.word] >> np.uint64(place.shift)) & mask
            columns.append(codes.view(np.int64) + np.int64(place.base))
        return columns


def make_layout(ranges: Ranges) -> RowLayout:
    """Return the layout of facts whose columns have these ranges."""
    total = sum(codes.bits for codes in ranges)
    if total <= _PACKED_BITS:
        return RowLayout(_in_words(ranges), 1, is_packed=True)
    columns = _in_words(ranges)
    return RowLayout(columns, 1 + max(column.word for column in columns), is_packed=False)


def _in_words(ranges: Sequence[CodeRange]) -> tuple[PackedColumn, ...]:
    """Return where columns are: each in one word, in the first that has room behind the last column."""
    columns = []
    word = shift = 0
    for codes in ranges:
        if shift + codes.bits > _WORD_BITS:
            word, shift = word + 1, 0
        base = 0 if codes.bits == _WORD_BITS or codes.size == 0 else codes.least
        columns.append(PackedColumn(word, shift, codes.bits, base))
        shift += codes.bits
    return tuple(columns)
