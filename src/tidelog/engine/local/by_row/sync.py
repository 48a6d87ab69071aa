"""Keeps the kernel's tables and the stored relations in step."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter, is_
from typing import Protocol

import numpy as np

from tidelog.engine.local.by_row.tables import AnyArray, StrataTables, index_below, index_key
from tidelog.storage import Index, StoredRelation
from tidelog.storage.address import address_of
from tidelog.storage.direct import DirectIndex
from tidelog.storage.kernel import Bools, Int64s
from tidelog.storage.ordered import OrderedIndex
from tidelog.storage.relation_indexes import IndexName
from tidelog.storage.structs import columns

# The arrays of relations, of what an epoch knows about them, and of indexes; tables have the addresses under
# the same names.
_ARRAYS = ("slots", "rows", "alive", "levels", "before", "counts")
_INDEX_ARRAYS = ("slots", "keys", "groups", "arena", "arena_state", "exact", "key_columns", "rest_columns")
_DIRECT_ARRAYS = ("slots", "earlier", "key_columns", "rest_columns")
_arrays_of = attrgetter(*_ARRAYS)
# The same without making any of them: slots and rows are made when they are asked for.
_arrays_now = attrgetter("_slots", "held", *_ARRAYS[2:])
_index_arrays_of = attrgetter(*_INDEX_ARRAYS)
_direct_arrays_of = attrgetter(*_DIRECT_ARRAYS)


class MarkArrays(Protocol):
    """What an epoch knows about rows."""

    marks: Bools

    def ensure_room(self) -> None:
        """Make the marks as long as the relation's own."""


