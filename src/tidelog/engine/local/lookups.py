"""Steps that look facts up: by an index, by membership, and by their row numbers."""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import ChainStep, SelectingStep, Sources, first_buffer, next_buffer
from tidelog.plan.operators import Check, Find, IndexJoin, Layout
from tidelog.storage import Index, StoredRelation
from tidelog.storage.direct import DirectIndex, find_newest, has_row, join_direct
from tidelog.storage.join import (
    LESS,
    LESS_EQUAL,
    find_groups,
    has_entry,
    join_dense_pairs,
    join_postings,
)
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s
from tidelog.storage.ordered import ABOVE, AT_LEAST, AT_MOST, BELOW, OrderedIndex, join_ordered
from tidelog.storage.projected import PRESENT, ProjectedRelation
from tidelog.storage.sharing import Share, by_one_thread

# Continues a join from its progress into a buffer; returns how many rows it wrote.
_Join = Callable[[Int64s, CodeArray], int]
# The bound that a filter sets if the ordered column is its left side, or its right side.
_BOUNDS = {LESS: (BELOW, ABOVE), LESS_EQUAL: (AT_MOST, AT_LEAST)}


class JoinStep(ChainStep):
    """Extends bindings through an index."""

    def __init__(self, join: IndexJoin, layout: Layout, state: LocalState, expressions: Expressions) -> None:
        relation = self._relation = state.relations[join.relation]
        visible = self._visible = state.visible[join.relation]
        if join.ordered is None:
            build_index(join, relation, visible.delta)
        else:
            relation.ordered_index(join.key, join.ordered)
        sources = Sources(layout, names_of_entry(join, relation.arity), state, expressions)
        self.join = join
        self._state = state
        self._key = key_of(join, sources)
        self._filters = sources.filters(join.filters)
        self._sources = sources.numbers(join.outputs)
        self._constants = sources.constants()
        self._progress = np.zeros(2, np.int64)
        self._out = first_buffer(len(join.outputs), state.dtype)
        self._pair = self._as_pair(len(layout))
        # How many bindings were joined so far, and with how many facts.
        self.bindings = self.matches = 0
        # Filters and sources that name columns of rows, for direct indexes.
        self._of_rows: tuple[Int32s, Int32s] | None = None
        self._bounds = np.empty((0, 2), np.int32)
        if join.ordered is not None:
            place = sum(column not in join.key for column in range(join.ordered))
            self._bounds = _bounds_on(len(layout) + place, self._filters, len(layout))

    def _as_pair(self, width: int) -> tuple[int, int, bool] | None:
        """Return the two output columns if they are one of the batch and one of the entry.

        As (column of the batch, column of the entry, whether the entry's comes first).
        """
        if len(self._sources) != 2 or len(self._key) != 1 or self._key[0] < 0 or len(self._filters):
            return None
        first, second = (int(source) for source in self._sources)
        if 0 <= first < width <= second:
            return first, second - width, False
        if 0 <= second < width <= first:
            return second, first - width, True
        return None

    def run(self, batch: CodeArray) -> None:
        """Push one row per binding and matching fact."""
        lowest, highest = self._visible.rows(self.join.view)
        if lowest == highest:
            return
        join = self._direct(batch, lowest, highest) or self._through_postings(batch, lowest, highest)
        self._progress[:] = 0
        self.bindings += batch.shape[0]
        while self._progress[0] < batch.shape[0]:
            written = join(self._progress, self._out)
            self.matches += written
            self._state.count_bindings(written)
            if written:
                self.next.run(self._out[:written])
            self._out = next_buffer(self._out, written)

    def _direct(self, batch: CodeArray, lowest: int, highest: int) -> _Join | None:
        """Return the join through a direct index, if there is one."""
        relation = self._relation
        index = relation.direct.get(self.join.index)
        if index is None or self.join.ordered is not None:
            return None
        if self._of_rows is None:
            columns = np.array([*index.rest, relation.arity], np.int32)
            filters, width = self._filters.copy(), batch.shape[1]
            filters[:, 1:] = _of_columns(filters[:, 1:], width, columns)
            self._of_rows = filters, _of_columns(self._sources, width, columns)
        found = newest_rows(batch, self._constants, self._key, index, relation)
        arrays = index.earlier, relation.held, relation.alive
        return partial(join_direct, batch, found, self._constants, *arrays, lowest, highest, *self._of_rows)

    def _through_postings(self, batch: CodeArray, lowest: int, highest: int) -> _Join:
        """Return the join through postings, ordered or not."""
        index, alive = index_of(self.join, self._relation), self._relation.alive
        if self.join.over:
            # All keys are in view; those without a fact in view have none to be joined with later.
            lowest, highest, alive = 0, index.rows_indexed, alive[:0]
        is_all = lowest == 0 and highest >= index.rows_indexed and not alive.size
        if self._pair is not None and is_all and index.is_dense and not isinstance(index, OrderedIndex):
            key = int(self._key[0])
            return partial(join_dense_pairs, batch, key, index.groups, index.arena, *self._pair)
        found = groups_joined(self.join, batch, self._constants, self._key, index)
        common = (batch, found, self._constants, index.groups, index.arena)
        if isinstance(index, OrderedIndex):
            ordered_by = index.sorted_lengths, index.position, self._bounds
            join = partial(join_ordered, *common, *ordered_by, alive, lowest, highest)
        else:
            in_view = lowest, highest, index.boundary_between(lowest, highest)
            join = partial(join_postings, *common, alive, *in_view)
        return partial(join, self._filters, self._sources)


