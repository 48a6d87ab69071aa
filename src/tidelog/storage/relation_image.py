"""A relation with its table of rows and its indexes as arrays of an image, and back.

What an epoch needs is then mapped, not built. Tries and ordered indexes are left out; they are built again
when somebody asks for them.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tidelog.storage.direct import DirectIndex
from tidelog.storage.index import Index
from tidelog.storage.kernel import CodeArray, Int32s, Slots
from tidelog.storage.ordered import OrderedIndex
from tidelog.storage.postings import TOP
from tidelog.storage.relation import StoredRelation
from tidelog.storage.slots import FULLEST, grow_slots, slots_for
from tidelog.values.image import Add, AnyArray, ArrayOf

# Room for rows to come, so that the first of them do not copy everything; on the disk it takes none.
_ROOM: Final = 4096
_ROOM_SHARE: Final = 4
# The same for tables of slots, all of which is on the disk.
_SLOT_ROOM: Final = 2048
_SLOT_ROOM_SHARE: Final = 8
# `before` is empty between epochs: only its size is kept.
_ROW_ARRAYS: Final = ("held", "alive", "levels", "before", "counts")
_INDEX_ARRAYS: Final = ("slots", "keys", "groups", "arena", "arena_state", "exact")
_INDEX_NUMBERS: Final = ("is_dense", "rows_indexed", "group_count")


def write_relation(relation: StoredRelation, add: Add) -> dict[str, object]:
    """Add the arrays of a relation to an image; return what `read_relation` needs."""
    relation.restore_rows()
    relation.require_numbers()
    rows = _roomy(relation.count)
    arrays = {name: getattr(relation, name)[: relation.count] for name in _ROW_ARRAYS}
    arrays["before"] = relation.before[:0]
    postings = [
        (list(name), index)
        for name, index in relation.indexes.items()
        if index.boundary < 0 and not isinstance(index, OrderedIndex) and name == index.key
    ]
    return {
        "count": relation.count,
        "deleted": relation.deleted,
        "counts_derivations": relation.counts_derivations,
        "numbers_entries": relation._numbers_entries,  # noqa: SLF001 - this is its own other form
        "is_trimmed": relation._is_trimmed,  # noqa: SLF001 - as above
        "kept_postings": [list(key) for key in relation._kept_postings],  # noqa: SLF001 - as above
        # Those that do not exist stay so.
        "arrays": {
            name: add(array, rows if getattr(relation, name).size else 0) for name, array in arrays.items()
        },
        "slots": add(_roomy_slots(relation.slots, relation.count, relation.held, relation.all_columns)),
        "indexes": [_write_index(index, add) for _, index in postings],
        "direct": [_write_direct(index, relation.held, rows, add) for index in relation.direct.values()],
    }


def read_relation(relation: StoredRelation, about: Mapping[str, Any], array_of: ArrayOf) -> None:
    """Give a relation without rows the content that `write_relation` wrote."""
    assert not relation.count, "an image is read before any facts"
    for name, number in about["arrays"].items():
        setattr(relation, name, array_of(number))
    relation._slots = array_of(about["slots"])  # noqa: SLF001 - this is its own other form
    relation.count, relation.deleted = about["count"], about["deleted"]
    relation.counts_derivations = about["counts_derivations"]
    relation._numbers_entries = about["numbers_entries"]  # noqa: SLF001 - as above
    relation._is_trimmed = about["is_trimmed"]  # noqa: SLF001 - as above
    relation._kept_postings = {tuple(key) for key in about["kept_postings"]}  # noqa: SLF001 - as above
    for each in about["indexes"]:
        index = _read_index(each, relation.arity, array_of)
        relation.indexes[index.key] = index
    for each in about["direct"]:
        direct = _read_direct(each, relation.arity, array_of)
        relation.direct[direct.key] = direct


def _write_index(index: Index, add: Add) -> dict[str, object]:
    groups = _used(index.groups) if index.is_dense else index.group_count
    entries = int(index.arena_state[TOP])
    keys = index.keys, index.key_places
    arrays = [
        add(index.slots if index.is_dense else _roomy_slots(index.slots, index.group_count, *keys)),
        add(index.keys[: index.group_count], _roomy(index.group_count)),
        add(index.groups[:groups], _roomy(groups)),
        add(index.arena[:entries], _roomy(entries)),
        add(index.arena_state),
        add(index.exact[:groups]),
    ]
    return {
        "key": list(index.key),
        "numbers": [int(getattr(index, name)) for name in _INDEX_NUMBERS],
        "arrays": arrays,
        "levels": [[list(key), _write_index(level, add)] for key, level in index.levels.items()],
    }


def _read_index(about: Mapping[str, Any], arity: int, array_of: ArrayOf) -> Index:
    arrays = [array_of(number) for number in about["arrays"]]
    index = Index(tuple(about["key"]), arity, arrays[1].dtype)
    for name, array in zip(_INDEX_ARRAYS, arrays, strict=True):
        setattr(index, name, array)
    _set_numbers(index, about["numbers"])
    for key, level in about["levels"]:
        index.levels[tuple(key)] = _read_index(level, len(index.key), array_of)
    return index


def _write_direct(index: DirectIndex, rows: CodeArray, room: int, add: Add) -> dict[str, object]:
    if index.is_dense:
        codes = _used(index.slots)
        slots = add(index.slots[:codes], _roomy(codes))
    else:
        slots = add(_roomy_slots(index.slots, index.rows_indexed, rows, index.key_columns))
    return {
        "key": list(index.key),
        "numbers": [int(getattr(index, name)) for name in _INDEX_NUMBERS],
        "slots": slots,
        "earlier": add(index.earlier[: index.rows_indexed], room),
    }


def _read_direct(about: Mapping[str, Any], arity: int, array_of: ArrayOf) -> DirectIndex:
    index = DirectIndex(tuple(about["key"]), arity)
    _set_numbers(index, about["numbers"])
    index.slots, index.earlier = array_of(about["slots"]), array_of(about["earlier"])
    return index


def _set_numbers(index: Index | DirectIndex, numbers: list[int]) -> None:
    is_dense, index.rows_indexed, index.group_count = numbers
    index.is_dense = bool(is_dense)


def _roomy(count: int) -> int:
    return count + max(_ROOM, count // _ROOM_SHARE)


def _roomy_slots(slots: Slots, count: int, contents: CodeArray, columns: Int32s) -> Slots:
    """Return a table with room for numbers to come, so that the first of them do not fill a larger one."""
    needed = count + max(_SLOT_ROOM, count // _SLOT_ROOM_SHARE)
    if not slots.size or needed <= FULLEST * len(slots):
        return slots
    larger = np.zeros(slots_for(needed), slots.dtype)
    grow_slots(slots, larger, contents, columns)
    return larger


def _used(array: AnyArray) -> int:
    """Return how many of the first rows of an array there are up to the last one that is not zero."""
    last = len(array)
    while last:
        first = max(0, last - (1 << 16))
        written = np.flatnonzero(array[first:last].reshape(last - first, -1).any(axis=1))
        if written.size:
            return first + int(written[-1]) + 1
        last = first
    return 0
