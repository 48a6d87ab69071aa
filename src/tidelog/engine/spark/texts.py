"""A dictionary whose texts are in files of workers; the driver looks a few up there, or reads them all.

texts that the driver knows   in memory, codes 0 to n - 1
texts of workers' files       codes from n on, file by file, until the driver reads them
texts that the driver adds    in memory, codes after those
"""

from collections.abc import Sequence
from functools import lru_cache
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
# Up to so many texts or codes are looked up in files, which takes as long as reading them but no memory.
FEW_TEXTS = 4096
# Rows in one group of a file of values: what is read for one of them. Up to so many groups stay in memory.
GROUP_ROWS = 1 << 16
MOST_GROUPS = 16


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
        # Texts added while files are not read, with codes after those of the files.
        self._added = Dictionary()
        # Texts of files that were looked up lately.
        self._found: dict[str, int] = {}
        # Groups of rows of files that were looked at lately.
        self._group = lru_cache(MOST_GROUPS)(self._read_group)
        self.add_files(files)

    def __len__(self) -> int:
        return self._first_added + len(self._added)

    @property
    def _first_added(self) -> int:
        return self._count + sum(file.count for file in self._unread)

    @property
    def is_read(self) -> bool:
        """Say whether all texts are in memory."""
        return not self._unread

    @property
    def files(self) -> list[TextFile]:
        """Return all files, in the order of codes."""
        return [file for _, file in self._filed]

    def ranges(self, first: int) -> list[tuple[int, int, str | None]]:
        """Return the codes from one on in ranges, each with its end and its file, or None for memory."""
        filed: list[tuple[int, int, str | None]] = [
            # A file that begins before has texts of both kinds: those in question are in memory too.
            (max(code, first), end, file.name if code >= first else None)
            for code, file in self._filed
            if (end := code + file.count) > first
        ]
        own = [(max(first, code), last, None) for code, last in self._only_in_memory() if last > first]
        return sorted([*filed, *own], key=lambda each: each[0])

    @property
    def next_part(self) -> int:
        """Return a number that no file has as its part, nor any above it."""
        return max((file.part for _, file in self._filed), default=-1) + 1

    def add_files(self, files: Sequence[TextFile]) -> None:
        """Give the next codes to the texts of files, none of which has a code yet."""
        if files and len(self._added):
            self._read()
        for file in files:
            if file.count:
                self._filed.append((len(self), file))
                self._unread.append(file)

    def all_files(self, name: str) -> tuple[TextFile, ...]:
        """Return files with all texts in the order of codes; those only in memory are written first."""
        found: list[tuple[int, TextFile]] = []
        for first, last in self._only_in_memory():
            part = self.next_part + len(found)
            file = TextFile(f"{name}-{part}.parquet", part, last - first)
            write_texts(self._folder, file, self.to_arrow(np.arange(first, last)))
            found.append((first, file))
        self._filed = sorted([*self._filed, *found], key=lambda each: each[0])
        return tuple(file for _, file in self._filed)

    def _only_in_memory(self) -> list[tuple[int, int]]:
        """Return the ranges of codes whose texts are in no file, each with its end."""
        ranges, code = [], 0
        for first, file in (*self._filed, (len(self), TextFile("", 0, 0))):
            if code < first:
                ranges.append((code, first))
            code = max(code, first + file.count)
        return ranges

    # --- a few texts ------------------------------------------------------------------------------

    def find(self, text: str) -> int | None:
        """Return the code of a text, or None if the text has none."""
        return self._find_all([text]).get(text)

    def code_of(self, text: str) -> int:
        """Return the code of a text, a new one if the text has none."""
        code = self.find(text)
        if code is not None:
            return code
        return super().code_of(text) if self.is_read else self._first_added + self._added.code_of(text)

    def encode(self, texts: Sequence[str]) -> Codes:
        """Return the codes of texts."""
        if self._is_read_for(len(texts)):
            return super().encode(texts)
        known = self._find_all(texts)
        codes = (known[text] if text in known else self.code_of(text) for text in texts)
        return np.fromiter(codes, np.int64, len(texts))

    def encode_arrow(self, texts: "pa.Array | pa.ChunkedArray") -> Codes:
        """Return the codes of an Arrow column of strings or dictionary-encoded strings."""
        if self._is_read_for(len(texts)):
            return super().encode_arrow(texts)
        return self.encode(texts.to_pylist())

    def append(self, texts: Sequence[str]) -> None:
        """Give the next codes to texts, none of which has a code yet."""
        if self.is_read:
            super().encode(texts)
        else:
            self._added.encode(texts)

    def _find_all(self, texts: Sequence[str]) -> dict[str, int]:
        """Return the codes of those texts that have one."""
        found: dict[str, int] = {}
        for text in texts:
            code = super().find(text)
            if code is None and (added := self._added.find(text)) is not None:
                code = self._first_added + added
            code = self._found.get(text) if code is None else code
            if code is not None:
                found[text] = code
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing and not self.is_read:
            looked_up = self._look_up(missing)
            if len(self._found) + len(looked_up) > FEW_TEXTS:
                self._found.clear()
            self._found.update(looked_up)
            found.update(looked_up)
        return found

    def _look_up(self, texts: Sequence[str]) -> dict[str, int]:
        """Return the codes of texts that are in files, which are read a group of rows at a time."""
        import pyarrow as pa  # noqa: PLC0415 - needed only with Spark
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        wanted, found, code = pa.array(texts, pa.string()), {}, self._count
        for file in self._unread:
            for column in self._folder.read_groups(file.name, TEXT):
                places = pc.index_in(column.cast(pa.string()), value_set=wanted)
                for place in np.flatnonzero(places.is_valid().to_numpy(zero_copy_only=False)).tolist():
                    found[texts[places[place].as_py()]] = code + place
                code += len(column)
        return found

    def text_of(self, code: int) -> str:
        """Return the text of a code."""
        return self._texts_of(np.array([code]))[0]

    def decode(self, codes: Codes) -> list[str]:
        """Return the texts of codes."""
        if self._is_read_for(0 if self.is_read else np.unique(codes).size):
            return super().decode(codes)
        return self._texts_of(codes)

    def to_arrow(self, codes: Codes) -> "pa.Array":
        """Return the texts of codes as an Arrow column of strings."""
        import pyarrow as pa  # noqa: PLC0415 - needed only with Spark

        if self.is_read or int(codes.max(initial=0)) < self._count:
            return super().to_arrow(codes)
        if codes.size and int(codes.min()) >= self._first_added:
            return self._added.to_arrow(codes - self._first_added)
        return pa.array(self.decode(codes), type=pa.string())

    def _texts_of(self, codes: Codes) -> list[str]:
        """Return the texts of a few codes."""
        found: dict[int, str] = {}
        for code in np.unique(codes).tolist():
            if code < self._count:
                found[code] = super().text_of(code)
            elif code >= self._first_added:
                found[code] = self._added.text_of(code - self._first_added)
        code = self._count
        for file in self._unread if len(found) < np.unique(codes).size else ():
            here = np.unique(codes[(codes >= code) & (codes < code + file.count)])
            for each in here.tolist():
                group, place = divmod(each - code, GROUP_ROWS)
                found[each] = self._group(file, group)[place].as_py()
            code += file.count
        return [found[code] for code in codes.tolist()]

    def _read_group(self, file: TextFile, number: int) -> "pa.ChunkedArray":
        """Return the texts of one group of rows of a file."""
        return self._folder.read_group(file.name, TEXT, number)

    # --- all texts --------------------------------------------------------------------------------

    def ranks_of(self, codes: Codes) -> Codes:
        """Return numbers in the code point order of the texts, to be compared with each other only."""
        different, places = np.unique(codes, return_inverse=True)
        if self._is_read_for(different.size):
            return super().ranks_of(codes)
        found = self._texts_of(different)
        ranks = np.empty(different.size, np.int64)
        ranks[sorted(range(different.size), key=found.__getitem__)] = np.arange(different.size)
        return ranks[places.reshape(-1)]

    def _is_read_for(self, count: int) -> bool:
        """Say whether all texts are in memory, where they come if more than a few are wanted."""
        if count > FEW_TEXTS and not self.is_read:
            self._read()
        return self.is_read

    def read_all(self) -> None:
        """Bring all texts into memory, for one who will ask for many of them in turn."""
        if not self.is_read:
            self._read()

    def ranks(self) -> Codes:
        """Return, for every code, the rank of its text."""
        self.read_all()
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

        from tidelog.engine.spark.shared_frames import read_files  # noqa: PLC0415 - it needs texts

        ranges = [np.arange(first, last, dtype=np.int64) for first, last in self._only_in_memory()]
        own = np.concatenate([np.empty(0, np.int64), *ranges])
        texts = [pa.array([], pa.string()), *(self.to_arrow(each).cast(pa.string()) for each in ranges)]
        found = spark.createDataFrame(pa.table({TEXT: pa.chunked_array(texts), "code": own}))
        if not self._filed:
            return found
        types = {TEXT: "string", PLACE: "long", PART: "int"}
        written = read_files(spark, self._folder, [file.name for file in self.files], types)
        offsets = f.array(*(f.lit(each) for each in self.offsets()))
        first = f.element_at(offsets, f.col(PART) + 1)
        return found.union(written.select(f.col(TEXT), (first + f.col(PLACE)).alias("code")))

    def _intern(self, data: object, offsets: Codes) -> Codes:
        assert self.is_read, "texts that are added while files are not read are kept apart"
        return super()._intern(data, offsets)  # type: ignore[arg-type]

    def forget(self, first: int) -> None:
        """Raise: texts in files are there to stay."""
        raise AssertionError(f"texts from {first} on are in files")

    def _read(self) -> None:
        """Take over all texts of the files, and then those that were added."""
        with self._lock:
            unread, self._unread = self._unread, []
            added, self._added, self._found = self._added, Dictionary(), {}
            self._group.cache_clear()
            for file in unread:
                before = self._count
                super().encode_arrow(read_texts(self._folder, file))
                assert self._count == before + file.count, "no text is in two files or was known before"
            if len(added):
                super().encode_arrow(added.to_arrow(np.arange(len(added))))


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


def write_texts(folder: Folder, file: TextFile, texts: "pa.Array | pa.ChunkedArray") -> None:
    """Write the texts of a file."""
    table = text_table(texts, file.part)
    folder.write_table(file.name, table, compression="lz4", group_rows=GROUP_ROWS)


def read_texts(folder: Folder, file: TextFile) -> "pa.ChunkedArray":
    """Return the texts of a file in the order of their codes."""
    return folder.read_table(file.name, [TEXT]).column(TEXT)
