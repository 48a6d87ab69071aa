"""The texts and records behind codes, in files: how partners get them from the driver, and it theirs.

Every code has its value in one file, and files are in the order of codes. A job that works on values reads
all of them; what it adds is written by one partner, and the driver learns the names of the files.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.spark.failures import failure_text, raise_failure
from tidelog.engine.spark.files import Folder, file_name
from tidelog.engine.spark.texts import (
    TEXTS,
    FiledDictionary,
    TextFile,
    filed_symbols,
    read_texts,
    write_texts,
)
from tidelog.engine.spark.value_records import (
    RECORDS,
    FiledRecords,
    RecordFile,
    filed_records,
    read_records,
    write_records,
)
from tidelog.errors import TidelogError
from tidelog.values.codec import Codec


@dataclass(frozen=True, slots=True)
class ValueFiles:
    """Files with all values that have codes; `next_part` is for the next file of texts."""

    texts: tuple[TextFile, ...] = ()
    records: tuple[RecordFile, ...] = ()
    next_part: int = 0


def files_of_values(codec: Codec, folder: Folder) -> ValueFiles:
    """Return files with all values of the driver's codec; those that are only in its memory are written."""
    symbols = filed_symbols(codec, folder)
    name = f"driver-{uuid.uuid4().hex[:12]}"
    texts = symbols.all_files(file_name(TEXTS, 0, name).removesuffix(".parquet"))
    records = filed_records(codec, folder).all_files(file_name(RECORDS, 0, name).removesuffix(".parquet"))
    return ValueFiles(texts, records, symbols.next_part)


def has_unread_values(codec: Codec) -> bool:
    """Say whether some values are only in workers' files."""
    has_texts = isinstance(codec.symbols, FiledDictionary) and not codec.symbols.is_read
    return has_texts or (isinstance(codec.records, FiledRecords) and not codec.records.is_read)


def read_here(codec: Codec) -> None:
    """Bring the values of workers' files into the driver's memory, for rules that run there."""
    if isinstance(codec.symbols, FiledDictionary):
        codec.symbols.read_all()
    if isinstance(codec.records, FiledRecords):
        codec.records.read_all()


def read_values(codec: Codec, folder: Folder, files: ValueFiles) -> None:
    """Give an empty codec the values of files, under the codes that they have everywhere."""
    for text_file in files.texts:
        codec.symbols.encode_arrow(read_texts(folder, text_file))
    for record_file in files.records:
        codec.records.append(*read_records(folder, record_file))
    assert len(codec.symbols) == sum(file.count for file in files.texts), "no text is in two files"


@dataclass
class NewValues:
    """What a job adds to the values it was given."""

    codec: Codec
    files: ValueFiles
    _texts: int = field(default=0, init=False)
    _records: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._texts, self._records = len(self.codec.symbols), len(self.codec.records)

    def write(self, folder: Folder, name: str) -> dict[str, object]:
        """Write the values that are new to files; return what `take_values` needs to know."""
        symbols, records = self.codec.symbols, self.codec.records
        texts: list[object] = []
        if (count := len(symbols) - self._texts) > 0:
            found = symbols.to_arrow(np.arange(self._texts, len(symbols)))
            file, part = file_name(TEXTS, 0, name), self.files.next_part
            write_texts(folder, TextFile(file, part, count), found)
            texts = [file, part, count]
        rows: list[object] = []
        if (count := len(records) - self._records) > 0:
            file = file_name(RECORDS, 0, name)
            write_records(folder, file, *records.rows_from(self._records))
            rows = [file, count]
        return {"texts": texts, "records": rows}

    def warnings(self) -> list[list[str]]:
        """Return the warnings about facts that were met, for `take_warnings`."""
        return described_warnings(self.codec)


def take_values(codec: Codec, folder: Folder, written: Mapping[str, Any]) -> None:
    """Let the driver's codec continue with what a job wrote."""
    if written["texts"]:
        name, part, count = written["texts"]
        filed_symbols(codec, folder).add_files([TextFile(name, part, count)])
    if written["records"]:
        filed_records(codec, folder).add_file(RecordFile(*written["records"]))


def take_all_values(codec: Codec, folder: Folder, replies: Sequence[Mapping[str, Any]]) -> None:
    """Let the driver's codec continue with what several partners wrote, in their order."""
    filed_symbols(codec, folder).add_files([TextFile(*each["texts"]) for each in replies if each["texts"]])
    for each in replies:
        if each["records"]:
            filed_records(codec, folder).add_file(RecordFile(*each["records"]))


def described_warnings(codec: Codec) -> list[list[str]]:
    """Return the warnings of a worker's codec as texts."""
    found = codec.warnings.items()
    return [[code, about, failure_text(TidelogError([each]))] for (code, about), each in found]


def take_warnings(codec: Codec, described: Sequence[Sequence[str]]) -> None:
    """Add warnings about facts that workers met."""
    for code, about, text in described:
        try:
            raise_failure(text)
        except TidelogError as error:
            codec.warnings[code, about] = error.diagnostics[0]
