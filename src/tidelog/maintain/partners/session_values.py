"""The values behind codes of a session, as partners get them from the driver, and the driver theirs.

Workers' texts are in files, and partners read them there. What only the driver has is sent with a request, or
written to a file if it is much.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.texts import FiledDictionary, TextFile, filed_symbols
from tidelog.engine.spark.value_files import files_of_values
from tidelog.engine.spark.value_records import FiledRecords, RecordFile, filed_records
from tidelog.values.codec import Codec
from tidelog.values.records import NIL

# More values than this are sent in a file.
MOST_INLINE: Final = 1 << 14
# How many texts and records are known to whom nothing was told.
NOTHING: Final = (0, NIL + 1)


class SessionValues:
    """The driver's values, and how many of them resident partners have."""

    def __init__(self, codec: Codec, folder: Folder) -> None:
        self._codec = codec
        self._folder = folder
        self.sent = NOTHING

    @property
    def now(self) -> tuple[int, int]:
        """Return how many texts and records have codes."""
        return len(self._codec.symbols), len(self._codec.records)

    def describe(self, first: tuple[int, int] = NOTHING) -> dict[str, object]:
        """Return what tells a partner all values from these codes on."""
        texts, records = self._texts(first[0]), self._records(first[1])
        if sum(count for _, count, file in (*texts, *records) if file is None) > MOST_INLINE:
            files_of_values(self._codec, self._folder)
            texts, records = self._texts(first[0]), self._records(first[1])
        symbols = self._codec.symbols
        return {
            "texts": [
                [code, count, self._texts_here(code, count) if file is None else file]
                for code, count, file in texts
            ],
            "records": [
                [code, count, self._records_here(code, count) if file is None else file]
                for code, count, file in records
            ],
            "part": symbols.next_part if isinstance(symbols, FiledDictionary) else 0,
            "until": list(self.now),
        }  # fmt: skip

    def _texts(self, first: int) -> list[tuple[int, int, str | None]]:
        """Return the codes of texts from one on, in ranges: the first, how many, and their file if any."""
        symbols = self._codec.symbols
        if not isinstance(symbols, FiledDictionary):
            return [(first, len(symbols) - first, None)] if len(symbols) > first else []
        ranges = [(code, end, file) for code, end, file in symbols.ranges(0) if end > first]
        begun = ((code if file else max(code, first), end, file) for code, end, file in ranges)
        return [(code, end - code, file) for code, end, file in begun]

    def _records(self, first: int) -> list[tuple[int, int, str | None]]:
        """Return the codes of records from one on, as `_texts` does."""
        records = self._codec.records
        if not isinstance(records, FiledRecords):
            return [(first, len(records) - first, None)] if len(records) > first else []
        ranges = records.ranges(first)
        return [(code, end - code, None if file is None else file.name) for code, end, file in ranges]

    def _texts_here(self, first: int, count: int) -> list[str]:
        found: list[str] = self._codec.symbols.to_arrow(np.arange(first, first + count)).to_pylist()
        return found

    def _records_here(self, first: int, count: int) -> list[list[int]]:
        records = self._codec.records
        if isinstance(records, FiledRecords):
            return [each.tolist() for each in records.rows_between(first, first + count)]
        return [each.tolist() for each in records.rows_from(first)]

    def take(self, made: Mapping[str, Any]) -> None:
        """Take over the values that partners made; they have the others now."""
        assert list(self.now) == made["after"], "nobody gives codes while partners do"
        codec, texts, records = self._codec, made["texts"], made["records"]
        if isinstance(texts, Mapping):
            filed_symbols(codec, self._folder).add_files([TextFile(*texts["file"])])
        elif isinstance(codec.symbols, FiledDictionary):
            codec.symbols.append(texts)
        else:
            codec.symbols.encode(texts)
        if isinstance(records, Mapping):
            # Those of the driver come first.
            files_of_values(codec, self._folder)
            filed_records(codec, self._folder).add_file(RecordFile(*records["file"]))
        else:
            codec.records.append(*(np.array(each, np.int64) for each in records))
        self.sent = self.now
