"""Where the facts of each relation are: in the driver's memory, in files, or both."""

from collections.abc import Sequence

import numpy as np

from tidelog.engine.code_rows import as_columns
from tidelog.engine.local.state import fits_narrow
from tidelog.engine.protocol import Codes
from tidelog.engine.spark.files import Annotated, Folder, file_name
from tidelog.storage.kernel import CodeArray


class RelationFacts:
    """The facts of one relation, moved when they are needed elsewhere."""

    def __init__(self, name: str, arity: int, folder: Folder) -> None:
        self._name = name
        self._arity = arity
        self._folder = folder
        self._rows: CodeArray | None = np.empty((0, arity), np.int64)
        self._files: tuple[str, ...] | None = None
        self.size = 0
        self.is_wide = False

    def put_rows(self, rows: CodeArray) -> None:
        """Hold these rows, in memory."""
        self._rows, self._files, self.size = rows, None, len(rows)
        self.is_wide = not fits_narrow(rows.astype(np.int64, copy=False))

    def put_files(self, files: Sequence[str], size: int, *, is_wide: bool) -> None:
        """Hold the rows of these files."""
        self._rows, self._files, self.size, self.is_wide = None, tuple(files), size, is_wide

    def rows(self) -> CodeArray:
        """Return all rows in the driver's memory."""
        if self._rows is None:
            assert self._files is not None
            parts = [self._folder.read_rows(file, self._arity).rows for file in self._files]
            self._rows = np.concatenate(parts) if parts else np.empty((0, self._arity), np.int64)
        return self._rows

    def known_files(self) -> tuple[str, ...]:
        """Return the files with all rows, or no files if the rows are only in memory."""
        return self._files or ()

    def columns(self) -> list[Codes]:
        """Return all rows as one array of codes per column."""
        return as_columns(self.rows())

    def files(self, name: str) -> tuple[str, ...]:
        """Return files with all rows, written as `name` if there are none yet."""
        if self._files is None:
            rows = self.rows()
            if not self.is_wide:
                rows = rows.astype(np.int32, copy=False)
            path = file_name(self._name, 0, name)
            self._files = (self._folder.write_rows(path, Annotated(rows)),)
        return self._files
