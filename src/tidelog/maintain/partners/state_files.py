"""Files of a relation's state: rows with their levels, where a later file overrides an earlier one."""

import posixpath
import uuid
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tidelog.engine.code_rows import agreeing
from tidelog.engine.spark.files import Annotated, Folder, file_name
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int32s

# The iterations of facts, by their codes.
Found = dict[tuple[int, ...], int]

# A relation is written whole again once each partner has this many files of it.
MOST_FILES = 32
_INPUT = "input-"


def found_in(rows: CodeArray, levels: Int32s, codes: Mapping[int, int]) -> Found:
    """Return the rows that are facts and have these codes in these columns, with their iterations."""
    keep = agreeing(rows, codes) & (levels != ABSENT)
    return dict(zip(map(tuple, rows[keep].tolist()), levels[keep].tolist(), strict=True))


def change_facts(facts: StoredRelation, inserted: CodeArray, deleted: CodeArray) -> None:
    """Delete facts that are there, and insert others."""
    if len(deleted):
        facts.delete_rows(facts.find(np.ascontiguousarray(deleted.astype(np.int64))))
    if len(inserted):
        facts.insert(np.ascontiguousarray(inserted.astype(np.int64)))


def write_inputs(folder: Folder, relation: str, name: str, inserted: CodeArray, deleted: CodeArray) -> str:
    """Write input facts that are inserted and deleted to a file that `read_state` reads; return it."""
    rows = np.concatenate([deleted, inserted])
    levels = np.repeat(np.array([ABSENT, 0], np.int32), [len(deleted), len(inserted)])
    content = Annotated(rows, levels, np.ones(len(rows), np.int32))
    return folder.write_rows(file_name(relation, 0, f"{_INPUT}{name}"), content)


def shorten_files(folder: Folder, relation: str, files: list[str], arity: int) -> list[str]:
    """Return files of a relation, written as one if they are many; those of before stay where they are."""
    base = [file for file in files if not is_change(file)]
    changes = files[len(base) :]
    if len(changes) <= MOST_FILES:
        return files
    inserted, deleted = combine_changes(folder, changes, arity)
    if not base:
        deleted = deleted[:0]
    return [*base, write_inputs(folder, relation, f"all-{uuid.uuid4().hex[:12]}", inserted, deleted)]


def is_change(file: str) -> bool:
    """Say whether a file has input facts that were inserted and deleted, not facts as workers wrote them."""
    return posixpath.basename(file).startswith(_INPUT)


def combine_changes(folder: Folder, files: Sequence[str], arity: int) -> tuple[CodeArray, CodeArray]:
    """Return what is inserted and what is deleted by changes in files, one after the other."""
    inserted, deleted = StoredRelation(arity, np.int64), StoredRelation(arity, np.int64)
    for file in files:
        content = folder.read_rows(file, arity)
        assert content.levels is not None
        rows, is_fact = np.ascontiguousarray(content.rows.astype(np.int64)), content.levels != ABSENT
        for some, other, added in ((rows[~is_fact], inserted, deleted), (rows[is_fact], deleted, inserted)):
            numbers = other.find(np.ascontiguousarray(some))
            other.delete_rows(numbers[numbers >= 0])
            added.insert(np.ascontiguousarray(some))
    return inserted.live_rows(), deleted.live_rows()


def read_state(folder: Folder, files: Sequence[str], arity: int) -> StoredRelation:
    """Return the facts in files; the latest file that has a row decides about it."""
    return facts_of((folder.read_rows(file, arity) for file in files), arity)


def read_annotated(folder: Folder, files: Sequence[str], arity: int) -> Annotated:
    """Return the facts in files with their levels and counts; the latest file that has a row decides."""
    found = StoredRelation(arity, np.int64, counting=True)
    for file in files:
        content = folder.read_rows(file, arity)
        numbers = found.locate(np.ascontiguousarray(content.rows.astype(np.int64)))
        # Input facts as workers wrote them have neither.
        found.levels[numbers] = 0 if content.levels is None else content.levels
        found.counts[numbers] = 1 if content.counts is None else content.counts
    facts = np.flatnonzero(found.levels[: found.count] != ABSENT)
    return Annotated(found.rows[facts], found.levels[facts], found.counts[facts])


def facts_of(contents: Iterable[Annotated], arity: int) -> StoredRelation:
    """Return the facts in the contents of files; the latest one that has a row decides about it.

    All rows of a file without levels are facts.
    """
    found = StoredRelation(arity, np.int64)
    for content in contents:
        rows = np.ascontiguousarray(content.rows.astype(np.int64))
        is_fact = np.ones(len(rows), np.bool_) if content.levels is None else content.levels != ABSENT
        deleted = found.find(rows[~is_fact])
        if (deleted >= 0).any():
            found.delete_rows(deleted[deleted >= 0])
        found.insert(np.ascontiguousarray(rows[is_fact]))
    return found


def without_rows(rows: CodeArray, others: CodeArray) -> CodeArray:
    """Return the rows that are not among the others."""
    stored = StoredRelation(rows.shape[1], np.int64)
    stored.insert(np.ascontiguousarray(others.astype(np.int64)))
    probes = np.ascontiguousarray(rows.astype(np.int64))
    found: CodeArray = probes[stored.find(probes) < 0]
    return found
