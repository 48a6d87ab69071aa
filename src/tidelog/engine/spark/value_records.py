"""Records whose rows are in files of workers; the driver looks a few up there, or reads them all.

records that the driver knows   in memory, with the first codes
records of workers' files       with codes after those, file by file, until the driver reads them
records that the driver adds    in memory, with codes after those
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.texts import FEW_TEXTS, GROUP_ROWS, MOST_GROUPS
from tidelog.values.codes import Codes
from tidelog.values.records import NIL, Records

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelog.values.codec import Codec

_FIELDS = "fields"
# How many codes there are without any record.
_NOTHING: Final = NIL + 1
# A folder for records that no relation's name can be, once it is quoted.
RECORDS = "%records"


@dataclass(frozen=True, slots=True)
class RecordFile:
    """A file with rows of records in the order of their codes."""

    name: str
    count: int


class FiledRecords(Records):
    """Records that continue in files; see `values.records.Records`."""

    def __init__(self, known: Records, folder: Folder) -> None:
        super().__init__()
        # Those with the first codes; `known` is not used any more by others.
        self._known = known
        self._folder = folder
        # Every file with the code of its first row, in the order of codes, and those not read yet.
        self._filed: list[tuple[int, RecordFile]] = []
        self._unread: list[RecordFile] = []
        # Rows added while files are not read, with codes after those of the files.
        self._added = Records()
        # Groups of rows of files that were looked at lately.
        self._group = lru_cache(MOST_GROUPS)(self._read_group)

    def __len__(self) -> int:
        return self._first_added + len(self._added) - _NOTHING

    @property
    def _first_added(self) -> int:
        return len(self._known) + sum(file.count for file in self._unread)

    @property
    def is_read(self) -> bool:
        """Say whether all records are in memory."""
        return not self._unread

    # --- files ------------------------------------------------------------------------------------

    @property
    def files(self) -> tuple[RecordFile, ...]:
        """Return the files, in the order of codes."""
        return tuple(file for _, file in self._filed)

    def ranges(self, first: int) -> list[tuple[int, int, RecordFile | None]]:
        """Return the codes from one on in ranges, each with its end and its file, or None for memory.

        The range of a file may begin before.
        """
        filed: list[tuple[int, int, RecordFile | None]] = [
            (code, end, file) for code, file in self._filed if (end := code + file.count) > first
        ]
        own = [(max(first, code), last, None) for code, last in self._only_in_memory() if last > first]
        return sorted([*filed, *own], key=lambda each: each[0])

    def _only_in_memory(self) -> list[tuple[int, int]]:
        """Return the ranges of codes whose rows are in no file, each with its end."""
        ranges, code = [], _NOTHING
        for first, file in (*self._filed, (len(self), RecordFile("", 0))):
            if code < first:
                ranges.append((code, first))
            code = first + file.count
        return ranges

    def add_file(self, file: RecordFile) -> None:
        """Give the next codes to the rows of a file, none of which has a code yet."""
        if len(self._added) > _NOTHING:
            self.read_all()
        self._filed.append((len(self), file))
        self._unread.append(file)

    def all_files(self, name: str) -> tuple[RecordFile, ...]:
        """Return files with all rows in the order of codes; those only in memory are written first."""
        for first, last in self._only_in_memory():
            file = f"{name}-{first}.parquet"
            self._filed.append((first, write_records(self._folder, file, *self.rows_between(first, last))))
        self._filed.sort(key=lambda each: each[0])
        if len(self._added) > _NOTHING:
            # They are in files now, so others may come after them.
            self._unread += [file for code, file in self._filed if code >= self._first_added]
            self._added = Records()
        return self.files

    def rows_between(self, first: int, last: int) -> tuple[Codes, Codes]:
        """Return the widths of the rows of a range in memory, and their fields one after another."""
        if first < len(self._known):
            widths, fields = self._known.rows_from(first)
        else:
            widths, fields = self._added.rows_from(first - self._first_added + _NOTHING)
        widths = widths[: last - first]
        return widths, fields[: int(widths.sum())]

    # --- rows to codes ----------------------------------------------------------------------------

    def intern(self, rows: Codes) -> Codes:
        """Return the code of every row of a two-dimensional array."""
        with self._lock:
            if len(rows) > FEW_TEXTS:
                self.read_all()
            if self.is_read:
                return self._known.intern(rows)
            codes = self.find(rows)
            new = np.flatnonzero(codes < 0)
            codes[new] = self._added.intern(rows[new]) + self._first_added - _NOTHING
            return codes

    def find(self, rows: Codes) -> Codes:
        """Return the code of every row of a two-dimensional array, -1 for those that have none."""
        with self._lock:
            codes = self._known.find(rows)
            for first, records in self._others() if not self.is_read else ():
                missing = np.flatnonzero(codes < 0)
                if not missing.size:
                    break
                found = records.find(rows[missing])
                codes[missing] = np.where(found < 0, -1, found + first - _NOTHING)
            return codes

    def _others(self) -> Iterator[tuple[int, Records]]:
        """Yield the records that were added and the groups of files, each with its first code."""
        yield self._first_added, self._added
        code = len(self._known)
        for file in self._unread:
            for group in range(-(-file.count // GROUP_ROWS)):
                yield code + group * GROUP_ROWS, self._group(file, group)
            code += file.count

    # --- codes to rows ----------------------------------------------------------------------------

    def row(self, code: int) -> list[int]:
        """Return the row of one code that is not nil."""
        with self._lock:
            if self.is_read:
                return self._known.row(code)
            (_, records, before), *_ = self._homes(np.array([code]))
            return records.row(code - before)

    def unpack(self, codes: Codes, width: int) -> Codes:
        """Return the rows that codes stand for; all must be records of this width."""
        return self._looked_up(codes, (codes.size, width), lambda records, own: records.unpack(own, width))

    def widths(self, codes: Codes) -> Codes:
        """Return the width of the row of every code, -1 for nil."""
        return self._looked_up(codes, (codes.size,), Records.widths)

    def branches(self, codes: Codes) -> Codes:
        """Return the first field of every code's row."""
        return self._looked_up(codes, (codes.size,), Records.branches)

    def _looked_up(
        self, codes: Codes, shape: tuple[int, ...], look_up: Callable[[Records, Codes], Codes]
    ) -> Codes:
        """Return what those who have the rows say of codes."""
        with self._lock:
            if self._is_read_for(codes):
                return look_up(self._known, codes)
            found = np.empty(shape, dtype=np.int64)
            for places, records, before in self._homes(codes):
                found[places] = look_up(records, codes[places] - before)
            return found

    def expect(self, codes: Codes) -> None:
        """Read all files if more than a few of these codes are different."""
        self._is_read_for(codes)

    def _homes(self, codes: Codes) -> Iterator[tuple[Codes, Records, int]]:
        """Yield who has the rows: the places of their codes, records, and how much less codes are there."""
        first = len(self._known)
        own = np.flatnonzero(codes < first)
        if own.size:
            yield own, self._known, 0
        for file in self._unread:
            here = np.flatnonzero((codes >= first) & (codes < first + file.count))
            groups = (codes[here] - first) // GROUP_ROWS
            for group in np.unique(groups).tolist():
                before = first + group * GROUP_ROWS - _NOTHING
                yield here[groups == group], self._group(file, group), before
            first += file.count
        added = np.flatnonzero(codes >= first)
        if added.size:
            yield added, self._added, first - _NOTHING

    def _read_group(self, file: RecordFile, number: int) -> Records:
        """Return one group of rows of a file, in memory; codes there count from the first."""
        found = Records()
        found.append(*_parts(self._folder.read_group(file.name, _FIELDS, number)))
        return found

    # --- all of them ------------------------------------------------------------------------------

    def rows_from(self, first: int) -> tuple[Codes, Codes]:
        """Return the widths of all rows from a code on, and their fields one after another."""
        with self._lock:
            self.read_all()
            return self._known.rows_from(first)

    def append(self, widths: Codes, fields: Codes) -> None:
        """Give the next codes to rows that have none yet."""
        with self._lock:
            (self._known if self.is_read else self._added).append(widths, fields)

    def forget(self, first: int) -> None:
        """Raise: records in files are there to stay."""
        raise AssertionError(f"records from {first} on are in files")

    def _is_read_for(self, codes: Codes) -> bool:
        """Say whether all records are in memory, where they come if more than a few are wanted."""
        if not self.is_read and np.unique(codes).size > FEW_TEXTS:
            self._read()
        return self.is_read

    def read_all(self) -> None:
        """Bring all records into memory, for one who will ask for many of them in turn."""
        if not self.is_read:
            self._read()

    def _read(self) -> None:
        """Take over all rows of the files, and then those that were added."""
        with self._lock:
            unread, self._unread = self._unread, []
            added, self._added = self._added, Records()
            self._group.cache_clear()
            for file in unread:
                self._known.append(*read_records(self._folder, file))
            if len(added) > _NOTHING:
                self._known.append(*added.rows_from(_NOTHING))


def write_records(folder: Folder, name: str, widths: Codes, fields: Codes) -> RecordFile:
    """Write rows to a new file, given by their widths and their fields one after another."""
    import pyarrow as pa  # noqa: PLC0415 - needed only with Spark

    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)])
    table = pa.table({_FIELDS: pa.LargeListArray.from_arrays(pa.array(ends), pa.array(fields))})
    folder.write_table(name, table, compression="lz4", group_rows=GROUP_ROWS)
    return RecordFile(name, len(widths))


def read_records(folder: Folder, file: RecordFile) -> tuple[Codes, Codes]:
    """Return the widths of a file's rows, and their fields one after another."""
    return _parts(folder.read_table(file.name, [_FIELDS]).column(_FIELDS))


def _parts(column: "pa.ChunkedArray") -> tuple[Codes, Codes]:
    rows = column.combine_chunks()
    widths = rows.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    return widths, rows.flatten().to_numpy(zero_copy_only=False).astype(np.int64)


def filed_records(codec: "Codec", folder: Folder) -> FiledRecords:
    """Return the codec's records, which continue in files from now on."""
    if not isinstance(codec.records, FiledRecords):
        codec.records = FiledRecords(codec.records, folder)
    return codec.records
