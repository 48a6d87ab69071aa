"""Operators made runnable: each step takes a batch and pushes batches to the next one.

A step owns its output buffer and reuses it: the next step is done with a batch before the
following one is made. Steps belong to one thread.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState, Visible
from tidelog.plan.operators import (
    Check,
    Comparison,
    Compute,
    Filter,
    Find,
    Generate,
    Join,
    Layout,
    Operand,
    Project,
    Scan,
    TakeApart,
)
from tidelog.program.nodes import BranchTerm, RecordTerm
from tidelog.storage import Index
from tidelog.storage.join import (
    EQUAL,
    LESS,
    LESS_EQUAL,
    UNEQUAL,
    find_bindings,
    find_groups,
    has_entry,
    join_dense_pairs,
    join_postings,
    scan_rows,
    select_rows,
)
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s
from tidelog.storage.ordered import ABOVE, AT_LEAST, AT_MOST, BELOW, OrderedIndex, join_ordered

# Takes batches; whoever keeps one has to copy it.
Sink = Callable[[CodeArray], None]
# Rows per buffer: large enough to hide the cost of a kernel call, small enough for the cache.
BUFFER_ROWS = 1 << 14

_OPS = {"=": EQUAL, "!=": UNEQUAL, "<": LESS, "<=": LESS_EQUAL}


class Sources:
    """Numbers the operands of one operator the way kernels read them.

    Columns of the incoming batch come first, then the columns an operator binds; a constant gets
    a negative number.
    """

    def __init__(
        self, layout: Layout, bound: Sequence[str], state: LocalState, expressions: Expressions
    ) -> None:
        self._places: dict[Operand, int] = {}
        for place, operand in enumerate((*layout, *bound)):
            self._places.setdefault(operand, place)
        self._constants: list[int] = []
        self._state = state
        self._expressions = expressions

    def number(self, operand: Operand) -> int:
        """Return the source of an operand."""
        if operand in self._places:
            return self._places[operand]
        assert not isinstance(operand, str), f"unbound {operand}"
        code = self._expressions.codec.encode(operand.value, operand.type)
        self._state.require(code)
        self._constants.append(code)
        self._places[operand] = -len(self._constants)
        return -len(self._constants)

    def numbers(self, operands: Sequence[Operand]) -> Int32s:
        """Return the sources of several operands."""
        return np.array([self.number(operand) for operand in operands], np.int32)

    def filters(self, comparisons: Sequence[Comparison]) -> Int32s:
        """Return comparisons as rows (comparison, left, right)."""
        rows = [(_OPS[c.op], self.number(c.left), self.number(c.right)) for c in comparisons]
        return np.array(rows, np.int32).reshape(-1, 3)

    def constants(self) -> Int64s:
        """Return the codes of the constants met so far."""
        return np.array(self._constants, np.int64)


class Step(ABC):
    """One operator of a chain, with the step that follows it."""

    next: "Step"

    @abstractmethod
    def run(self, batch: CodeArray) -> None:
        """Take a batch and push what becomes of it to the next step."""


class SinkStep(Step):
    """The end of a chain: hands batches to whoever asked for them."""

    def __init__(self) -> None:
        self.sink: Sink

    def run(self, batch: CodeArray) -> None:
        """Hand the batch on."""
        self.sink(batch)


class ScanStep:
    """The first operator of a chain, run over ranges of row numbers."""

    def __init__(self, scan: Scan, state: LocalState, expressions: Expressions) -> None:
        relation = state.program.relations[scan.relation]
        columns: list[str] = [f"%unread{column}" for column in range(relation.arity)]
        same: list[Comparison] = []
        for column, name in scan.binds:
            if columns[column].startswith("%unread"):
                columns[column] = name
            else:
                same.append(Comparison("=", columns[column], name))
        sources = Sources(tuple(columns), (), state, expressions)
        self._relation = state.relations[scan.relation]
        self._filters = sources.filters(_renamed((*scan.filters, *same), scan.binds, columns))
        self._sources = sources.numbers(scan.outputs)
        self._constants = sources.constants()
        self._is_whole = not self._filters.size and list(self._sources) == list(range(relation.arity))
        self._out = np.empty((0 if self._is_whole else BUFFER_ROWS, len(scan.outputs)), state.dtype)
        self._progress = np.zeros(1, np.int64)
        self.view = scan.view
        self.visible: Visible = state.visible[scan.relation]
        self.next: Step

    def rows(self) -> tuple[int, int]:
        """Return the row numbers to scan in this iteration."""
        return self.visible.rows(self.view)

    def run(self, first: int, last: int) -> None:
        """Push the rows numbered `first` to `last - 1`."""
        relation = self._relation
        if self._is_whole and not relation.deleted:
            self.next.run(relation.rows[first:last])
            return
        if self._is_whole:
            rows = relation.live_rows(first, last)
            if len(rows):
                self.next.run(rows)
            return
        self._progress[0] = first
        while self._progress[0] < last:
            written = scan_rows(
                relation.rows, relation.alive, self._constants, self._filters, self._sources,
                self._progress, last, self._out,
            )  # fmt: skip
            if written:
                self.next.run(self._out[:written])


def _renamed(
    filters: Sequence[Comparison], binds: Sequence[tuple[int, str]], columns: Sequence[str]
) -> list[Comparison]:
    """Return comparisons in which a column bound twice has one name."""
    names: Mapping[Operand, str] = {name: columns[column] for column, name in binds}
    return [Comparison(c.op, names.get(c.left, c.left), names.get(c.right, c.right)) for c in filters]


class JoinStep(Step):
    """Extends bindings through an index."""

    def __init__(self, join: Join, layout: Layout, state: LocalState, expressions: Expressions) -> None:
        self._relation = state.relations[join.relation]
        self._key_columns = join.key
        rest = [column for column in range(self._relation.arity) if column not in join.key]
        names = dict(join.binds)
        # The last column of an entry, after those that are not in the key, is the row number.
        bound = [names.get(column, f"%unread{column}") for column in (*rest, self._relation.arity)]
        sources = Sources(layout, bound, state, expressions)
        self._key = sources.numbers(join.operands)
        self._filters = sources.filters(join.filters)
        self._sources = sources.numbers(join.outputs)
        self._constants = sources.constants()
        self._state = state
        self._visible = state.visible[join.relation]
        self._view = join.view
        self._found: Int64s = np.empty(BUFFER_ROWS, np.int64)
        self._progress = np.zeros(2, np.int64)
        self._out: CodeArray = np.empty((BUFFER_ROWS, len(join.outputs)), state.dtype)
        self._pair = self._as_pair(len(layout))
        self._ordered = join.ordered
        self._bounds = np.empty((0, 2), np.int32)
        if join.ordered is not None:
            ordered = len(layout) + rest.index(join.ordered)
            self._bounds = _bounds_on(ordered, self._filters, len(layout))

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
        lowest, highest = self._visible.rows(self._view)
        if lowest == highest:
            return
        if self._ordered is not None:
            self._run_ordered(batch, lowest, highest)
            return
        index = self._relation.indexes[self._key_columns]
        is_all = lowest == 0 and highest >= index.rows_indexed and not self._relation.alive.size
        if self._pair is not None and is_all and index.is_dense:
            self._run_pairs(batch, index, *self._pair)
            return
        count = batch.shape[0]
        if count > self._found.shape[0]:
            self._found = np.empty(count, np.int64)
        found = self._found[:count]
        find_groups(
            batch, self._constants, self._key, index.slots, index.keys, index.groups, index.is_dense, found
        )
        progress = self._progress
        progress[:] = 0
        while progress[0] < count:
            written = join_postings(
                batch, found, self._constants, index.groups, index.arena, self._relation.alive,
                lowest, highest, self._filters, self._sources, progress, self._out,
            )  # fmt: skip
            self._state.count_bindings(written)
            if written:
                self.next.run(self._out[:written])

    def _run_ordered(self, batch: CodeArray, lowest: int, highest: int) -> None:
        index = self._relation.indexes[self._key_columns, self._ordered]  # type: ignore[index]  # there is one
        assert isinstance(index, OrderedIndex)
        count = batch.shape[0]
        found = np.empty(count, np.int64)
        find_groups(
            batch, self._constants, self._key, index.slots, index.keys, index.groups, index.is_dense, found
        )
        progress = self._progress
        progress[:] = 0
        while progress[0] < count:
            written = join_ordered(
                batch, found, self._constants, index.groups, index.arena, index.sorted_lengths,
                index.position, self._bounds, self._relation.alive, lowest, highest, self._filters,
                self._sources, progress,
                self._out,
            )  # fmt: skip
            self._state.count_bindings(written)
            if written:
                self.next.run(self._out[:written])

    def _run_pairs(self, batch: CodeArray, index: Index, kept: int, taken: int, taken_first: bool) -> None:  # noqa: FBT001 - as computed
        progress = self._progress
        progress[:] = 0
        key = int(self._key[0])
        while progress[0] < batch.shape[0]:
            written = join_dense_pairs(
                batch, key, index.groups, index.arena, kept, taken, taken_first, progress, self._out
            )
            self._state.count_bindings(written)
            if written:
                self.next.run(self._out[:written])


def _bounds_on(ordered: int, filters: Int32s, width: int) -> Int32s:
    """Return the filters that bound the column with source `ordered` as (kind, source).

    Sources below `width` are columns of the batch, negative ones constants.
    """
    bounds = []
    for comparison, left, right in filters:
        if comparison == LESS and left == ordered:
            bounds.append((BELOW, right))
        elif comparison == LESS_EQUAL and left == ordered:
            bounds.append((AT_MOST, right))
        elif comparison == LESS and right == ordered:
            bounds.append((ABOVE, left))
        elif comparison == LESS_EQUAL and right == ordered:
            bounds.append((AT_LEAST, left))
    # A bound by another column of the same entry is a filter and no bound for a search.
    usable = [(kind, source) for kind, source in bounds if source < width]
    return np.array(usable, np.int32).reshape(-1, 2)


class SelectingStep(Step):
    """A step that keeps some bindings and rearranges their columns."""

    def __init__(
        self,
        outputs: Layout,
        layout: Layout,
        bound: Sequence[str],
        state: LocalState,
        expressions: Expressions,
    ) -> None:
        self._state = state
        self._names = [operand if isinstance(operand, str) else "" for operand in layout]
        self._all_sources = Sources(layout, bound, state, expressions)
        self._sources = self._all_sources.numbers(outputs)
        self._constants = self._all_sources.constants()
        self._out: CodeArray = np.empty((0, len(outputs)), state.dtype)

    def columns(self, batch: CodeArray) -> dict[str, npt.NDArray[np.int64]]:
        """Return the batch as named columns of 64-bit codes."""
        return {name: batch[:, place].astype(np.int64) for place, name in enumerate(self._names)}

    def push(self, batch: CodeArray, keep: Bools) -> None:
        """Push the kept bindings in the layout of the outputs."""
        if self._out.shape[0] < batch.shape[0]:
            self._out = np.empty((max(batch.shape[0], 256), self._out.shape[1]), self._state.dtype)
        written = select_rows(batch, keep, self._sources, self._constants, self._out)
        if written:
            self.next.run(self._out[:written])


class CheckStep(SelectingStep):
    """Keeps bindings by the presence of a fact."""

    def __init__(self, check: Check, layout: Layout, state: LocalState, expressions: Expressions) -> None:
        super().__init__(check.outputs, layout, (), state, expressions)
        self._relation = state.relations[check.relation]
        self._key_columns = check.key
        self._key = self._all_sources.numbers(check.operands)
        self._constants = self._all_sources.constants()
        self._visible = state.visible[check.relation]
        self._view = check.view
        self._wanted = np.uint8(0 if check.is_negated else 1)

    def run(self, batch: CodeArray) -> None:
        """Push the bindings for which the fact is present (or absent)."""
        relation = self._relation
        lowest, highest = self._visible.rows(self._view)
        count = batch.shape[0]
        found = np.empty(count, np.int64)
        if len(self._key_columns) == relation.arity:
            find_bindings(batch, self._constants, self._key, relation.slots, relation.rows, found)
            present = (found >= lowest) & (found < highest)
            if relation.alive.size:
                present &= relation.alive[np.maximum(found, 0)] != 0
            keep = present.view(np.uint8)
        elif not self._key_columns:
            alive = len(relation.live_rows(lowest, highest)) if relation.deleted else highest - lowest
            keep = np.full(count, 1 if alive else 0, np.uint8)
        else:
            index = relation.indexes[self._key_columns]
            keep = np.empty(count, np.uint8)
            find_groups(
                batch,
                self._constants,
                self._key,
                index.slots,
                index.keys,
                index.groups,
                index.is_dense,
                found,
            )
            has_entry(batch, found, index.groups, index.arena, relation.alive, lowest, highest, keep)
        if self._wanted == 0:
            keep = keep ^ np.uint8(1)
        self.push(batch, keep)


class FindStep(SelectingStep):
    """Binds the number of a fact's row, -1 where a negated fact is not there."""

    def __init__(self, find: Find, layout: Layout, state: LocalState, expressions: Expressions) -> None:
        super().__init__(find.outputs, layout, (find.row,), state, expressions)
        self._relation = state.relations[find.relation]
        self._key = self._all_sources.numbers(find.operands)
        self._constants = self._all_sources.constants()
        self._is_negated = find.is_negated

    def run(self, batch: CodeArray) -> None:
        """Push the bindings with the row number in a further column."""
        relation = self._relation
        found = np.empty(batch.shape[0], np.int64)
        find_bindings(batch, self._constants, self._key, relation.slots, relation.rows, found)
        if relation.alive.size:
            # A hidden row is no fact, neither of the old epoch nor of the new one.
            found[(found >= 0) & (relation.alive[np.maximum(found, 0)] == 0)] = -1
        wide = np.empty((batch.shape[0], batch.shape[1] + 1), self._state.dtype)
        wide[:, :-1] = batch
        wide[:, -1] = found
        is_kept = np.ones(batch.shape[0], np.bool_) if self._is_negated else found >= 0
        self.push(wide, is_kept.view(np.uint8))


