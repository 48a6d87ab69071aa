"""Texts and the dense codes that stand for them."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.values.codes import Codes


class Dictionary:
    """Text to code and back; codes count from 0 in the order texts are first seen.

    A text keeps its code for the life of the dictionary.

        dictionary.encode(["a", "b", "a"])  ->  [0, 1, 0]
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []
        self._ranks: Codes = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._texts)

    def find(self, text: str) -> int | None:
        """Return the code of a text, or None if the text has none."""
        return self._codes.get(text)

    def code_of(self, text: str) -> int:
        """Return the code of a text, a new one if the text has none."""
        code = self._codes.get(text)
        if code is None:
            code = len(self._texts)
            self._codes[text] = code
            self._texts.append(text)
        return code

    def text_of(self, code: int) -> str:
        """Return the text of a code that this dictionary gave."""
        return self._texts[code]

    def encode(self, texts: Sequence[str]) -> Codes:
        """Return the codes of texts."""
        return np.fromiter(map(self.code_of, texts), dtype=np.int64, count=len(texts))

    def encode_arrow(self, texts: pa.Array | pa.ChunkedArray) -> Codes:
        """Return the codes of an Arrow column of strings or dictionary-encoded strings.

        The column must not hold nulls.
        """
        if isinstance(texts, pa.ChunkedArray):
            parts = [self.encode_arrow(chunk) for chunk in texts.chunks]
            return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
        if not pa.types.is_dictionary(texts.type):
            texts = texts.dictionary_encode()
        assert texts.null_count == 0, "null has no code"
        distinct = self.encode(texts.dictionary.to_pylist())
        codes: Codes = distinct[texts.indices.to_numpy(zero_copy_only=False)]
        return codes

    def decode(self, codes: Codes) -> list[str]:
        """Return the texts of codes."""
        texts = self._texts
        return [texts[code] for code in codes.tolist()]

    def to_arrow(self, codes: Codes) -> pa.Array:
        """Return the texts of codes as an Arrow column of strings."""
        return pa.array(self.decode(codes), type=pa.string())

    def ranks(self) -> Codes:
        """Return, for every code, the rank of its text in code point order.

        The array must not be written to.
        """
        if self._ranks.size != len(self._texts):
            order = pc.sort_indices(pa.array(self._texts, type=pa.large_string())).to_numpy()
            ranks = np.empty(order.size, dtype=np.int64)
            ranks[order] = np.arange(order.size, dtype=np.int64)
            self._ranks = ranks
        return self._ranks
