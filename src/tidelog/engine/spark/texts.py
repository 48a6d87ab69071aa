"""A dictionary whose texts are in files of workers; the driver reads them only if it needs one of them.

texts that the driver knows   in memory, codes 0 to n - 1
texts of workers' files       codes from n on, file by file, until the driver reads them
texts that the driver adds    codes after those, once it has read the files
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.spark.files import Folder
from tidelog.values.codes import Codes
from tidelog.values.dictionary import Dictionary

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from tidelog.values.codec import Codec

TEXT, PLACE, PART = "text", "place", "part"
# A folder for texts that no relation's name can be, once it is quoted.
TEXTS = "%texts"


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file with texts in rows numbered from 0; `part` is a number that no other file has."""

    name: str
    part: int
    count: int


class FiledDictionary(Dictionary):
    """A dictionary that continues in files; see `values.dictionary.Dictionary`."""

    def __init__(self, known: Dictionary, folder: Folder, files: Sequence[TextFile] = ()) -> None:
        super().__init__()
        # The same texts under the same codes: arrays are shared, and `known` is not used any more.
        self.__dict__.update(known.__dict__)
        self._folder = folder
        # Every file with the code of its first text, in the order of codes, and those not read yet.
        self._filed: list[tuple[int, TextFile]] = []
        self._unread: list[TextFile] = []
        self.add_files(files)

    def __len__(self) -> int:
        return self._count + sum(file.count for file in self._unread)

    @property
    def is_read(self) -> bool:
        """Say whether all texts are in memory."""
        return not self._unread

    @property
    def file_names(self) -> list[str]:
        """Return the names of all files."""
        return [file.name for _, file in self._filed]

    @property
    def next_part(self) -> int:
        """Return a number that no file has as its part, nor any above it."""
        return max((file.part for _, file in self._filed), default=-1) + 1

    def add_files(self, files: Sequence[TextFile]) -> None:
        """Give the next codes to the texts of files, none of which has a code yet."""
        for file in files:
            self._filed.append((len(self), file))
            self._unread.append(file)

    def all_files(self, name: str) -> tuple[TextFile, ...]:
        """Return files with all texts in the order of codes; those only in memory are written first."""
        found: list[tuple[int, TextFile]] = []
        for first, last in self._only_in_memory():
            part = self.next_part + len(found)
            file = TextFile(f"{name}-{part}.parquet", part, last - first)
            texts = super().to_arrow(np.arange(first, last))
            self._folder.write_table(file.name, text_table(texts, part), compression="lz4")
            found.append((first, file))
        self._filed = sorted([*self._filed, *found], key=lambda each: each[0])
        return tuple(file for _, file in self._filed)

    def _only_in_memory(self) -> list[tuple[int, int]]:
        """Return the ranges of codes whose texts are in no file, each with its end."""
        ranges, code = [], 0
        for first, file in (*self._filed, (self._count, TextFile("", 0, 0))):
            if code < first <= self._count:
                ranges.append((code, first))
            code = max(code, first + file.count)
        return ranges

    def find(self, text: str) -> int | None:
        """Return the code of a text, or None if the text has none."""
        code = super().find(text)
        if code is None and not self.is_read:
            self._read()
            code = super().find(text)
        return code

    def text_of(self, code: int) -> str:
        """Return the text of a code."""
        self._read_if_needed(code)
        return super().text_of(code)

    def ranks(self) -> Codes:
        """Return, for every code, the rank of its text."""
        self._read()
        return super().ranks()

    def offsets(self) -> list[int]:
        """Return the code of the first text of each part, by the number of the part."""
        found = [0] * self.next_part
        for first, file in self._filed:
            found[file.part] = first
        return found

    def frame(self, spark: "SparkSession") -> "DataFrame":
        """Return the text and the code of everything in the dictionary as a data frame."""
        import pyarrow as pa  # noqa: PLC0415 - needed only with Spark
        from pyspark.sql import functions as f  # noqa: PLC0415 - as above

        ranges = [np.arange(first, last, dtype=np.int64) for first, last in self._only_in_memory()]
        own = np.concatenate([np.empty(0, np.int64), *ranges])
        found = spark.createDataFrame(pa.table({TEXT: super().to_arrow(own), "code": own}))
        if not self._filed:
            return found
        written = spark.read.parquet(*self._folder.path_of(self.file_names))
        first = f.element_at(f.array(*(f.lit(each) for each in self.offsets())), f.col(PART) + 1)
        return found.union(written.select(f.col(TEXT), (first + f.col(PLACE)).alias("code")))

    def _intern(self, data: object, offsets: Codes) -> Codes:
        self._read()
        return super()._intern(data, offsets)  # type: ignore[arg-type]

    def code_of(self, text: str) -> int:
        """Return the code of a text, a new one if the text has none."""
        code = self.find(text)
        return super().code_of(text) if code is None else code

    def _take(self, codes: Codes) -> "pa.Array":
        self._read_if_needed(int(codes.max(initial=0)))
        return super()._take(codes)

    def _read_if_needed(self, code: int) -> None:
        if code >= self._count:
            self._read()

    def forget(self, first: int) -> None:
        """Raise: texts in files are there to stay."""
        raise AssertionError(f"texts from {first} on are in files")

    def _read(self) -> None:
        """Take over all texts of the files."""
        with self._lock:
            unread, self._unread = self._unread, []
            for file in unread:
                before = self._count
                super().encode_arrow(read_texts(self._folder, file))
                assert self._count == before + file.count, "no text is in two files or was known before"


def filed_symbols(codec: "Codec", folder: Folder) -> FiledDictionary:
    """Return the codec's dictionary, which continues in files from now on."""
    if not isinstance(codec.symbols, FiledDictionary):
        codec.symbols = FiledDictionary(codec.symbols, folder)
    return codec.symbols


def text_table(texts: "pa.Array | pa.ChunkedArray", part: int) -> "pa.Table":
    """Return the content of a file of texts."""
    import pyarrow as pa  # noqa: PLC0415 - needed only with Spark

    count = len(texts)
    return pa.table({TEXT: texts, PLACE: np.arange(count), PART: np.full(count, part, np.int32)})


def read_texts(folder: Folder, file: TextFile) -> "pa.ChunkedArray":
    """Return the texts of a file in the order of their codes."""
    return folder.read_table(file.name, [TEXT]).column(TEXT)