def build_index(
    join: IndexJoin, relation: StoredRelation, boundary: int, share: Share = by_one_thread
) -> None:
    """Build what a join reads: postings, if it leads to their groups or is led by them."""
    if join.over or join.group:
        index = relation.index(join.index, boundary, share)
        if join.over:
            index.level(join.key)
    else:
        relation.lookup(join.index, boundary, share)


def index_of(join: IndexJoin, relation: StoredRelation) -> Index:
    """Return the index, or the level of one, that a join reads."""
    if join.ordered is not None:
        return relation.indexes[join.key, join.ordered]
    index = relation.indexes[join.index]
    return index.level(join.key) if join.over else index


def names_of_entry(join: IndexJoin, arity: int) -> list[str]:
    """Return the names of an entry's columns: those that are not in the key, and the row or the group."""
    names = dict(join.binds)
    columns = (column for column in join.over or range(arity) if column not in join.key)
    last = join.group if join.over else names.get(arity, "%unread")
    return [*(names.get(column, f"%unread{column}") for column in columns), last]


def key_of(join: IndexJoin, sources: Sources) -> Int32s:
    """Return the sources of a join's key, or of the group's number if that is known."""
    return sources.numbers((join.group,) if join.group and not join.over else join.operands)


def groups_joined(join: IndexJoin, batch: CodeArray, constants: Int64s, key: Int32s, index: Index) -> Int64s:
    """Return the group that each binding is joined with, -1 if there is none."""
    if join.group and not join.over:
        return batch[:, key[0]].astype(np.int64)
    return groups_of(batch, constants, key, index)


def groups_of(batch: CodeArray, constants: Int64s, key: Int32s, index: Index) -> Int64s:
    """Return the group of each binding's key in an index, -1 if there is none."""
    found = np.empty(batch.shape[0], np.int64)
    find_groups(batch, constants, key, index.slots, index.keys, index.groups, index.is_dense, found)
    return found


def newest_rows(
    batch: CodeArray, constants: Int64s, key: Int32s, index: DirectIndex, relation: StoredRelation
) -> Int64s:
    """Return the newest row with each binding's key, -1 if there is none."""
    found = np.empty(batch.shape[0], np.int64)
    table = index.slots, relation.held, index.key_columns, index.is_dense
    find_newest(batch, constants, key, *table, found)
    return found


