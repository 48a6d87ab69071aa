"""Texts and the dense codes that stand for them."""

import sys
from collections.abc import Mapping, Sequence
from threading import RLock
from typing import Final

import numpy as np

from tidelog.values import text_kernels as kernels
from tidelog.values.arrow import pa
from tidelog.values.arrow_numbers import numbers_of
from tidelog.values.codes import Codes
from tidelog.values.image import Add, ArrayOf
from tidelog.values.memory import enlarged, roomy, zeros

_FEW: Final = 16
# Up to so many texts Python is quick enough, and Arrow need not be imported.
_SOME: Final = 256
_MOST_RECENT: Final = 4096
_STRING_BYTES: Final = 2**31 - 1
# Places of the hash table for each text it has room for; it is never fuller than a half.
_PLACES_PER_TEXT: Final = 2


class Dictionary:
    """Text to code and back; codes count from 0 in the order texts are first seen.

    A text keeps its code for the life of the dictionary. Texts lie in one array of UTF-8
    bytes, so that millions of them take little more room than their characters. Threads may
    share a dictionary.

        dictionary.encode(["a", "b", "a"])  ->  [0, 1, 0]
    """

    def __init__(self) -> None:
        self._count = 0
        self._arena = np.empty(1024, dtype=np.uint8)
        self._starts: Codes = np.zeros(65, dtype=np.int64)
        self._table = np.zeros(64 * _PLACES_PER_TEXT, dtype=np.uint64)
        self._order: Codes = np.empty(0, dtype=np.int64)
        self._ranks: Codes = np.empty(0, dtype=np.int64)
        # Texts met lately from Python: finding them here is ten times as quick.
        self._recent: dict[str, int] = {}
        self._lock = RLock()

    def __len__(self) -> int:
        return self._count

    def find(self, text: str) -> int | None:
        """Return the code of a text, or None if the text has none."""
        recent = self._recent.get(text)
        if recent is not None:
            return recent
        try:
            data = _frozen(text.encode())
        except UnicodeEncodeError:
            return None
        with self._lock:
            code = int(kernels.find_text(data, self._table, self._arena, self._starts))
        return None if code < 0 else code

    def code_of(self, text: str) -> int:
        """Return the code of a text, a new one if the text has none."""
        code = self._recent.get(text)
        if code is None:
            data = _frozen(text.encode())
            code = int(self._intern(data, np.array([0, data.size], dtype=np.int64))[0])
            if len(self._recent) >= _MOST_RECENT:
                self._recent.clear()
            self._recent[text] = code
        return code

    def text_of(self, code: int) -> str:
        """Return the text of a code that this dictionary gave."""
        assert 0 <= code < self._count, "a code of another dictionary"
        return self._arena[self._starts[code] : self._starts[code + 1]].tobytes().decode()

    def encode(self, texts: Sequence[str]) -> Codes:
        """Return the codes of texts."""
        if len(texts) <= (_FEW if "pyarrow" in sys.modules else _SOME):
            return np.fromiter(map(self.code_of, texts), dtype=np.int64, count=len(texts))
        return self.encode_arrow(pa.array(texts, type=pa.large_string()))

    def encode_arrow(self, texts: "pa.Array | pa.ChunkedArray") -> Codes:
        """Return the codes of an Arrow column of strings or dictionary-encoded strings.

        The column must not hold nulls.
        """
        if isinstance(texts, pa.ChunkedArray):
            parts = [self.encode_arrow(chunk) for chunk in texts.chunks]
            return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
        assert texts.null_count == 0, "null has no code"
        if not pa.types.is_dictionary(texts.type):
            return self._encode_strings(texts)
        distinct = self._encode_strings(texts.dictionary)
        codes: Codes = distinct[numbers_of(texts.indices)]
        return codes

    def decode(self, codes: Codes) -> list[str]:
        """Return the texts of codes."""
        if codes.size <= _SOME:
            return [self.text_of(code) for code in codes.tolist()]
        texts: list[str] = self._take(codes).to_pylist()
        return texts

    def to_arrow(self, codes: Codes) -> "pa.Array":
        """Return the texts of codes as an Arrow column of strings.

        More than 2 GiB of text, which a `string` array cannot hold, is a `large_string` array.
        """
        if codes.size <= _SOME:
            return pa.array(self.decode(codes), type=pa.string())
        texts = self._take(codes)
        return texts if texts.nbytes - 8 * len(texts) > _STRING_BYTES else texts.cast(pa.string())

    def ranks(self) -> Codes:
        """Return, for every code, the rank of its text in code point order.

        The array must not be written to.
        """
        with self._lock:
            if self._ranks.size != self._count:
                self._sort()
            return self._ranks

    def ranks_of(self, codes: Codes) -> Codes:
        """Return numbers in the code point order of the texts, to be compared with each other only."""
        return self.ranks()[codes]

    def forget(self, first: int) -> None:
        """Forget the texts with codes from `first` on; others may get these codes later."""
        with self._lock:
            if first >= self._count:
                return
            self._count = first
            kept = np.where((self._table & kernels.CODE) > np.uint64(first), kernels.FREE, self._table)
            self._table = np.zeros_like(self._table)
            kernels.grow_table(kept, self._table)
            self._recent.clear()
            self._order = self._order[self._order < first]
            self._ranks = np.empty(0, dtype=np.int64)

    def _take(self, codes: Codes) -> "pa.Array":
        return self._all().take(pa.array(codes))

    def _all(self) -> "pa.Array":
        """Return all texts without copying them."""
        with self._lock:
            starts, arena, count = self._starts, self._arena, self._count
        return pa.LargeStringArray.from_buffers(count, pa.py_buffer(starts), pa.py_buffer(arena))

    def _sort(self) -> None:
        known = self._order.size
        added = self._sorted_from(known)
        if known:
            added = kernels.merge_orders(self._arena, self._starts, self._order, added)
        self._order = added
        ranks = np.empty(added.size, dtype=np.int64)
        ranks[added] = np.arange(added.size, dtype=np.int64)
        self._ranks = ranks

    def _sorted_from(self, first: int) -> Codes:
        """Return the codes from the first on, in the order of the code points of their texts."""
        if self._count - first <= _SOME:
            return np.array(sorted(range(first, self._count), key=self.text_of), dtype=np.int64)
        import pyarrow.compute  # noqa: PLC0415 - see _SOME

        return np.asarray(pyarrow.compute.sort_indices(self._all().slice(first)), dtype=np.int64) + first

    def write_image(self, add: Add) -> dict[str, int]:
        """Add the texts to an image, with the table that leads to them; return what `read_image` needs."""
        with self._lock:
            texts, used = self._count + 1, int(self._starts[self._count])
            return {
                "count": self._count,
                "table": add(self._table),
                "starts": add(self._starts[:texts], texts + texts // 4),
                "arena": add(self._arena[:used], used + used // 4),
            }

    def read_image(self, about: Mapping[str, int], array_of: ArrayOf) -> None:
        """Give a dictionary without texts those of an image."""
        assert not self._count, "an image is read before any text"
        self._table, self._starts = array_of(about["table"]), array_of(about["starts"])
        self._arena, self._count = array_of(about["arena"]), about["count"]

    def _encode_strings(self, texts: "pa.Array") -> Codes:
        width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
        _, offsets, data = texts.buffers()
        if not len(texts) or offsets is None:
            return np.empty(0, dtype=np.int64)
        places = np.frombuffer(offsets, dtype=width)[texts.offset : texts.offset + len(texts) + 1]
        return self._intern(_frozen(data), places.astype(np.int64))

    def _intern(self, data: kernels.Bytes, offsets: Codes) -> Codes:
        codes = np.empty(offsets.size - 1, dtype=np.int64)
        with self._lock:
            self._reserve(codes.size, int(offsets[-1] - offsets[0]))
            self._count = kernels.intern_texts(
                data, offsets, self._table, self._arena, self._starts, self._count, codes
            )
        return codes

    def _reserve(self, texts: int, size: int) -> None:
        """Make room for so many new texts of so many bytes together."""
        wanted = int(self._starts[self._count]) + size
        if wanted > self._arena.size:
            self._arena = _grown(self._arena, wanted, int(self._starts[self._count]))
        wanted = self._count + texts
        if wanted >= self._starts.size:
            self._starts = _grown(self._starts, wanted + 1, self._count + 1)
        if wanted * _PLACES_PER_TEXT > self._table.size:
            larger = zeros((1 << (wanted * _PLACES_PER_TEXT - 1).bit_length(),), np.dtype(np.uint64))
            kernels.grow_table(self._table, larger)
            self._table = larger


def _grown(array: np.ndarray, wanted: int, used: int) -> np.ndarray:
    """Return a longer copy of the first elements."""
    return enlarged(array, roomy(wanted, array.size, array.itemsize), used)


def _frozen(data: "pa.Buffer | bytes | None") -> kernels.Bytes:
    """Return bytes as an array that cannot be written to: kernels are compiled for that kind."""
    array = np.frombuffer(data or b"", dtype=np.uint8)
    array.flags.writeable = False
    return array