class Sync:
    """Writes addresses and counts of relations and indexes to the tables, and reads counts back.

    A replaced array has another address. The arrays of the last time are kept alive, so that their ids are
    not reused, and nothing is done where the ids are still the same. Without `marks_of` the kernel only
    reads.
    """

    def __init__(self, tables: StrataTables, marks_of: Callable[[str], MarkArrays] | None) -> None:
        self._tables = tables
        self._marks_of = marks_of
        self._arrays: dict[str, tuple[AnyArray, ...]] = {}
        self._index_arrays: dict[int, tuple[AnyArray, ...]] = {}
        # The ids of the arrays of relations, and what `_state_of` said when their indexes were written.
        self._ids: list[tuple[int, ...]] = []
        self._states: list[tuple[int, ...]] = []
        self._version = -1
        self._own: set[str] = set()
        self._names: list[str] = []
        self._keys: list[tuple[str, IndexName]] = []
        # Where relations are in `_names`, and the numbers of their indexes with their places in `_keys`.
        self._places: dict[str, int] = {}
        self._of_relation: dict[str, list[tuple[IndexName, int, int]]] = {}
        self._numbers = np.empty(0, np.int64)
        self._index_numbers = np.empty(0, np.int64)
        self._counts = columns(tables.relations, "count", "hidden_count")
        self._index_counts = columns(tables.indexes, "group_count", "rows_indexed")
        # Counts as the tables have them, for each relation and each index.
        self._seen = self._seen_indexes = np.empty((0, 2), np.int64)

    def write(self, relations: Mapping[str, StoredRelation]) -> None:
        """Update the used part of the tables; afterwards indexes cover all rows."""
        tables = self._tables
        if self._version != tables.version:
            self._look_at_use()
        stored = [relations[name] for name in self._names]
        ids = [tuple(map(id, _arrays_now(relation))) for relation in stored]
        if ids != self._ids:
            for place in _different(ids, self._ids):
                self._point(self._names[place], stored[place])
        # An index changes with the rows of its relation, or is new.
        states = [_state_of(relation) for relation in stored]
        if states != self._states:
            changed = _different(states, self._states)
            for place in changed:
                self._count_rows(place, stored[place])
            self._write_indexes(relations, [self._names[place] for place in changed])
            for place in changed:
                self._states[place] = _state_of(stored[place])

    def _look_at_use(self) -> None:
        """Note what is used now, and release the arrays of what is no longer used."""
        tables = self._tables
        self._version = tables.version
        ids, states = (dict(zip(self._names, each, strict=True)) for each in (self._ids, self._states))
        indexes = self._of_relation
        self._names, self._keys = list(tables.read), list(tables.used)
        self._numbers = np.array(list(tables.read.values()), np.int64)
        self._index_numbers = np.array(list(tables.used.values()), np.int64)
        self._places = {name: place for place, name in enumerate(self._names)}
        self._of_relation = {}
        for place, ((name, key), number) in enumerate(tables.used.items()):
            self._of_relation.setdefault(name, []).append((key, number, place))
        for indexes_of in self._of_relation.values():
            # Levels first: what is below them becomes postings then, and is pointed at afterwards.
            indexes_of.sort(key=lambda each: not index_below(each[0]))
        self._counts = columns(tables.relations, "count", "hidden_count")
        self._index_counts = columns(tables.indexes, "group_count", "rows_indexed")
        # A relation whose stratum came into use has marks to point at, too.
        kept_names = tables.read.keys() - (tables.own.keys() - self._own)
        self._own = set(tables.own)
        self._arrays = {name: arrays for name, arrays in self._arrays.items() if name in kept_names}
        kept = set(tables.used.values())
        self._index_arrays = {n: arrays for n, arrays in self._index_arrays.items() if n in kept}
        self._ids = [ids.get(name, ()) if name in kept_names else () for name in self._names]
        self._states = [
            states.get(name, ()) if _named(indexes, name) == _named(self._of_relation, name) else ()
            for name in self._names
        ]
        self._seen = self._counts[self._numbers]
        self._seen_indexes = self._index_counts[self._index_numbers]

    def write_some(self, relations: Mapping[str, StoredRelation], names: Iterable[str]) -> None:
        """Update the tables after the caller changed some relations."""
        if self._version != self._tables.version:
            self._look_at_use()
        chosen = [name for name in names if name in self._places]
        for name in chosen:
            self._point(name, relations[name])
            self._count_rows(self._places[name], relations[name])
        self._write_indexes(relations, chosen)
        for name in chosen:
            self._states[self._places[name]] = _state_of(relations[name])

    def _count_rows(self, place: int, relation: StoredRelation) -> None:
        """Write how many rows a relation has."""
        counts = relation.count, relation.deleted
        self._counts[self._numbers[place]] = counts
        self._seen[place] = counts

    def _point(self, name: str, relation: StoredRelation) -> None:
        """Write the addresses of a relation's arrays, where they changed."""
        marks_of = self._marks_of if name in self._tables.own else None
        if marks_of is not None:
            relation.track_deletions()
        arrays = _arrays_of(relation)
        known = self._arrays.get(name)
        if known is not None and all(map(is_, known, arrays)):
            return
        row = self._tables.relations[self._tables.numbers[name]]
        self._arrays[name] = arrays
        self._ids[self._places[name]] = tuple(map(id, arrays))
        _write_addresses(row, _ARRAYS, arrays)
        if not relation.alive.size:
            # All rows are visible.
            row["alive"] = 0
        row["capacity"] = relation.rows.shape[0]
        row["slot_count"] = relation.slots.shape[0]
        if marks_of is not None:
            marks = marks_of(name)
            marks.ensure_room()
            row["marks"] = address_of(marks.marks)

    def _write_indexes(self, relations: Mapping[str, StoredRelation], names: Iterable[str]) -> None:
        """Update the indexes of some relations."""
        for name in names:
            for key, number, place in self._of_relation.get(name, ()):
                index = index_named(relations[name], key)
                self._point_index(number, index)
                counts = index.group_count, index.rows_indexed
                self._index_counts[number] = counts
                self._seen_indexes[place] = counts

    def _point_index(self, number: int, index: Index | DirectIndex) -> None:
        row = self._tables.indexes[number]
        if isinstance(index, DirectIndex):
            self._point_direct(number, index)
            return
        if isinstance(index, OrderedIndex):
            index.cover_groups()
            row["sorted_lengths"] = address_of(index.sorted_lengths)
            row["position"] = index.position
        arrays = _index_arrays_of(index)
        known = self._index_arrays.get(number)
        if known is not None and all(map(is_, known, arrays)):
            return
        self._index_arrays[number] = arrays
        _write_addresses(row, _INDEX_ARRAYS, arrays)
        is_wide = index.groups.dtype == np.int64
        row["wide_groups"], row["groups"] = (row["groups"], 0) if is_wide else (0, row["groups"])
        row["earlier"] = 0
        row["is_dense"] = index.is_dense
        row["slot_count"] = index.slots.shape[0]
        row["key_capacity"] = index.keys.shape[0]
        row["group_capacity"] = index.groups.shape[0]
        row["arena_capacity"] = index.arena.shape[0]
        row["exact_count"] = index.exact.shape[0]

    def _point_direct(self, number: int, index: DirectIndex) -> None:
        arrays = _direct_arrays_of(index)
        known = self._index_arrays.get(number)
        if known is not None and all(map(is_, known, arrays)):
            return
        self._index_arrays[number] = arrays
        row = self._tables.indexes[number]
        _write_addresses(row, _DIRECT_ARRAYS, arrays)
        row["is_dense"] = index.is_dense
        row["slot_count"] = index.slots.shape[0]
        row["arena_capacity"] = index.earlier.shape[0]

    def read(self, relations: Mapping[str, StoredRelation]) -> None:
        """Tell relations and indexes how many rows the kernel has appended or hidden."""
        assert self._version == self._tables.version, "the kernel runs over tables that were written"
        counts, touched = self._counts[self._numbers], []
        for place in _changed(counts, self._seen):
            relation = relations[self._names[place]]
            relation.count, relation.deleted = counts[place].tolist()
            touched.append(place)
        self._seen = counts
        counts = self._index_counts[self._index_numbers]
        for place in _changed(counts, self._seen_indexes):
            name, key = self._keys[place]
            _tell_index(relations[name], key, counts[place].tolist())
        self._seen_indexes = counts
        for place in touched:
            # The kernel has entered the rows into all indexes in use. A direct one may be crowded now: then
            # the next `write` replaces it.
            relation = relations[self._names[place]]
            if all(index.is_useful for index in relation.direct.values()):
                self._states[place] = _state_of(relation)