class FilterStep(SelectingStep):
    """Keeps bindings that satisfy a constraint."""

    def __init__(self, operator: Filter, layout: Layout, state: LocalState, expressions: Expressions) -> None:
        super().__init__(operator.outputs, layout, (), state, expressions)
        self._holds = expressions.compile_constraint(operator.constraint)

    def run(self, batch: CodeArray) -> None:
        """Push the bindings that satisfy the constraint."""
        self.push(batch, self._holds(self.columns(batch), batch.shape[0]).view(np.uint8))


class ProjectStep(SelectingStep):
    """Rearranges columns."""

    def __init__(
        self, operator: Project, layout: Layout, state: LocalState, expressions: Expressions
    ) -> None:
        super().__init__(operator.outputs, layout, (), state, expressions)

    def run(self, batch: CodeArray) -> None:
        """Push all bindings."""
        self.push(batch, np.ones(batch.shape[0], np.uint8))


class ExtendingStep(SelectingStep):
    """A step that appends computed columns before it selects."""

    def __init__(
        self,
        outputs: Layout,
        layout: Layout,
        bound: Sequence[str],
        state: LocalState,
        expressions: Expressions,
    ) -> None:
        super().__init__(outputs, layout, bound, state, expressions)
        self._filters = self._all_sources.filters(())
        self._expressions = expressions

    def filter_by(self, filters: Sequence[Comparison]) -> None:
        """Let only the extended rows pass that satisfy these comparisons."""
        self._filters = self._all_sources.filters(filters)
        self._constants = self._all_sources.constants()

    def extend(self, batch: CodeArray, keep: Bools | None, columns: Sequence[npt.NDArray[np.int64]]) -> None:
        """Push the kept rows of the batch with further columns, after the filters."""
        count = batch.shape[0]
        width = batch.shape[1]
        wide = np.empty((count, width + len(columns)), self._state.dtype)
        wide[:, :width] = batch
        wide[:, width:] = self._state.pack(columns, count)
        mask = np.ones(count, np.bool_) if keep is None else keep.astype(np.bool_)
        for comparison, left, right in self._filters:
            mask &= _compare(comparison, self._column(wide, left), self._column(wide, right))
        self.push(wide, mask.view(np.uint8))

    def _column(self, wide: CodeArray, source: int) -> CodeArray:
        """Return what a source names: a column, or a constant as one element."""
        if source < 0:
            return self._constants[-1 - source : -source]
        return wide[:, source]