def _bounds_on(ordered: int, filters: Int32s, width: int) -> Int32s:
    """Return the filters that bound the column with source `ordered` as (kind, source).

    Sources below `width` are columns of the batch, negative ones constants. A bound by another column
    of the same entry is only a filter, not a bound for a search.
    """
    bounds = []
    for comparison, left, right in filters:
        below, above = _BOUNDS.get(comparison, (None, None))
        if below is not None and left == ordered and right < width:
            bounds.append((below, right))
        elif above is not None and right == ordered and left < width:
            bounds.append((above, left))
    return np.array(bounds, np.int32).reshape(-1, 2)


def _of_columns(sources: Int32s, width: int, columns: Int32s) -> Int32s:
    """Return sources that name columns of a row in place of those of an entry, which are these columns."""
    named: Int32s = sources.copy()
    of_entry = sources >= width
    named[of_entry] = width + columns[sources[of_entry] - width]
    return named


class CheckStep(SelectingStep):
    """Keeps bindings by the presence of a fact."""

    def __init__(self, check: Check, layout: Layout, state: LocalState, expressions: Expressions) -> None:
        super().__init__(check, layout, state, expressions)
        relation = self._relation = state.relations[check.relation]
        if len(check.key) == relation.arity:
            relation.complete_membership()
        if isinstance(relation, ProjectedRelation):
            relation.prepare()
        self._check = check
        self._key = self.numbers(check.operands)
        self._visible = state.visible[check.relation]
        if 0 < len(check.key) < relation.arity:
            relation.lookup(check.key, self._visible.delta)

    def run(self, batch: CodeArray) -> None:
        """Push the bindings for which the fact is present (or absent)."""
        present = self._present(batch, *self._visible.rows(self._check.view))
        self.push(batch, present ^ np.uint8(1) if self._check.is_negated else present)

    def _present(self, batch: CodeArray, lowest: int, highest: int) -> Bools:
        relation, key = self._relation, self._check.key
        if isinstance(relation, ProjectedRelation):
            found = relation.look_up(batch, self._constants, self._key)
            return np.asarray(found != -1, np.uint8)
        if lowest == highest:
            return np.zeros(batch.shape[0], np.uint8)
        if len(key) == relation.arity:
            return relation.are_present(batch, self._constants, self._key, lowest, highest)
        if not key:
            is_alive = not relation.deleted or len(relation.live_rows(lowest, highest)) > 0
            return np.full(batch.shape[0], is_alive, np.uint8)
        present = np.empty(batch.shape[0], np.uint8)
        direct = relation.direct.get(key)
        if direct is not None:
            found = newest_rows(batch, self._constants, self._key, direct, relation)
            has_row(found, direct.earlier, relation.alive, lowest, highest, present)
            return present
        index = relation.indexes[key]
        found = groups_of(batch, self._constants, self._key, index)
        in_view = lowest, highest, index.boundary_between(lowest, highest)
        has_entry(batch, found, index.groups, index.arena, relation.alive, *in_view, present)
        return present


class FindStep(SelectingStep):
    """Binds the number of a fact's row, -1 where a negated fact is absent.

    Bindings that have a negated fact in both epochs are dropped if it has no row.
    """

    def __init__(self, find: Find, layout: Layout, state: LocalState, expressions: Expressions) -> None:
        super().__init__(find, layout, state, expressions, (find.row,))
        self._relation = state.relations[find.relation]
        self._relation.require_numbers()
        if isinstance(self._relation, ProjectedRelation):
            self._relation.prepare()
        self._key = self.numbers(find.operands)
        self._is_negated = find.is_negated

    def run(self, batch: CodeArray) -> None:
        """Push the bindings with the row number in a further column."""
        keep: npt.NDArray[np.bool_] | None
        if isinstance(self._relation, ProjectedRelation):
            found = self._relation.look_up(batch, self._constants, self._key)
            keep = found != PRESENT
        else:
            found = self._relation.row_numbers(batch, self._constants, self._key)
            keep = None if self._is_negated else found >= 0
        self.extend(batch, keep, [found.astype(self._state.dtype)])
