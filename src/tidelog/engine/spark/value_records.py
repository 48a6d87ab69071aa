"""Records whose rows are in files of workers; the driver reads them only if it needs one of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.spark.files import Folder
from tidelog.values.codes import Codes
from tidelog.values.records import NIL, Records

if TYPE_CHECKING:
    import pyarrow as pa

_FIELDS = "fields"
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
        # The same rows under the same codes: arrays are shared, and `known` is not used any more.
        self.__dict__.update(known.__dict__)
        self._folder = folder
        self._files: list[RecordFile] = []
        self._unread: list[RecordFile] = []

    def __len__(self) -> int:
        return self._count + sum(file.count for file in self._unread)

    @property
    def is_read(self) -> bool:
        """Say whether all records are in memory."""
        return not self._unread

    @property
    def files(self) -> tuple[RecordFile, ...]:
        """Return the files, in the order of codes; records after theirs are in memory."""
        return tuple(self._files)

    def add_file(self, file: RecordFile) -> None:
        """Give the next codes to the rows of a file; all others must be in files already."""
        assert self._filed == len(self), "records of the driver are written first"
        self._files.append(file)
        self._unread.append(file)

    @property
    def _filed(self) -> int:
        return NIL + 1 + sum(file.count for file in self._files)

    def all_files(self, name: str) -> tuple[RecordFile, ...]:
        """Return files with all rows in the order of codes; those only in memory are written first."""
        if self._filed < len(self):
            count = len(self) - self._filed
            table = record_table(*super().rows_from(self._filed))
            self._files.append(RecordFile(self._folder.write_table(name, table, compression="lz4"), count))
        return tuple(self._files)

    def intern(self, rows: Codes) -> Codes:
        """Return the code of every row of a two-dimensional array."""
        self._read()
        return super().intern(rows)

    def row(self, code: int) -> list[int]:
        """Return the row of one code that is not nil."""
        self._read()
        return super().row(code)

    def unpack(self, codes: Codes, width: int) -> Codes:
        """Return the rows that codes stand for; all must be records of this width."""
        self._read()
        return super().unpack(codes, width)

    def widths(self, codes: Codes) -> Codes:
        """Return the width of the row of every code, -1 for nil."""
        self._read()
        return super().widths(codes)

    def branches(self, codes: Codes) -> Codes:
        """Return the first field of every code's row."""
        self._read()
        return super().branches(codes)

    def rows_from(self, first: int) -> tuple[Codes, Codes]:
        """Return the widths of all rows from a code on, and their fields one after another."""
        self._read()
        return super().rows_from(first)

    def append(self, widths: Codes, fields: Codes) -> None:
        """Give the next codes to rows that have none yet."""
        self._read()
        super().append(widths, fields)

    def forget(self, first: int) -> None:
        """Raise: records in files are there to stay."""
        raise AssertionError(f"records from {first} on are in files")

    def _read(self) -> None:
        """Take over all rows of the files."""
        with self._lock:
            unread, self._unread = self._unread, []
            for file in unread:
                super().append(*read_records(self._folder, file))


def record_table(widths: Codes, fields: Codes) -> "pa.Table":
    """Return the content of a file of records."""
    import pyarrow as pa  # noqa: PLC0415 - needed only with Spark

    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)])
    return pa.table({_FIELDS: pa.LargeListArray.from_arrays(pa.array(ends), pa.array(fields))})


def read_records(folder: Folder, file: RecordFile) -> tuple[Codes, Codes]:
    """Return the widths of a file's rows, and their fields one after another."""
    column = folder.read_table(file.name, [_FIELDS]).column(_FIELDS).combine_chunks()
    widths = column.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    return widths, column.flatten().to_numpy(zero_copy_only=False).astype(np.int64)


def filed_records(records: Records, folder: Folder) -> FiledRecords:
    """Return records that continue in files."""
    return records if isinstance(records, FiledRecords) else FiledRecords(records, folder)


def record_files(described: Sequence[Sequence[object]]) -> list[RecordFile]:
    """Return files as they are described in JSON."""
    return [RecordFile(str(name), int(str(count))) for name, count in described]