def _compare(comparison: int, left: CodeArray, right: CodeArray) -> npt.NDArray[np.bool_]:
    if comparison == EQUAL:
        return np.asarray(left == right)
    if comparison == UNEQUAL:
        return np.asarray(left != right)
    return np.asarray(left < right if comparison == LESS else left <= right)


class ComputeStep(ExtendingStep):
    """Binds a variable to the value of a term."""

    def __init__(
        self, operator: Compute, layout: Layout, state: LocalState, expressions: Expressions
    ) -> None:
        super().__init__(operator.outputs, layout, (operator.variable,), state, expressions)
        self.filter_by(operator.filters)
        self._term = expressions.compile_term(operator.term)

    def run(self, batch: CodeArray) -> None:
        """Push the bindings for which the term has a value."""
        codes, has_value = self._term(self.columns(batch), batch.shape[0])
        if has_value is not None:
            # Codes of rows without a value are arbitrary and must not ask for wide codes.
            codes = np.where(has_value, codes, 0)
        self.extend(batch, None if has_value is None else has_value.view(np.uint8), [codes])


class GenerateStep(ExtendingStep):
    """Binds a variable to each value of a range."""

    def __init__(
        self, operator: Generate, layout: Layout, state: LocalState, expressions: Expressions
    ) -> None:
        super().__init__(operator.outputs, layout, (operator.variable,), state, expressions)
        self._generator = operator.generator

    def run(self, batch: CodeArray) -> None:
        """Push each binding once per value."""
        rows, values = self._expressions.generate(self._generator, self.columns(batch), batch.shape[0])
        if len(rows):
            self.extend(batch[rows], None, [values])


class TakeApartStep(ExtendingStep):
    """Binds the parts of records and branches."""

    def __init__(
        self, operator: TakeApart, layout: Layout, state: LocalState, expressions: Expressions
    ) -> None:
        names = [name for _, name in operator.binds]
        super().__init__(operator.outputs, layout, names, state, expressions)
        self.filter_by(operator.filters)
        assert isinstance(operator.pattern, RecordTerm | BranchTerm)
        self._pattern = operator.pattern
        self._place = layout.index(operator.variable)
        self._positions = [position for position, _ in operator.binds]

    def run(self, batch: CodeArray) -> None:
        """Push the bindings whose value has the pattern's shape."""
        matches, parts = self._expressions.take_apart(self._pattern, batch[:, self._place].astype(np.int64))
        columns = [np.where(matches, parts[position], 0) for position in self._positions]
        self.extend(batch, matches.view(np.uint8), columns)
