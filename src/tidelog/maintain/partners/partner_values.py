"""The values behind codes at one partner: those of the driver, and those that partners make.

All groups of a partner share them. A request says which values the driver has, in files or in the request
itself; a reply has those that the request made. All partners have the same ones under the same codes.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tidelog.engine.spark.agreement import SharedCodec
from tidelog.engine.spark.files import Folder, file_name
from tidelog.engine.spark.texts import TEXTS, TextFile, read_texts, write_texts
from tidelog.engine.spark.value_files import described_warnings
from tidelog.engine.spark.value_records import RECORDS, RecordFile, read_records, write_records
from tidelog.maintain.partners.session_values import MOST_INLINE
from tidelog.values.types import TypeTable


class PartnerValues:
    """The values of one partner; what a request adds is forgotten if the request is undone."""

    def __init__(self, types: TypeTable, folder: Folder) -> None:
        self.codec = SharedCodec(types)
        self._folder = folder
        self._part = 0
        # How many values there were before the request, and how many of them the driver knows.
        self._before = self._known = self._counts()

    def _counts(self) -> tuple[int, int]:
        return len(self.codec.symbols), len(self.codec.records)

    def take(self, described: Mapping[str, Any]) -> None:
        """Take over the values of the driver that are not here yet."""
        symbols, records = self.codec.symbols, self.codec.records
        self._before = self._counts()
        self._part = described["part"]
        for first, count, content in described["texts"]:
            missing = len(symbols) - first
            if missing < count:
                if isinstance(content, str):
                    symbols.encode_arrow(read_texts(self._folder, TextFile(content, 0, count)).slice(missing))
                else:
                    symbols.encode(content[missing:])
        for first, count, content in described["records"]:
            missing = len(records) - first
            if missing < count:
                found = (
                    read_records(self._folder, RecordFile(content, count))
                    if isinstance(content, str)
                    else [np.array(each, np.int64) for each in content]
                )
                widths, fields = found
                records.append(widths[missing:], fields[int(widths[:missing].sum()) :])
        # Loading may have made values in the same job that the driver does not know yet.
        self._known = (described["until"][0], described["until"][1])
        assert self._counts() >= self._known, "all partners have what the driver has"
        self.codec.begin()

    def forget(self) -> None:
        """Forget what the last request added."""
        self.codec.symbols.forget(self._before[0])
        self.codec.records.forget(self._before[1])
        self._known = self._before
        self.codec.begin()

    def made(self, name: str) -> dict[str, object]:
        """Return the values that the request made, for the driver; many of them are in a file."""
        (texts, records), (all_texts, _) = self._known, self._counts()
        found: dict[str, object] = {"after": [texts, records], "texts": [], "records": [[], []]}
        new = self.codec.symbols.to_arrow(np.arange(texts, all_texts))
        if len(new) > MOST_INLINE:
            file = TextFile(file_name(TEXTS, 0, name), self._part, len(new))
            write_texts(self._folder, file, new)
            found["texts"] = {"file": [file.name, file.part, file.count]}
        elif len(new):
            found["texts"] = new.to_pylist()
        widths, fields = self.codec.records.rows_from(records)
        if len(widths) > MOST_INLINE:
            written = write_records(self._folder, file_name(RECORDS, 0, name), widths, fields)
            found["records"] = {"file": [written.name, written.count]}
        elif len(widths):
            found["records"] = [widths.tolist(), fields.tolist()]
        self._known = self._counts()
        return found

    def take_warnings(self) -> list[list[str]]:
        """Remove and return the warnings about facts that were met."""
        found = described_warnings(self.codec)
        self.codec.warnings.clear()
        return found
