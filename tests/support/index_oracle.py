"""What the indexes of a relation must hold: every row they cover, once, under its key.

A wrong index may give right answers for many epochs, until a join reads the one key that is wrong.
"""

from collections import Counter
from collections.abc import Iterator

from tidelog.storage import StoredRelation
from tidelog.storage.direct import DirectIndex
from tidelog.storage.index import Index
from tidelog.storage.kernel import CodeArray
from tidelog.storage.postings import LENGTH, START

Entry = tuple[tuple[int, ...], tuple[int, ...]]


def check_indexes(name: str, relation: StoredRelation) -> None:
    """Assert that each index of a relation has the entries that plain loops over its rows give."""
    for index in relation.all_indexes():
        where = f"the index of {name} by {index.key}"
        assert index.rows_indexed <= relation.count, f"{where} has rows that are not there"
        rows = relation.rows[: index.rows_indexed]
        if isinstance(index, DirectIndex):
            _check_direct(where, index, rows)
        else:
            _check_postings(where, index, rows)


def _check_postings(where: str, index: Index, rows: CodeArray) -> None:
    is_numbered = index.boundary < 0
    assert Counter(_entries(index)) == Counter(_expected(index, rows, is_numbered=is_numbered)), where
    for key, level in index.levels.items():
        covered = level.rows_indexed
        assert covered <= index.group_count, f"{where}, its level by {key}, has keys that are not there"
        _check_postings(f"{where}, its level by {key}", level, index.keys[:covered])


def _entries(index: Index) -> Iterator[Entry]:
    """Return the entries of all postings, each with its key."""
    groups = range(len(index.groups)) if index.is_dense else range(index.group_count)
    for group in groups:
        length, start = int(index.groups[group, LENGTH]), int(index.groups[group, START])
        key = (group,) if index.is_dense else tuple(index.keys[group].tolist())
        for entry in index.arena[start : start + length].tolist():
            yield key, tuple(entry)


def _expected(index: Index, rows: CodeArray, *, is_numbered: bool) -> Iterator[Entry]:
    """Return the entries that the rows should have."""
    for number, row in enumerate(rows.tolist()):
        rest = tuple(row[column] for column in index.rest)
        yield tuple(row[column] for column in index.key), (*rest, number) if is_numbered else rest


def _check_direct(where: str, index: DirectIndex, rows: CodeArray) -> None:
    by_key: dict[tuple[int, ...], list[int]] = {}
    for number, row in enumerate(rows[:, index.key].tolist()):
        by_key.setdefault(tuple(row), []).append(number)
    assert index.group_count == len(by_key), where
    assert {key: index.rows_of(rows, key).tolist() for key in by_key} == by_key, where
