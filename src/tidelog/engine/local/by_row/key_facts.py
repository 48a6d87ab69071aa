"""Kernel parts: whether a relation has a fact for a key, and had one before the epoch, by its index."""

from typing import NamedTuple

from tidelog.engine.local.by_row.joins import group_field
from tidelog.engine.local.by_row.layout import RelationRecord, Tables
from tidelog.engine.local.by_row.lookup import find_posting
from tidelog.storage.annotations import level_before
from tidelog.storage.judge_row import ABSENT_LEVEL
from tidelog.storage.kernel import Integer, inlined
from tidelog.storage.postings import LENGTH, START
from tidelog.storage.structs import elements_at


class KeyFacts(NamedTuple):
    """Whether there was a fact in the old epoch, and is one now."""

    was_there: bool
    is_there: bool


@inlined
def _with_row(relation: RelationRecord, row: Integer, known: KeyFacts) -> KeyFacts:
    """Return what is known with one more row of the key."""
    was_there = known.was_there or level_before(relation.levels, relation.before, row) != ABSENT_LEVEL
    return KeyFacts(was_there, known.is_there or relation.levels[row] != ABSENT_LEVEL)


@inlined
def read_key(tables: Tables, number: Integer, base: Integer, place: Integer) -> KeyFacts:
    """Return whether a relation has facts for the key whose operands are at a place of the code.

    Rows that are not facts, neither of the old epoch nor of the new one, have no level. The newest rows come
    first: where old facts make room for new ones, the dead rows are at the beginning of a posting.
    """
    index, relation = tables.indexes[number], tables.relations[base]
    found = KeyFacts(False, False)
    group = find_posting(tables, index, relation, place)
    if group < 0:
        return found
    if index.earlier.address != 0:
        row: Integer = group
        while row >= 0 and not (found.was_there and found.is_there):
            found = _with_row(relation, row, found)
            row = index.earlier[row] - 1
        return found
    width = index.rest_width + 1
    length = group_field(index, group, LENGTH)
    last = group_field(index, group, START) + length - 1
    for position in range(length):
        entry = last - position
        row = elements_at(index.arena, tables.codes)[entry * width + index.rest_width]
        found = _with_row(relation, row, found)
        if found.was_there and found.is_there:
            break
    return found