def _state_of(relation: StoredRelation) -> tuple[int, ...]:
    """Return what differs once rows or indexes of a relation have changed."""
    return relation.version, relation.count, relation.deleted, len(relation.indexes), len(relation.direct)


def _different(now: Sequence[tuple[int, ...]], before: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the places at which two lists of the same length differ."""
    return [place for place, (one, other) in enumerate(zip(now, before, strict=True)) if one != other]


def _named(indexes: Mapping[str, list[tuple[IndexName, int, int]]], relation: str) -> list[IndexName]:
    """Return the names of the indexes of a relation."""
    return [name for name, _, _ in indexes.get(relation, ())]


def _changed(now: Int64s, before: Int64s) -> list[int]:
    """Return the rows in which two tables of two columns differ."""
    return sorted({place >> 1 for place in np.flatnonzero(now.ravel() != before.ravel()).tolist()})


def _tell_index(relation: StoredRelation, name: IndexName, counts: Sequence[int]) -> None:
    """Tell an index how many groups and rows a kernel has added to it."""
    below = index_below(name)
    if below:
        index: Index | DirectIndex = relation.indexes[below].levels[index_key(name)]
    else:
        index = relation.indexes.get(name) or relation.direct[index_key(name)]
    first = index.rows_indexed
    if isinstance(index, DirectIndex):
        # It may have other names, and whichever entered a row first counted its key.
        counts = max(index.group_count, counts[0]), max(first, counts[1])
    index.group_count, index.rows_indexed = counts
    if isinstance(index, OrderedIndex):
        index.order_rows(relation.rows, first, index.rows_indexed)


def index_named(relation: StoredRelation, name: IndexName) -> Index | DirectIndex:
    """Return the index with this name, covering all rows."""
    below = index_below(name)
    if below:
        return relation.index(below).level(index_key(name))
    if name and isinstance(name[0], tuple):
        return relation.ordered_index(*name)
    return relation.lookup(name)


def _write_addresses(row: np.void, names: tuple[str, ...], arrays: tuple[AnyArray, ...]) -> None:
    for name, array in zip(names, arrays, strict=True):
        row[name] = address_of(array)
