"""The indexes of a relation, and when which kind of them is built."""

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import numpy as np

from tidelog.storage.direct import DirectIndex, direct_index
from tidelog.storage.index import Index
from tidelog.storage.kernel import Bools, Code, CodeArray
from tidelog.storage.ordered import OrderedIndex
from tidelog.storage.sharing import Share, by_one_thread
from tidelog.storage.trie import Trie

# An index by the columns of its key, an ordered one by those and the column that orders it, the level of one
# by those and the columns of the key of the index below it.
IndexName = tuple[int, ...] | tuple[tuple[int, ...], int] | tuple[tuple[int, ...], tuple[int, ...]]


class RelationIndexes:
    """Indexes and tries by their names; the rows are those of the relation that inherits from this."""

    arity: int
    count: int
    held: CodeArray
    alive: Bools
    dropped: tuple[int, int]

    def __init__(self, *, is_numbered: bool) -> None:
        self.indexes: dict[IndexName, Index] = {}
        # In place of postings, where few rows share a key.
        self.direct: dict[tuple[int, ...], DirectIndex] = {}
        # Those that somebody reads who knows nothing else.
        self._kept_postings: set[tuple[int, ...]] = set()
        self._numbers_entries = is_numbered
        # The keys of indexes that an evaluation used and that were dropped after it.
        self._keys_joined: set[IndexName] = set()
        self._is_trimmed = False
        self.tries: dict[tuple[int, ...], Trie] = {}
        # What making indexes and slots took so far: the first update after an evaluation pays for later ones.
        self.building_seconds = 0.0

    @contextmanager
    def _building(self) -> Iterator[None]:
        """Measure what is done inside."""
        begun = time.process_time()
        try:
            yield
        finally:
            self.building_seconds += time.process_time() - begun

    @property
    def rows(self) -> CodeArray:
        """Return all rows by their numbers."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Code]:
        """Return the width in which codes are stored."""
        return self.held.dtype

    def index(self, key: tuple[int, ...], boundary: int = 0, share: Share = by_one_thread) -> Index:
        """Return the postings by the columns `key`, built on first use.

        Rows from `boundary` on are the new ones, if the index is built now and its entries have no numbers.
        """
        self._kept_postings.add(key)
        return self._postings(key, boundary, share)

    def _postings(self, key: tuple[int, ...], boundary: int, share: Share = by_one_thread) -> Index:
        index = self.indexes.get(key)
        if index is None:
            index = Index(key, self.arity, self.dtype, is_numbered=self._numbers_entries)
            with self._building():
                index.add_rows(self.rows, boundary, are_last=self._is_trimmed, share=share)
                self._add_rows(index, share)
            self.indexes[key] = index
            self.direct.pop(key, None)
        else:
            self._add_rows(index, share)
        return index

    def _add_rows(self, index: Index, share: Share) -> None:
        """Let an index cover all rows."""
        rows = self.held if index.rows_indexed >= self.dropped[1] else self.rows
        index.add_rows(rows, self.count, are_last=self._is_trimmed, share=share)

    def lookup(
        self, key: tuple[int, ...], boundary: int = 0, share: Share = by_one_thread
    ) -> Index | DirectIndex:
        """Return the index on the columns `key` for readers that know both kinds, built on first use.

        In a session, once a relation was evaluated, it is a direct one where few rows share a key.
        """
        if not self.has_index(key) and self._may_be_direct(key):
            self._make_direct(key)
        if key in self.direct:
            self.direct[key].add_rows(self.rows, self.count)
            if self.direct[key].is_useful:
                return self.direct[key]
        return self._postings(key, boundary, share)

    def has_index(self, key: IndexName) -> bool:
        """Say whether there is an index of this name, of either kind."""
        return key in self.indexes or key in self.direct

    def rows_indexed(self, key: tuple[int, ...]) -> int:
        """Return how many rows the index by these columns has, 0 if there is none."""
        found = self.indexes.get(key) or self.direct.get(key)
        return 0 if found is None else found.rows_indexed

    def all_indexes(self) -> list[Index | DirectIndex]:
        """Return the indexes of both kinds."""
        return [*self.indexes.values(), *self.direct.values()]

    def _may_be_direct(self, key: tuple[int, ...]) -> bool:
        is_ready = self._is_trimmed and self._numbers_entries and not self.dropped[1]
        return is_ready and key not in self._kept_postings

    def _make_direct(self, key: tuple[int, ...]) -> None:
        """Replace postings by a direct index, if that is useful."""
        with self._building():
            made = direct_index(key, self.rows, self.count)
        if made is not None:
            self.direct[key] = made
            self.indexes.pop(key, None)

    def index_new_rows(self, share: Share = by_one_thread) -> None:
        """Let all indexes cover all rows."""
        for index in self.indexes.values():
            if index.rows_indexed < self.count:
                index.add_rows(self.rows, self.count, share=share)
        self.enter_new_rows(share)

    def enter_new_rows(self, share: Share = by_one_thread) -> None:
        """Let direct indexes cover all rows; those that are no longer useful become postings."""
        for index in [each for each in self.direct.values() if each.rows_indexed < self.count]:
            self.lookup(index.key, share=share)

    def is_joined_by(self, key: tuple[int, ...]) -> bool:
        """Say whether there is an index by these columns, or was one until an evaluation ended."""
        return self.has_index(key) or key in self._keys_joined

    def trim(self) -> None:
        """Give back what indexes have to spare, also of those to come: few rows are expected to be added."""
        self._is_trimmed = True
        for index in list(self.indexes.values()):
            if index.key in self.indexes and self._may_be_direct(index.key):
                self._make_direct(index.key)
        for index in self.indexes.values():
            index.trim()

    def number_entries(self, keys: Collection[IndexName] | None = None) -> None:
        """Build indexes again whose entries have no row numbers, all or some; later ones have them, too."""
        self._numbers_entries = True
        for name, index in self.indexes.items():
            if index.boundary >= 0 and (keys is None or name in keys):
                self.indexes[name] = Index(index.key, self.arity, self.dtype)
                self.indexes[name].add_rows(self.rows, index.rows_indexed, are_last=self._is_trimmed)

    def begin_evaluation(self) -> None:
        """Let indexes have no row numbers until `end_evaluation`, if there is none and no row is dead."""
        self._numbers_entries = bool(self.all_indexes()) or self.alive.size > 0

    def end_evaluation(self) -> None:
        """Drop indexes whose entries have no row numbers; give back what others and later ones can spare."""
        self._numbers_entries = True
        self._keys_joined.update(self.indexes)
        self.indexes = {name: index for name, index in self.indexes.items() if index.boundary < 0}
        self.trim()

    def trie(self, columns: tuple[int, ...]) -> Trie:
        """Return the trie whose levels are the columns in this order; its readers add the rows."""
        return self.tries.setdefault(columns, Trie(columns))

    def ordered_index(self, key: tuple[int, ...], column: int) -> OrderedIndex:
        """Return the index on the columns `key` with postings ordered by `column`, built on first use."""
        index = self.indexes.get((key, column))
        if index is None:
            index = OrderedIndex(key, column, self.arity, self.dtype)
            self.indexes[key, column] = index
        assert isinstance(index, OrderedIndex)
        index.add_rows(self.rows, self.count)
        return index
