"""A dictionary whose texts workers wrote to files; the driver reads them only if it needs one of them.

texts known to the driver     codes 0 to first - 1, in memory
texts of workers' files       codes from first on, file by file in the order of rows
texts that the driver adds    codes after those, once it has read the files
"""

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


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file with texts in rows numbered from 0; `part` says which worker wrote it."""

    name: str
    part: int
    count: int


class FiledDictionary(Dictionary):
    """A dictionary that continues in files; see `values.dictionary.Dictionary`."""

    def __init__(self, known: Dictionary, folder: Folder, files: tuple[TextFile, ...]) -> None:
        super().__init__()
        # The same texts under the same codes: arrays are shared, and `known` is not used any more.
        self.__dict__.update(known.__dict__)
        self.first = len(known)
        self.files = files
        self.filed = sum(file.count for file in files)
        self._folder = folder
        self.is_read = not self.filed

    def __len__(self) -> int:
        return self._count if self.is_read else self.first + self.filed

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
        found = [0] * (max((file.part for file in self.files), default=-1) + 1)
        code = self.first
        for file in self.files:
            found[file.part] = code
            code += file.count
        return found

    def frame(self, spark: "SparkSession") -> "DataFrame":
        """Return the text and the code of everything in the dictionary as a data frame."""
        import pyarrow as pa  # noqa: PLC0415 - needed only with Spark
        from pyspark.sql import functions as f  # noqa: PLC0415 - as above

        own = np.arange(self._count, dtype=np.int64)
        if self.is_read:
            own = own[(own < self.first) | (own >= self.first + self.filed)]
        found = spark.createDataFrame(pa.table({TEXT: super().to_arrow(own), "code": own}))
        if not self.files:
            return found
        written = spark.read.parquet(*self._folder.path_of([file.name for file in self.files]))
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
        if code >= self.first:
            self._read()

    def _read(self) -> None:
        """Take over all texts of the files."""
        with self._lock:
            if self.is_read:
                return
            self.is_read = True
            for file in self.files:
                texts = self._folder.read_table(file.name, [TEXT]).column(TEXT)
                codes = super().encode_arrow(texts)
                assert codes.size == file.count, "the file has the texts that were written"
            assert self._count == self.first + self.filed, "no text is in two files or was known before"


def has_unread_texts(codec: "Codec") -> bool:
    """Say whether some texts are only in workers' files."""
    return isinstance(codec.symbols, FiledDictionary) and not codec.symbols.is_read
