"""The input facts of one relation of a session: in the driver's memory, or in files that workers wrote.

Of facts in files the driver keeps what changed since: the facts inserted and those deleted. Whether a fact is
one of the others is found out by reading the files, a group of rows at a time.
"""

import uuid
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.state import fits_narrow
from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.ingest import CodeFiles
from tidelog.maintain.partners.state_files import (
    change_facts,
    combine_changes,
    is_change,
    read_state,
    shorten_files,
    without_rows,
    write_inputs,
)
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray


class SessionInput:
    """The input facts of one relation, each once."""

    def __init__(self, name: str, arity: int, folder: Folder) -> None:
        self._name = name
        self.arity = arity
        self._folder = folder
        # All facts, or those that are not in files.
        self._inserted = StoredRelation(arity, np.int64, counting=True)
        self._deleted = StoredRelation(arity, np.int64, counting=True)
        self.filed: CodeFiles | None = None

    def __len__(self) -> int:
        filed = 0 if self.filed is None else self.filed.size
        return filed + len(self._inserted) - len(self._deleted)

    def insert(self, rows: CodeArray) -> None:
        """Insert facts before the first epoch."""
        self._inserted.insert(np.ascontiguousarray(rows.astype(np.int64, copy=False)))

    def put_files(self, filed: CodeFiles) -> None:
        """Hold the facts of files that workers wrote, each once."""
        assert not len(self), "a relation has its facts from one place"
        self.filed = filed

    def take_files(self, files: Sequence[str], most_in_memory: int) -> None:
        """Hold the facts of a state's files; in memory if they are few or if no worker wrote them."""
        base = [file for file in files if not is_change(file)]
        size = sum(self._folder.count_rows(file) for file in base)
        if base and size > most_in_memory:
            self.filed = CodeFiles(tuple(base), size, is_wide=True)
            for file in files[len(base) :]:
                self._follow(*combine_changes(self._folder, [file], self.arity))
            return
        self.insert(read_state(self._folder, files, self.arity).live_rows())

    def change(self, inserted: CodeArray, deleted: CodeArray) -> None:
        """Delete facts that are there, and insert others."""
        if self.filed is None:
            change_facts(self._inserted, inserted, deleted)
        else:
            self._follow(inserted, deleted)

    def _follow(self, inserted: CodeArray, deleted: CodeArray) -> None:
        for rows, other, added in (
            (deleted, self._inserted, self._deleted),
            (inserted, self._deleted, self._inserted),
        ):
            wide = np.ascontiguousarray(rows.astype(np.int64, copy=False))
            numbers = other.find(wide)
            other.delete_rows(numbers[numbers >= 0])
            added.insert(np.ascontiguousarray(wide[numbers < 0]))

    @property
    def is_wide(self) -> bool:
        """Say whether some code may need more than 32 bits."""
        is_filed_wide = self.filed is not None and self.filed.is_wide
        return is_filed_wide or not fits_narrow(self._inserted.live_rows())

    def contain(self, rows: CodeArray) -> npt.NDArray[np.bool_]:
        """Say of each row whether it is an input fact."""
        found: npt.NDArray[np.bool_] = self._inserted.find(rows) >= 0
        if self.filed is None or not len(rows):
            return found
        asked = StoredRelation(self.arity, np.int64)
        asked.insert(np.ascontiguousarray(rows[~found]))
        is_filed = np.zeros(len(asked), np.bool_)
        for file in self.filed.files if len(asked) else ():
            for group in range(self._folder.count_groups(file)):
                read = self._folder.read_rows(file, self.arity, group=group).rows.astype(np.int64)
                numbers = asked.find(np.ascontiguousarray(read))
                is_filed[numbers[numbers >= 0]] = True
        places = asked.find(rows)
        found[places >= 0] = is_filed[places[places >= 0]]
        found[self._deleted.find(rows) >= 0] = False
        return found

    def rows(self) -> CodeArray:
        """Return all facts, in the driver's memory."""
        own = self._inserted.live_rows()
        if self.filed is None:
            return own
        parts = [self._folder.read_rows(file, self.arity).rows.astype(np.int64) for file in self.filed.files]
        return np.concatenate([own, without_rows(np.concatenate(parts), self._deleted.live_rows())])

    def files(self) -> list[str]:
        """Return files with exactly the facts of now; only what is in memory is written."""
        name = f"now-{uuid.uuid4().hex[:12]}"
        base = [] if self.filed is None else list(self.filed.files)
        if base and not len(self._inserted) and not len(self._deleted):
            return base
        return [*base, write_inputs(self._folder, self._name, name, *self.changes())]

    def changes(self) -> tuple[CodeArray, CodeArray]:
        """Return the facts that were inserted and deleted since those in files, or all as inserted."""
        return self._inserted.live_rows(), self._deleted.live_rows()

    def shortened(self, files: list[str]) -> list[str]:
        """Return files of the state; changes become one file if they are many."""
        return shorten_files(self._folder, self._name, files, self.arity)

    def copy(self) -> "SessionInput":
        """Return the same facts, which can be changed apart."""
        other = SessionInput(self._name, self.arity, self._folder)
        other.filed = self.filed
        other._inserted.insert(self._inserted.live_rows())
        other._deleted.insert(self._deleted.live_rows())
        return other
