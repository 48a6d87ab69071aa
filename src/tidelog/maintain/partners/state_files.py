"""Files of a relation's state: rows with their levels, where a later file overrides an earlier one."""

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
    return folder.write_rows(file_name(relation, 0, f"input-{name}"), content)


def shorten_files(folder: Folder, relation: str, files: list[str], arity: int) -> list[str]:
    """Return files of a relation, written as one if they are many; those of before stay where they are."""
    if len(files) <= MOST_FILES:
        return files
    rows = read_state(folder, files, arity).live_rows()
    return [write_inputs(folder, relation, f"all-{uuid.uuid4().hex[:12]}", rows, rows[:0])]


def read_state(folder: Folder, files: Sequence[str], arity: int) -> StoredRelation:
    """Return the facts in files; the latest file that has a row decides about it."""
    return facts_of((folder.read_rows(file, arity) for file in files), arity)


def facts_of(contents: Iterable[Annotated], arity: int) -> StoredRelation:
    """Return the facts in the contents of files; the latest one that has a row decides about it."""
    found = StoredRelation(arity, np.int64)
    for content in contents:
        rows = np.ascontiguousarray(content.rows.astype(np.int64))
        assert content.levels is not None
        is_fact = content.levels != ABSENT
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
